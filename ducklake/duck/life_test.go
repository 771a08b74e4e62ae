package duck

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
)

// Ten thousand small statements of every kind leave no memory behind.
func TestNoLeak(t *testing.T) {
	if testing.Short() {
		t.Skip("measures memory")
	}
	c := open(t)
	exec(t, c, "CREATE TABLE t(a INT, s VARCHAR[])")
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	round := func(i int) {
		rows(t, c, "SELECT $1 AS a, [$2, 'long enough for the heap'] AS s, {'k': 1}", i, "x")
		r, err := c.Query(ctx, "SELECT range AS i, 'text ' || range AS s, [range] AS l, NULL::HUGEINT AS h FROM range(100)")
		if err != nil {
			t.Fatal(err)
		}
		for r.Next() {
		}
		if i%2 == 0 {
			r.Close()
		}
		r.Release()
		s, err := c.Prepare(ctx, "SELECT * FROM t WHERE a = $1 AND s = $2")
		if err != nil {
			t.Fatal(err)
		}
		s.Params()
		if _, err := s.Schema(); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Exec(ctx, 1, nil); err != nil {
			t.Fatal(err)
		}
		s.Close()
		if _, err := c.Exec(ctx, "SELECT nope"); err == nil {
			t.Fatal("no error")
		}
		if i%10 == 0 {
			release, err := c.RegisterArrow("s", newSource(t, 1, 10))
			if err != nil {
				t.Fatal(err)
			}
			rows(t, c, "SELECT count(*) FROM s")
			if err := release(); err != nil {
				t.Fatal(err)
			}
			other, err := c.db.Connect()
			if err != nil {
				t.Fatal(err)
			}
			other.Close()
		}
	}
	memory := func() float64 {
		runtime.GC()
		debug.FreeOSMemory()
		return resident()
	}
	for i := range 1000 {
		round(i)
	}
	before := memory()
	for i := range 2000 { // five statements each
		round(i)
	}
	if grown := memory() - before; grown > 6 {
		t.Errorf("10000 statements left %.1f MiB", grown)
	}
}

// Many connections work at once; Interrupt and Progress come from anywhere.
func TestConcurrentConnections(t *testing.T) {
	db, err := Open("", Options{Config: map[string]string{"threads": "2"}})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var all sync.WaitGroup
	for i := range 8 {
		c, err := db.Connect()
		if err != nil {
			t.Fatal(err)
		}
		over := make(chan struct{})
		all.Go(func() {
			for {
				select {
				case <-over:
					return
				default:
					c.Progress()
					runtime.Gosched()
				}
			}
		})
		all.Go(func() {
			defer c.Close()
			defer close(over)
			exec(t, c, fmt.Sprintf("CREATE TABLE t%d AS FROM range(10000)", i))
			for range 20 {
				if got := one(t, c, fmt.Sprintf("SELECT count(*) FROM t%d", i)); got != int64(10000) {
					t.Error(got)
				}
			}
		})
	}
	all.Wait()
}

// A session whose current catalog is another database, in a transaction that
// has written there, may still read an Arrow stream: DuckDB allows writes to one
// attached database a transaction, and the temporary catalog does not count.
func TestRegisterArrowInAnotherCatalog(t *testing.T) {
	c := open(t)
	exec(t, c, "ATTACH ':memory:' AS lake; USE lake; CREATE TABLE t(a BIGINT, b VARCHAR, c INT[]); BEGIN; INSERT INTO t VALUES (-1, '', NULL)")
	release, err := c.RegisterArrow("stream", newSource(t, 2, 3000))
	if err != nil {
		t.Fatal(err)
	}
	if n := exec(t, c, "INSERT INTO t FROM temp.stream"); n != 6000 {
		t.Fatal(n)
	}
	if err := release(); err != nil {
		t.Fatal(err)
	}
	exec(t, c, "COMMIT")
	if n := one(t, c, "SELECT count(*) FROM lake.t"); n != int64(6001) {
		t.Fatal(n)
	}
	if n := rows(t, c, "SELECT database_name FROM duckdb_views() WHERE NOT internal"); len(n) > 0 {
		t.Fatal(n)
	}
	// A failed transaction takes the view with it; release does not complain.
	exec(t, c, "BEGIN")
	if release, err = c.RegisterArrow("stream", newSource(t, 1, 10)); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Exec(context.Background(), "SELECT a // 0, 'x'::INT FROM stream"); err == nil {
		t.Fatal("no error")
	}
	if err := release(); err != nil {
		t.Fatal(err)
	}
	exec(t, c, "ROLLBACK")
}

// What nobody registered cannot be read, and a released stream is gone.
func TestArrowStreamTokens(t *testing.T) {
	c := open(t)
	if _, err := c.Exec(context.Background(), "FROM duck_arrow_stream('00')"); err == nil || !strings.Contains(err.Error(), "no such Arrow stream") {
		t.Fatal(err)
	}
	r, err := array.NewRecordReader(newSource(t, 0, 1).schema, nil)
	if err != nil {
		t.Fatal(err)
	}
	release, err := c.RegisterArrow("empty", r)
	if err != nil {
		t.Fatal(err)
	}
	if n := one(t, c, "SELECT count(*) FROM empty"); n != int64(0) {
		t.Fatal(n)
	}
	s, err := c.Prepare(context.Background(), "FROM empty")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := release(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Exec(context.Background()); err == nil {
		t.Fatal("a released stream was read")
	}
}

// The real case is in package types: flushing a TIME_NS column.
func TestPoisoned(t *testing.T) {
	c := open(t)
	for _, message := range []string{"Binder Error: x", "INTERNAL Error: the instance lives on"} {
		c.db.fail(message, "")
		if err := c.db.Poisoned(); err != nil {
			t.Fatal(err)
		}
	}
	c.db.fail("FATAL Error: Failed: database has been invalidated because of a previous fatal error. The database must be restarted prior to being used again.", "")
	var e *Error
	if err := c.db.Poisoned(); !errors.As(err, &e) || e.Type != "FATAL" {
		t.Fatal(err)
	}
}

func TestOpenErrors(t *testing.T) {
	if _, err := Open("/nowhere/at/all.db", Options{}); err == nil {
		t.Fatal("a file in no folder was opened")
	}
	if _, err := Open("", Options{Config: map[string]string{"no_such_setting": "1"}}); err == nil {
		t.Fatal("an unknown setting was taken")
	}
	db, err := Open("", Options{Config: map[string]string{"threads": "1"}})
	if err != nil {
		t.Fatal(err)
	}
	db.Close()
	db.Close()
	if _, err := db.Connect(); err != ErrClosed {
		t.Fatal(err)
	}
}

// Long values leave in several batches, and an overflowing one is an error.
func TestLongValues(t *testing.T) {
	c := open(t)
	_, batches := read(t, c, "SELECT repeat('x', 100000) AS s, [repeat('y', 50000)] AS l FROM range(2000)")
	n := int64(0)
	for _, b := range batches {
		n += b.NumRows()
		if b.NumRows() > 64 {
			t.Fatalf("a batch of %d MiB", b.NumRows()*150000>>20)
		}
	}
	if n != 2000 {
		t.Fatal(n)
	}
	for _, q := range []string{"SELECT 99999999999999999999999999999999999999::HUGEINT + 1", "SELECT -99999999999999999999999999999999999999::HUGEINT - 1",
		"SELECT [{'a': 340282366920938463463374607431768211455::UHUGEINT}]", "SELECT to_microseconds(9223372036854775807)"} {
		r, err := c.Query(context.Background(), q)
		if err != nil {
			t.Fatal(err)
		}
		if r.Next() || r.Err() == nil || r.Err().(*Error).Type != "Conversion" {
			t.Errorf("%s: %v", q, r.Err())
		}
		r.Close()
	}
	_, batches = read(t, c, "SELECT 99999999999999999999999999999999999999::HUGEINT, -99999999999999999999999999999999999999::HUGEINT, sum(i) FROM range(3) r(i)")
	if got := batches[0].Column(0).ValueStr(0) + batches[0].Column(1).ValueStr(0) + batches[0].Column(2).ValueStr(0); got != "99999999999999999999999999999999999999-999999999999999999999999999999999999993" {
		t.Fatal(got)
	}
}
