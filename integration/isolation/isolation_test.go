package isolation

import (
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/vegadb/vega-flight/integration/process"
)

const (
	statements = 100
	clients    = 2
	refreshes  = 10
)

// endless is a query that nothing but its cancellation ends within a test's life.
const endless = "SELECT i * j AS n FROM range(300000) a(i), range(300000) b(j) WHERE (i * j) % 7 = 9"

func TestOthersGoOn(t *testing.T) {
	s := process.Start(t, process.Options{Lake: filepath.Join(t.TempDir(), "lake")})
	c := s.Connect(t)
	for _, sql := range []string{
		"CREATE TABLE src (k BIGINT, v BIGINT)", "INSERT INTO src SELECT i % 10, i FROM range(10000) r(i)",
		"CREATE TABLE target (n BIGINT)", "CREATE TABLE log (client BIGINT, n BIGINT)",
		"CREATE MATERIALIZED VIEW per_k AS SELECT k, count(*) AS n, sum(v) AS s FROM src GROUP BY k",
	} {
		c.Must(t, sql)
	}

	insert := begin(t, s.Connect(t), "INSERT INTO target "+endless)
	ctas := begin(t, s.Connect(t), "CREATE TABLE made AS "+endless)
	writer := s.Connect(t)
	tx, err := writer.BeginTransaction(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.ExecuteUpdate(t.Context(), "INSERT INTO log VALUES (-1, 0)"); err != nil {
		t.Fatal(err)
	}
	slow := s.Connect(t)
	info, err := slow.Execute(t.Context(), "SELECT i, repeat('x', 100) || i AS text FROM range(1000000) r(i)")
	if err != nil {
		t.Fatal(err)
	}
	reader, err := slow.DoGet(t.Context(), info.Endpoint[0].Ticket)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Release()
	if !reader.Next() {
		t.Fatalf("the slow reader got nothing: %v", reader.Err())
	}
	read := reader.RecordBatch().NumRows()

	var group sync.WaitGroup
	var took [clients][]time.Duration
	for i := range clients {
		c := s.Connect(t)
		group.Go(func() { took[i] = small(t, c, i, statements/clients) })
	}
	refreshed := refreshing(t, c)
	group.Wait()
	if t.Failed() {
		return
	}
	report(t, "statement", slices.Concat(took[:]...))
	report(t, "refresh", refreshed)

	// All of that happened while the four went on.
	for _, h := range []*process.Handle{insert, ctas} {
		if err := h.Poll(t.Context()); err != nil || h.Status.State != "RUNNING" {
			t.Errorf("%s is %s: %v", h.Status.Kind, h.Status.State, err)
		}
		if st, err := h.Cancel(t.Context()); err != nil {
			t.Errorf("cancelling %s: %v %v", h.Status.Kind, st, err)
		}
		_, err := h.End(t.Context())
		process.Refused(t, err, "CANCELLED")
	}
	if n := c.Value(t, "SELECT count(*) FROM log WHERE client = -1"); n != "0" {
		t.Errorf("the open transaction's row is visible")
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Errorf("the transaction that was open all the time: %v", err)
	}
	for reader.Next() {
		read += reader.RecordBatch().NumRows()
	}
	if err := reader.Err(); err != nil || read != 1_000_000 {
		t.Errorf("the slow reader got %d rows: %v", read, err)
	}
	if got := c.Value(t, "SELECT count(*) || ' ' || count(*) FILTER (client = -1) FROM log"); got != fmt.Sprint(statements/2+1, " 1") {
		t.Errorf("the log has %s rows", got)
	}
	if _, err := c.Query(t.Context(), "SELECT * FROM made"); err == nil {
		t.Error("the cancelled CREATE TABLE AS left a table")
	}
	if n := c.Value(t, "SELECT count(*) FROM target"); n != "0" {
		t.Errorf("the cancelled INSERT left %s rows", n)
	}
}

// begin starts a long statement and waits until it runs.
func begin(t *testing.T, c *process.Client, sql string) *process.Handle {
	t.Helper()
	h, err := c.Submit(t.Context(), sql)
	if err != nil {
		t.Fatal(err)
	}
	return h.Running(t)
}

// small runs statements of a few rows: every second one writes.
func small(t *testing.T, c *process.Client, client, n int) (took []time.Duration) {
	for i := range n {
		sql := "SELECT count(*), sum(n) FROM per_k WHERE k < 5"
		if i%2 == 0 {
			sql = fmt.Sprintf("INSERT INTO log VALUES (%d, %d)", client, i)
		}
		began := time.Now()
		if _, err := c.Query(t.Context(), sql); err != nil {
			t.Errorf("%s: %v", sql, err)
			return took
		}
		took = append(took, time.Since(began))
	}
	return took
}

// refreshing changes the source and refreshes, again and again.
func refreshing(t *testing.T, c *process.Client) (took []time.Duration) {
	for i := range refreshes {
		c.Must(t, fmt.Sprintf("INSERT INTO src VALUES (3, %d)", i))
		began := time.Now()
		row := c.Must(t, "REFRESH MATERIALIZED VIEW per_k")[0]
		took = append(took, time.Since(began))
		if row[2] != "rebuild" || row[3] != "10" {
			t.Fatalf("refresh %d: %v", i, row)
		}
		if n := c.Value(t, "SELECT n FROM per_k WHERE k = 3"); n != fmt.Sprint(1001+i) {
			t.Fatalf("after refresh %d there are %s rows of the key", i, n)
		}
	}
	return took
}

func report(t *testing.T, what string, took []time.Duration) {
	t.Helper()
	slices.Sort(took)
	t.Logf("%d × %s: p50 %v, p99 %v, max %v", len(took), what, took[len(took)/2], took[len(took)*99/100], took[len(took)-1])
}
