package streamcluster

import (
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/vegadb/vega-flight/ducklake/laketest"
	"github.com/vegadb/vega-flight/integration/process"
)

// The catalog's server stops answering and keeps its connections, or the way to it goes nowhere: who asks is told so, and when it goes on all
// does, exactly once. No server is called dead for it.
func TestTheCatalogIsFrozen(t *testing.T) {
	t.Run("the server", func(t *testing.T) {
		l := newLake(t)
		b, a := l.start("b", l.state("b")), l.start("a", l.state("a"))
		f := &frozen{t: t, servers: []*process.Server{a, b}, away: []*process.Server{a, b}, freeze: func() func() { return laketest.Freeze(t) }}
		f.run(2)
	})
	t.Run("the way of one", func(t *testing.T) {
		l := newLake(t)
		b := l.start("b", l.state("b"), "--lease", "10m")
		way, dsn := through(t, l.dsn)
		l.dsn = dsn
		a := l.start("a", l.state("a"), "--lease", "10m")
		f := &frozen{t: t, servers: []*process.Server{a, b}, away: []*process.Server{a}, freeze: way.freeze}
		f.run(1)
	})
}

// A server that is stopped while its catalog does not answer ends, one that is started then says why it does not, and the next life goes on.
func TestStoppedWhileTheCatalogIsFrozen(t *testing.T) {
	l := newLake(t)
	a := l.start("a", l.state("a"))
	c := a.Connect(t)
	fill(t, c)
	right(t, c)
	thaw := laketest.Freeze(t)
	if _, err := c.Query(t.Context(), "INSERT INTO moves VALUES (1, 1)"); err == nil {
		t.Error("something was written into a frozen catalog")
	}
	err := a.Stop() // it cannot give its lease up, and may say so
	t.Logf("the server ended with %v", err)
	if _, err := process.TryStart(t, process.Options{Lake: l.dsn, Args: []string{"--metadata-schema", l.schema}}); err == nil || !strings.Contains(err.Error(), "CATALOG_UNREACHABLE") {
		t.Errorf("a server begins on a frozen catalog: %v", err)
	}
	thaw()
	a = l.start("a", l.state("a"))
	c = a.Connect(t)
	c.Must(t, "INSERT INTO moves VALUES (1, 2)")
	right(t, c)
	check(t, a)
}

// frozen is two servers whose catalog stops answering some of them. The first one runs the views.
type frozen struct {
	t             *testing.T
	servers, away []*process.Server
	freeze        func() (thaw func())

	mu       sync.Mutex
	outcomes map[int]string // of each value that was written: "" is committed, else why not
}

func (f *frozen) run(rounds int) {
	t := f.t
	ca, cb := f.servers[0].Connect(t), f.servers[1].Connect(t)
	fill(t, ca)
	right(t, ca)
	was := statuses(t, cb)
	if now := was["totals"].server; now != "a" {
		t.Fatalf("the views are run by %q", now)
	}
	ca.Must(t, "CREATE TABLE written (v INTEGER)")
	ca.Must(t, "CREATE STREAMING MATERIALIZED VIEW kept WITH (wait_for_ready = true, checkpoint_interval = '200ms') AS SELECT v % 7 AS k, count(*) AS n FROM written GROUP BY v % 7")
	f.outcomes = map[int]string{}
	subs := []*process.Subscriber{process.NewSubscriber("main.totals"), process.NewSubscriber("main.kept")}
	for i, sub := range subs {
		f.follow(sub, i)
	}
	rnd := rand.New(rand.NewPCG(4, 4))
	for round := range rounds {
		for i := range 5 {
			f.servers[i%2].Connect(t).Must(t, change(rnd, 100*round+i))
		}
		// Writers are at work when it stops.
		stop := make(chan struct{})
		var writers sync.WaitGroup
		for i, s := range f.servers {
			c := s.Connect(t)
			writers.Go(func() { f.write(c, 10000*(2*round+i), stop) })
		}
		process.Until(t, "something was written", func() bool { f.mu.Lock(); defer f.mu.Unlock(); return len(f.outcomes) >= 20*(round+1) }, func() any { return f.outcomes })
		thaw := f.freeze()
		var asking sync.WaitGroup
		for _, s := range f.away {
			for _, sql := range []string{
				"SELECT sum(v) FROM moves", "FROM totals", "INSERT INTO moves VALUES (1, 1)", "SHOW STREAMING MATERIALIZED VIEWS", "CREATE TABLE more (i INTEGER)",
				"ALTER STREAMING MATERIALIZED VIEW totals PAUSE", "CREATE STREAMING MATERIALIZED VIEW late AS SELECT k FROM moves", "SHOW JOBS",
			} {
				c := s.Connect(t)
				asking.Go(func() {
					_, err := c.Query(t.Context(), sql)
					if code := process.Code(err); code != "CATALOG_UNREACHABLE" && code != "COMMIT_OUTCOME_UNKNOWN" {
						t.Errorf("%s on the server: %v", sql, err)
					}
				})
			}
		}
		asking.Wait()
		close(stop)
		for _, s := range f.servers {
			if !slices.Contains(f.away, s) {
				s.Connect(t).Must(t, "INSERT INTO moves VALUES (3, 3)")
			}
		}
		if t.Failed() {
			t.FailNow()
		}
		thaw()
		writers.Wait()
		f.settled()
		f.counted()
	}
	for _, c := range []*process.Client{ca, cb} {
		right(t, c)
	}
	for name, s := range statuses(t, cb) {
		if s.server != "a" || s.generation != "1" {
			t.Errorf("view %s was %+v and is %+v", name, was[name], s)
		}
	}
	for i, sub := range subs {
		f.compare(sub, i)
	}
	check(t, f.servers[0])
}

// follow begins a subscription that a freeze does not end.
func (f *frozen) follow(sub *process.Subscriber, server int) {
	f.t.Helper()
	if err := sub.Subscribe(f.t.Context(), f.servers[server%2].Connect(f.t)); err != nil {
		f.t.Fatal(err)
	}
}

// write inserts values one by one, and goes on when that is refused for the catalog's sake.
func (f *frozen) write(c *process.Client, from int, stop <-chan struct{}) {
	for i := from; ; i++ {
		select {
		case <-stop:
			return
		default:
		}
		_, err := c.Query(f.t.Context(), fmt.Sprintf("INSERT INTO written VALUES (%d)", i))
		code := process.Code(err)
		if err != nil && code != "CATALOG_UNREACHABLE" && code != "COMMIT_OUTCOME_UNKNOWN" {
			f.t.Errorf("writing %d: %v", i, err)
			return
		}
		f.mu.Lock()
		f.outcomes[i] = code
		f.mu.Unlock()
	}
}

// ask is a query on a server whose connections may each say once more that the catalog was away.
func (f *frozen) ask(c *process.Client, sql string) (rows [][]string) {
	f.t.Helper()
	var err error
	process.Until(f.t, "the server has its catalog again", func() bool {
		if rows, err = c.Query(f.t.Context(), sql); err != nil && process.Code(err) != "CATALOG_UNREACHABLE" {
			f.t.Fatalf("%s: %v", sql, err)
		}
		return err == nil
	}, func() any { return err })
	return rows
}

// settled waits until all servers say that all views are fresh, again and again.
func (f *frozen) settled() {
	f.t.Helper()
	for _, s := range f.servers {
		c := s.Connect(f.t)
		var behind [][]string
		process.Until(f.t, "the views have seen what was written", func() bool {
			behind = f.ask(c, "SELECT view_name, state, reason FROM vega.streaming_views WHERE state NOT IN ('RUNNING', 'PAUSED') OR stale_since IS NOT NULL AND state = 'RUNNING'")
			return len(behind) == 0
		}, func() any { return behind })
		for i := range 20 { // all connections are new ones now
			f.ask(c, fmt.Sprintf("SELECT %d, count(*) FROM moves", i))
		}
	}
	// What was asked while the outcome of a commit was unknown may have been done.
	c := f.servers[1].Connect(f.t)
	for name, s := range statuses(f.t, c) {
		if s.state == "PAUSED" {
			f.t.Logf("%s was paused by who did not get to know", name)
			f.ask(c, "ALTER STREAMING MATERIALIZED VIEW "+name+" RESUME")
		}
	}
	f.ask(c, "DROP STREAMING MATERIALIZED VIEW IF EXISTS late")
	f.ask(c, "DROP TABLE IF EXISTS more")
	all(f.t, c, "fresh", fresh)
}

// counted compares what was written with what writers were told.
func (f *frozen) counted() {
	f.t.Helper()
	have := map[string]int{}
	for _, row := range f.servers[1].Connect(f.t).Must(f.t, "SELECT v::VARCHAR FROM written") {
		have[row[0]]++
	}
	told := map[string]int{}
	for v, code := range f.outcomes {
		told[code]++
		switch n := have[fmt.Sprint(v)]; {
		case code == "" && n != 1, code == "CATALOG_UNREACHABLE" && n != 0, n > 1:
			f.t.Errorf("%d, of which was said %q, is there %d times", v, code, n)
		}
	}
	f.t.Logf("writers were told %v", told)
}

// compare brings a subscriber to what its view shows now.
func (f *frozen) compare(sub *process.Subscriber, server int) {
	f.t.Helper()
	c := f.servers[1].Connect(f.t)
	at := c.Value(f.t, "SELECT version::VARCHAR FROM vega.streaming_views WHERE view_name = '"+strings.TrimPrefix(sub.View, "main.")+"'")
	var to int64
	if _, err := fmt.Sscan(at, &to); err != nil {
		f.t.Fatal(err)
	}
	for sub.At < to {
		err := sub.Next()
		if code := process.Code(err); err == io.EOF || code == "CATALOG_UNREACHABLE" {
			f.follow(sub, server)
		} else if err != nil {
			f.t.Fatalf("%s at %d, before %d: %v", sub.View, sub.At, to, err)
		}
	}
	sub.Compare(f.t, c)
}
