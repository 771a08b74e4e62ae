package ivm_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/vegadb/vega-flight/ducklake/laketest"
	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/ivm"
)

// stream is a streaming view as SHOW has it.
func (s *server) stream(name string) map[string]string {
	s.t.Helper()
	return s.run(`SHOW STREAMING MATERIALIZED VIEW ` + name)[0]
}

// comes waits until a streaming view is in a state.
func (s *server) comes(name, state string) map[string]string {
	s.t.Helper()
	var v map[string]string
	s.until(name+" is "+state, func() bool {
		v = s.stream(name)
		return v["state"] == state
	})
	return v
}

// follows waits until a view reflects all of its sources; then it has to be what its query gives.
func (s *server) follows(name, query string) {
	s.t.Helper()
	s.until(name+" reflects all", func() bool {
		v := s.stream(name)
		return v["state"] == "RUNNING" && v["staleness_ms"] == "0"
	})
	s.matches("lake.main."+name, query)
}

func (s *server) read(c ivm.Caller, name string) error {
	return s.engine.Admit(s.t.Context(), c, ivm.Access{Reads: []ivm.Object{{Catalog: "lake", Schema: "main", Name: name}}})
}

const grand = `SELECT count(*) AS n, sum(total) AS grand FROM (` + totals + `)`

func TestStreamingLife(t *testing.T) {
	laketest.Each(t, func(t *testing.T, k laketest.Kind) {
		place, state := laketest.NewPlace(t, k), t.TempDir()
		s := start(t, place, options{stream: true, state: state})
		s.exec(`CREATE TABLE t (k INTEGER, v BIGINT)`, `INSERT INTO t SELECT i % 10, i FROM range(1000) r(i)`)
		s.run(`CREATE STREAMING MATERIALIZED VIEW v WITH (wait_for_ready = true) AS ` + totals)
		s.matches("lake.main.v", totals)
		if v := s.stream("v"); v["state"] != "RUNNING" || v["row_count"] != "10" || v["generation"] != "1" || v["server_id"] != "one" || v["rows_in"] == "" {
			t.Errorf("%v", v)
		}
		// Views of both kinds over both kinds.
		s.run(`CREATE STREAMING MATERIALIZED VIEW d WITH (wait_for_ready = true) AS SELECT count(*) AS n, sum(total) AS grand FROM lake.main.v`)
		s.run(`CREATE MATERIALIZED VIEW m AS SELECT grand FROM lake.main.d`)
		s.run(`CREATE STREAMING MATERIALIZED VIEW om WITH (wait_for_ready = true) AS SELECT grand + 1 AS more FROM lake.main.m`)
		s.exec(`INSERT INTO t VALUES (3, 7), (11, 1)`, `DELETE FROM t WHERE k = 4`, `UPDATE t SET v = v + 1 WHERE k = 5`)
		s.follows("v", totals)
		s.follows("d", grand)
		if v := s.stream("om"); v["staleness_ms"] == "0" {
			t.Errorf("what a view over a view that was not refreshed lacks: %v", v)
		}
		s.run(`REFRESH MATERIALIZED VIEW m`)
		s.matches("lake.main.m", `SELECT grand FROM (`+grand+`)`)
		s.follows("om", `SELECT grand + 1 FROM (`+grand+`)`)
		if r := s.run(`SHOW MATERIALIZED VIEW m`)[0]; r["staleness_ms"] != "0" {
			t.Errorf("a view over a streaming one: %v", r)
		}
		if v := s.stream("v"); v["row_count"] != "10" || v["epoch"] < "2" {
			t.Errorf("%v", v)
		}
		if r := s.check(); len(r.Findings) != 0 || r.Compared != 4 {
			t.Errorf("%+v", r)
		}

		// Standing still.
		s.run(`ALTER STREAMING MATERIALIZED VIEW v PAUSE; ALTER STREAMING MATERIALIZED VIEW v SET (max_staleness = '0s')`)
		if v := s.comes("v", "PAUSED"); !strings.Contains(v["hint"], "RESUME") {
			t.Errorf("%v", v)
		}
		if err := s.read(s.caller, "v"); err != nil {
			t.Errorf("nothing has changed: %v", err)
		}
		s.exec(`INSERT INTO t VALUES (3, 8)`)
		var f *fault.Error
		if err := s.read(s.caller, "v"); !errors.As(err, &f) || f.Code != fault.ViewStale || !strings.Contains(f.Hint, "SHOW STREAMING MATERIALIZED VIEW main.v") {
			t.Errorf("read of what stands still: %v", err)
		}
		patient := s.caller
		patient.MayAcceptStale, patient.AcceptStale = true, true
		if err := s.read(patient, "v"); err != nil {
			t.Errorf("accepting what is stale: %v", err)
		}
		if err := s.read(s.caller, "d"); err != nil {
			t.Errorf("without a limit: %v", err)
		}
		// A view that cannot begin yet; who stops waiting for it leaves it there.
		ctx, stop := context.WithCancel(t.Context())
		waited := make(chan error, 1)
		go func() {
			_, err := s.tryAs(ctx, s.caller, `CREATE STREAMING MATERIALIZED VIEW late WITH (wait_for_ready = true) AS SELECT n FROM lake.main.d`)
			waited <- err
		}()
		s.until("the view is made", func() bool { _, err := s.try(`SHOW STREAMING MATERIALIZED VIEW late`); return err == nil })
		if err := s.read(s.caller, "late"); fault.CodeOf(err) != fault.NotReady {
			t.Errorf("read before it is ready: %v", err)
		}
		stop()
		if err := <-waited; fault.CodeOf(err) != fault.Cancelled || !errors.Is(err, context.Canceled) {
			t.Errorf("a wait that was given up: %v", err)
		}
		s.run(`ALTER STREAMING MATERIALIZED VIEW v RESUME`)
		s.follows("v", totals)
		s.follows("late", `SELECT n FROM (`+grand+`)`)
		s.until("it may be read", func() bool { return s.read(s.caller, "v") == nil })

		// A new generation beside the old one, and other options.
		s.run(`ALTER STREAMING MATERIALIZED VIEW v REBUILD; ALTER STREAMING MATERIALIZED VIEW d SET (parallelism = 1); ALTER STREAMING MATERIALIZED VIEW v RENAME TO w`)
		s.until("the next generation is there", func() bool { return s.stream("w")["generation"] == "2" })
		s.exec(`INSERT INTO t VALUES (12, 12)`)
		s.follows("w", totals)
		s.follows("d", grand)

		// Whose owner is no user any more.
		s.gone.Store(true)
		s.run(`ALTER STREAMING MATERIALIZED VIEW late RESTART`)
		if v := s.comes("w", "PERMISSION_BLOCKED"); v["reason_code"] != "PERMISSION_DENIED" || v["reason"] == "" {
			t.Errorf("%v", v)
		}
		if err := s.read(patient, "w"); err != nil {
			t.Errorf("its last result: %v", err)
		}
		s.gone.Store(false)
		s.run(`ALTER STREAMING MATERIALIZED VIEW late RESTART`)
		s.follows("w", totals)

		// The next life of the server goes on with it.
		s.stop()
		s = start(t, place, options{stream: true, state: state})
		s.exec(`INSERT INTO t VALUES (13, 13)`)
		s.follows("w", totals)
		s.follows("d", grand)
		for _, f := range s.check().Findings {
			if f.Failure {
				t.Error(f)
			}
		}
		s.fails(fault.DependentViews, `DROP STREAMING MATERIALIZED VIEW w`)
		s.run(`DROP STREAMING MATERIALIZED VIEW w CASCADE`)
		if left := len(s.run(`SHOW STREAMING MATERIALIZED VIEWS`)) + len(s.run(`SHOW MATERIALIZED VIEWS`)); left != 0 {
			t.Errorf("%d views are left", left)
		}
		s.until("nothing is left", func() bool { return len(s.leftovers()) == 0 })
	})
}

// A row without a value stops a view; without the row it goes on.
func TestStreamingFailure(t *testing.T) {
	s := start(t, laketest.NewPlace(t, laketest.DuckDB), options{stream: true})
	s.exec(`CREATE TABLE words (w VARCHAR)`, `INSERT INTO words VALUES ('1'), ('two')`)
	numbers := `SELECT w::INTEGER AS n FROM lake.main.words`
	err := s.fails(fault.NotReady, `CREATE STREAMING MATERIALIZED VIEW v WITH (wait_for_ready = true) AS `+numbers)
	if !strings.Contains(err.Error(), "FAILED") || !strings.Contains(err.Error(), "two") || !strings.Contains(err.Error(), "RESTART") {
		t.Errorf("%v", err)
	}
	bob := s.caller
	bob.Principal = "bob"
	if err := s.read(bob, "v"); err == nil || strings.Contains(err.Error(), "two") {
		t.Errorf("somebody else reads of rows: %v", err)
	}
	if v := s.comes("v", "FAILED"); v["reason_code"] != "ROW_FAILED" || !strings.Contains(v["reason"], "two") || !strings.Contains(v["hint"], "RESTART") {
		t.Errorf("%v", v)
	}
	if r, err := s.tryAs(t.Context(), bob, `SHOW STREAMING MATERIALIZED VIEW v`); err != nil || r[0]["reason"] != "" || r[0]["reason_code"] != "ROW_FAILED" {
		t.Errorf("%v, %v", r, err)
	}
	s.exec(`DELETE FROM words WHERE w = 'two'`)
	s.run(`ALTER STREAMING MATERIALIZED VIEW v RESTART`)
	s.until("it can be read", func() bool { return s.read(s.caller, "v") == nil })
	s.follows("v", numbers)
}

// The beginnings: with everything, or with what comes from now on.
func TestStreamingFuture(t *testing.T) {
	s := start(t, laketest.NewPlace(t, laketest.DuckDB), options{stream: true})
	s.exec(`CREATE TABLE t (k INTEGER, v BIGINT)`, `INSERT INTO t VALUES (1, 1)`)
	s.run(`CREATE STREAMING MATERIALIZED VIEW v WITH (wait_for_ready = true, initial_mode = 'future') AS SELECT k, v FROM lake.main.t`)
	if n := s.one(`SELECT count(*) FROM lake.main.v`); n != "0" {
		t.Errorf("%s rows", n)
	}
	s.exec(`INSERT INTO t VALUES (2, 2)`, `DELETE FROM t WHERE k = 1`)
	s.follows("v", `SELECT 2, 2::BIGINT`)
	for _, f := range s.check().Findings {
		if f.Failure {
			t.Error(f)
		}
	}
	s.run(`ALTER STREAMING MATERIALIZED VIEW v REBUILD WITH (initial_mode = 'backfill')`)
	s.until("the next generation is there", func() bool { return s.stream("v")["generation"] == "2" })
	s.follows("v", `SELECT k, v FROM lake.main.t`)
	if r := s.check(); len(r.Findings) != 0 {
		t.Errorf("%+v", r)
	}
	// A clock, at which the check looks too.
	s.exec(`CREATE TABLE e (at_time TIMESTAMPTZ)`, `INSERT INTO e VALUES (now()), (now() - INTERVAL 2 HOUR), (now() + INTERVAL 2 HOUR)`)
	s.run(`CREATE STREAMING MATERIALIZED VIEW recent WITH (wait_for_ready = true) AS SELECT at_time FROM lake.main.e WHERE at_time > now() - INTERVAL 1 HOUR AND at_time <= now()`)
	if r := s.check(); len(r.Findings) != 0 || r.Compared != 2 || s.one(`SELECT count(*) FROM lake.main.recent`) != "1" {
		t.Errorf("%+v", r)
	}
}

// A view is run by one server and read on all; when that is gone another takes it over, and computes the state that it has not.
func TestStreamingTakeover(t *testing.T) {
	place := laketest.NewPlace(t, laketest.PostgreSQL)
	one := start(t, place, options{stream: true, id: "one"})
	one.exec(`CREATE TABLE t (k INTEGER, v BIGINT)`, `INSERT INTO t VALUES (1, 1), (2, 2)`)
	one.run(`CREATE STREAMING MATERIALIZED VIEW v WITH (wait_for_ready = true) AS ` + totals)
	two := start(t, place, options{stream: true, id: "two"})
	two.exec(`INSERT INTO t VALUES (3, 3)`)
	two.follows("v", totals)
	if v := two.stream("v"); v["server_id"] != "one" || v["rows_in"] != "" || v["state"] != "RUNNING" {
		t.Errorf("seen from the other server: %v", v)
	}
	// Any server takes statements about it.
	two.run(`ALTER STREAMING MATERIALIZED VIEW v PAUSE`)
	two.comes("v", "PAUSED")
	two.run(`ALTER STREAMING MATERIALIZED VIEW v RESUME`)
	two.comes("v", "RUNNING")
	one.stop()
	two.exec(`DELETE FROM t WHERE k = 1`, `INSERT INTO t VALUES (4, 4)`)
	if err := two.servers.Leave(t.Context(), one.fence); err != nil { // its lease is over
		t.Fatal(err)
	}
	two.until("the other server has it", func() bool { return two.stream("v")["server_id"] == "two" })
	two.follows("v", totals)
	two.run(`DROP STREAMING MATERIALIZED VIEW v`)
	two.until("nothing is left", func() bool { return len(two.leftovers()) == 0 })
}
