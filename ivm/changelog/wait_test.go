package changelog_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/vegadb/vega-flight/ducklake/laketest"
	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/ivm/changelog"
)

// waiting asks for the next message, and moves the clock whenever the subscription waits.
func (c *copied) waiting(by time.Duration) changelog.Note {
	c.w.t.Helper()
	type answer struct {
		m   changelog.Message
		err error
	}
	got := make(chan answer, 1)
	go func() {
		m, err := c.sub.Next(ctx)
		got <- answer{m, err}
	}()
	for {
		select {
		case a := <-got:
			c.w.must(a.err)
			c.apply(a.m)
			return a.m.Note
		case <-c.w.clock.changed:
			c.w.clock.add(by)
		}
	}
}

func TestIdleSubscriberHearsSomething(t *testing.T) {
	w := newWorld(t, laketest.DuckDB)
	w.exec("CREATE TABLE v (i INTEGER)", "INSERT INTO v VALUES (1)", "CREATE TABLE other (i INTEGER)")
	v := w.view("v")
	plain, telling := w.follow(v, retract), w.follow(v, changelog.Options{Snapshot: true, Progress: true, AsOf: changelog.None, UpTo: changelog.None})
	plain.until(w.head())
	telling.until(w.head())
	rows := len(plain.seen)
	for range 3 {
		plain.waiting(10 * time.Second)
	}
	if len(plain.seen) != rows {
		t.Errorf("heartbeats had rows: %v", plain.seen[rows:])
	}
	// The lake goes on elsewhere: who wants to know is told, at most at each pace.
	w.exec("INSERT INTO other VALUES (1)")
	for telling.at < w.head() {
		telling.waiting(time.Second)
	}
	if n := telling.seen[len(telling.seen)-1]; n.Progress != "at" || n.Time != w.head() {
		t.Errorf("the last it was told is %+v", n)
	}
	// The end is told also when nothing happens before it.
	w.exec("INSERT INTO other VALUES (2)")
	end := w.follow(v, changelog.Options{AsOf: telling.at, UpTo: w.head(), Progress: true})
	end.rows, end.at = w.content(v, telling.at), telling.at
	end.rest()
	if len(end.seen) != 1 || end.seen[0].Progress != "at" || end.at != w.head() {
		t.Errorf("it ended with %+v at %d", end.seen, end.at)
	}
}

// What is long lies on disk, and is the same.
func TestLongCommitsLieOnDisk(t *testing.T) {
	w := newWorld(t, laketest.DuckDB, func(c *changelog.Config) { c.TapeBytes = 1 << 16 })
	w.exec("CREATE TABLE v (i BIGINT, s VARCHAR)", "INSERT INTO v SELECT i, repeat('x', i % 100) FROM range(100000) t(i)")
	v := w.view("v")
	a, b := w.follow(v, retract), w.follow(v, retract)
	a.until(w.head())
	for range 3 {
		w.exec("UPDATE v SET s = s || i WHERE i % 2 = 0", "DELETE FROM v WHERE i % 10 = 3")
		a.until(w.head())
	}
	b.until(w.head())
	if a.batches < 40 {
		t.Errorf("only %d batches came", a.batches)
	}
	full := newWorld(t, laketest.DuckDB, func(c *changelog.Config) { c.TapeBytes, c.DiskBytes = 1, 1<<20 })
	full.exec("CREATE TABLE v (s VARCHAR)", "INSERT INTO v SELECT repeat('x', 100) || i FROM range(50000) t(i)")
	c := full.follow(full.view("v"), retract)
	var err error
	for err == nil {
		_, err = c.next()
	}
	if fault.CodeOf(err) != fault.QuotaExceeded {
		t.Errorf("without room: %v", err)
	}
}

// Readers that take nothing more cost next to nothing, wherever they stand.
func TestManySlowSubscribers(t *testing.T) {
	w := newWorld(t, laketest.DuckDB)
	w.exec("CREATE TABLE v (i BIGINT, s VARCHAR)", "INSERT INTO v SELECT i, repeat('x', 100) || i FROM range(200000) t(i)")
	v := w.view("v")
	var subs []*copied
	for i := range 100 {
		c := w.follow(v, retract)
		for range i % 30 {
			_, err := c.next()
			w.must(err)
		}
		subs = append(subs, c)
		if i%10 == 9 {
			w.exec(fmt.Sprintf("UPDATE v SET s = s || 'y' WHERE i %% 20 = %d", i%20))
		}
	}
	fast := w.follow(v, changelog.Options{AsOf: w.head(), UpTo: changelog.None})
	fast.rows, fast.at = w.content(v, w.head()), w.head()
	w.exec("INSERT INTO v VALUES (-1, 'last')")
	fast.until(w.head())
	fast.rows = nil
	for _, s := range subs[1:] {
		s.rows = nil
	}
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	t.Logf("%d MiB on the heap", m.HeapAlloc>>20)
	if m.HeapAlloc > 200<<20 {
		t.Errorf("%d MiB are on the heap", m.HeapAlloc>>20)
	}
	subs[0].until(w.head())
}

func TestEveryTypeComesAsSelected(t *testing.T) {
	w := newWorld(t, laketest.DuckDB)
	types := map[string]string{
		"b": "BOOLEAN true", "t1": "TINYINT 1", "t2": "SMALLINT 2", "t4": "INTEGER 4", "t8": "BIGINT 8", "u1": "UTINYINT 1", "u8": "UBIGINT 18446744073709551615",
		"f": "FLOAT 1.5", "d": "DOUBLE '-0.0'", "n": "DOUBLE 'NaN'", "dec": "DECIMAL(10,2) 12.34", "dec38": "DECIMAL(38,5) 12345678901234567890.12345",
		"day": "DATE '2026-11-30'", "ts": "TIMESTAMP '2026-11-30 01:02:03.456789'", "tz": "TIMESTAMPTZ '2026-11-30 01:02:03+02'", "tm": "TIME '01:02:03'",
		"id": "UUID '00112233-4455-6677-8899-aabbccddeeff'", "s": "VARCHAR 'a text that is long enough'", "bl": "BLOB '\\x00\\xFF'",
		"l": "INTEGER[] '[1, NULL, 3]'", "st": "STRUCT(x INTEGER, y VARCHAR) '{x: 1, y: z}'", "m": "MAP(VARCHAR, INTEGER) '{a=1}'", "js": `JSON '{"a": 1}'`,
	}
	var columns, values []string
	for name, def := range types {
		cut := strings.LastIndexAny(def, " ")
		if i := strings.Index(def, " '"); i >= 0 {
			cut = i
		}
		columns = append(columns, name+" "+def[:cut])
		values = append(values, fmt.Sprintf("CAST(%s AS %s)", def[cut+1:], def[:cut]))
	}
	w.exec("CREATE TABLE v (k INTEGER, "+strings.Join(columns, ", ")+")", "INSERT INTO v SELECT 1, "+strings.Join(values, ", "))
	c := w.follow(w.view("v"), retract)
	c.until(w.head())
	w.exec("INSERT INTO v (k) VALUES (2)", "INSERT INTO v SELECT 3, * EXCLUDE (k) FROM v", "DELETE FROM v WHERE k = 1")
	c.until(w.head())
	if c.compared == 0 || len(c.rows) != 3 {
		t.Errorf("compared %d times, %d rows", c.compared, len(c.rows))
	}
}

// A subscriber goes on at another server, and at the same one after a restart.
func TestSubscriberGoesOnElsewhere(t *testing.T) {
	place := laketest.NewPlace(t, laketest.PostgreSQL)
	one := openWorld(t, place.Open(t), "one")
	two := openWorld(t, place.Open(t), "two")
	one.exec("CREATE TABLE v (i INTEGER)", "INSERT INTO v VALUES (1)")
	c := one.follow(one.view("v"), retract)
	c.until(one.head())
	for i, w := range []*world{two, one, two} {
		c.sub.Close()
		one.exec(fmt.Sprintf("INSERT INTO v VALUES (%d), (%d)", i, i))
		c.resume(w)
		one.exec("DELETE FROM v WHERE i = 1", "INSERT INTO v VALUES (1)")
		c.until(one.head())
	}
	if c.compared < 8 {
		t.Errorf("compared only %d times", c.compared)
	}
}
