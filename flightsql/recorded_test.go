package flightsql

import (
	"bytes"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// witness is an observer that remembers.
type witness struct {
	mu             sync.Mutex
	open           int
	statements     []string
	rows           int64
	sent, received int64
}

func (w *witness) Sessions(open int) { w.with(func() { w.open = open }) }
func (w *witness) Sent(n int64)      { w.with(func() { w.sent += n }) }
func (w *witness) Received(n int64)  { w.with(func() { w.received += n }) }
func (w *witness) Statement(kind, code string, _ time.Duration, rows int64) {
	w.with(func() {
		w.statements = append(w.statements, strings.TrimSpace(kind+" "+code))
		w.rows += rows
	})
}

func (w *witness) with(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f()
}

func TestStatementsAreRecordedOnceWithoutSecrets(t *testing.T) {
	var mu sync.Mutex
	var lines bytes.Buffer
	w := &witness{}
	h := open(t, func(c *Config) {
		c.Observe = w
		c.Log = slog.New(slog.NewJSONHandler(&locked{&mu, &lines}, nil))
	})
	c := h.client("ann")
	c.must("CREATE TABLE s (i INTEGER, t VARCHAR)")
	c.must("INSERT INTO s VALUES (1, 'my secret'), (2, $$other secret$$)")
	c.must("SELECT * FROM s WHERE t = 'my secret'")
	if _, err := c.try("SELECT * FROM missing"); err == nil {
		t.Fatal("a missing table was read")
	}
	if _, err := c.load("s", "append", reader(t, table(t, ints("i"), `[{"i": 3}]`))); err != nil {
		t.Fatal(err)
	}
	p := c.prepare("DELETE FROM s WHERE i = ?")
	p.SetParameters(table(t, ints("x"), `[{"x": 1}, {"x": 2}]`))
	if _, err := p.ExecuteUpdate(c.ctx()); err != nil {
		t.Fatal(err)
	}
	c.must("SHOW JOBS")

	want := []string{"CREATE TABLE", "INSERT", "SELECT", "statement OBJECT_NOT_FOUND", "INGEST", "DELETE", "SHOW JOBS"}
	w.with(func() {
		if !slices.Equal(w.statements, want) {
			t.Errorf("recorded %q, want %q", w.statements, want)
		}
		equal(t, "open sessions", w.open, 1)
		if w.sent == 0 || w.received == 0 {
			t.Errorf("%d bytes sent, %d received", w.sent, w.received)
		}
	})
	mu.Lock()
	defer mu.Unlock()
	text := lines.String()
	equal(t, "lines", strings.Count(text, `"msg":"statement"`), len(want))
	if strings.Contains(text, "secret") {
		t.Errorf("the log has a secret:\n%s", text)
	}
	for _, field := range []string{`"user":"ann"`, `"took":`, `"rows":2`, `"code":"OBJECT_NOT_FOUND"`, `"sql":"SELECT * FROM s WHERE t = ?"`} {
		if !strings.Contains(text, field) {
			t.Errorf("the log has no %s:\n%s", field, text)
		}
	}
	for _, s := range h.svc.sessions.all() {
		if strings.Contains(text, s.id) {
			t.Error("the log has a session's secret")
		}
	}
}

// locked is a writer for several goroutines.
type locked struct {
	mu *sync.Mutex
	to *bytes.Buffer
}

func (l *locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.to.Write(p)
}
