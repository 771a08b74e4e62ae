package ivm_test

import (
	"testing"
	"time"

	"github.com/vegadb/vega-flight/ducklake/laketest"
	"github.com/vegadb/vega-flight/ivm/catalog"
	"github.com/vegadb/vega-flight/ivm/job"
)

// until waits for a condition, looking after every commit.
func (s *server) until(what string, ok func() bool) {
	s.t.Helper()
	deadline := time.Now().Add(10 * time.Minute)
	for !ok() {
		if time.Now().After(deadline) {
			s.t.Fatalf("never: %s", what)
		}
		s.pause()
	}
}

func (s *server) scheduled(view string) (n int, last map[string]string) {
	s.t.Helper()
	for _, j := range s.run(`SHOW JOBS FOR MATERIALIZED VIEW ` + view) {
		if j["trigger"] == "schedule" {
			if n++; last == nil {
				last = j
			}
		}
	}
	return n, last
}

// refresh_interval = '0s' follows every commit to a source, through views, and nothing else.
func TestRefreshOnCommit(t *testing.T) {
	laketest.Each(t, func(t *testing.T, k laketest.Kind) {
		s := start(t, laketest.NewPlace(t, k), options{})
		s.exec(`CREATE TABLE t (k INTEGER, v BIGINT)`, `CREATE TABLE other (x INTEGER)`, `INSERT INTO t SELECT i % 10, i FROM range(100) r(i)`)
		s.run(`CREATE MATERIALIZED VIEW a WITH (refresh_interval = '0s') AS ` + totals)
		const overA = `SELECT sum(total) AS s FROM lake.main.a`
		s.run(`CREATE MATERIALIZED VIEW b WITH (refresh_interval = '0s') AS ` + overA)
		for range 5 {
			s.exec(`INSERT INTO t VALUES (1, 1)`)
			s.until("both views follow", func() bool {
				return s.difference("lake.main.a", totals) == "0" && s.difference("lake.main.b", overA) == "0"
			})
		}
		quiet := func() bool {
			set, err := s.store.Views().Load(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			changed, err := s.sink.Changed(t.Context(), catalog.Resolve(set).Views)
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range changed {
				if c {
					return false
				}
			}
			n := s.engine.JobCounts()
			return n[job.Queued]+n[job.Running] == 0
		}
		s.until("nothing is left to do", quiet)
		before, last := s.scheduled("b")
		if before == 0 || last["principal"] != "ann" {
			t.Errorf("%d scheduled jobs, the last %v", before, last)
		}
		s.exec(`INSERT INTO other VALUES (1)`)
		if !quiet() {
			t.Error("a commit elsewhere is taken for a change")
		}
		s.run(`ALTER MATERIALIZED VIEW a RESET (refresh_interval)`)
		s.exec(`INSERT INTO t VALUES (2, 2)`)
		s.run(`REFRESH MATERIALIZED VIEW a`)
		s.until("b follows the refresh by hand", func() bool { return s.difference("lake.main.b", overA) == "0" })
		s.until("nothing is left to do", func() bool { n := s.engine.JobCounts(); return n[job.Queued]+n[job.Running] == 0 })
		s.clean()
	})
}

// What was due while no server ran is one run at the start; the schedule of a dropped view is gone.
func TestScheduleAcrossRestarts(t *testing.T) {
	place := laketest.NewPlace(t, laketest.DuckDB)
	s := start(t, place, options{})
	s.exec(`CREATE TABLE t (k INTEGER, v BIGINT)`, `INSERT INTO t VALUES (1, 1)`)
	s.run(`CREATE MATERIALIZED VIEW v WITH (refresh_interval = '1 hour') AS ` + totals)
	s.run(`CREATE MATERIALIZED VIEW w WITH (refresh_cron = '0 4 1 1 *', refresh_timezone = 'Europe/Berlin') AS ` + totals)
	s.run(`CREATE MATERIALIZED VIEW gone WITH (refresh_interval = '1 hour') AS ` + totals)
	s.exec(`INSERT INTO t VALUES (2, 2)`)
	s.run(`DROP MATERIALIZED VIEW gone`)
	s.stop()

	s = start(t, place, options{idle: true})
	s.sql(`UPDATE {M}vega_schedules SET next_at = now() - INTERVAL '5 hours'`)
	s.stop()

	s = start(t, place, options{})
	for _, view := range []string{"v", "w"} {
		s.until(view+" is caught up", func() bool {
			n, last := s.scheduled(view)
			return n > 0 && last["state"] == "SUCCEEDED"
		})
		s.until(view+" has its next time", func() bool {
			return s.run(`SHOW MATERIALIZED VIEW ` + view)[0]["next_refresh_at"] > time.Now().UTC().Format(time.RFC3339)
		})
		if n, _ := s.scheduled(view); n != 1 {
			t.Errorf("%s: %d runs for five missed hours", view, n)
		}
		s.matches("lake.main."+view, totals)
	}
	rows, err := s.store.Schedules().Load(t.Context())
	if err != nil || len(rows) != 2 {
		t.Errorf("schedules: %v, %v", rows, err)
	}
}

// A scheduled refresh that fails is shown, with what went wrong and when it is tried again.
func TestScheduledFailuresShow(t *testing.T) {
	s := start(t, laketest.NewPlace(t, laketest.DuckDB), options{})
	s.exec(`CREATE TABLE t (k INTEGER, v BIGINT)`, `INSERT INTO t VALUES (1, 1)`)
	s.run(`CREATE MATERIALIZED VIEW v WITH (refresh_interval = '0s') AS ` + totals)
	s.exec(`DROP TABLE t`)
	shown := func() map[string]string { return s.run(`SHOW MATERIALIZED VIEW v`)[0] }
	s.until("the failure shows", func() bool { return shown()["failed_refreshes"] > "0" }) // it is tried again after a while
	if r := shown(); r["last_error"] == "" || r["next_refresh_at"] == "" || r["state"] != "READY" {
		t.Errorf("%v", r)
	}
	s.exec(`CREATE TABLE t (k INTEGER, v BIGINT)`, `INSERT INTO t VALUES (5, 5)`)
	s.run(`REFRESH MATERIALIZED VIEW v`)
	s.matches("lake.main.v", totals)
	s.until("a success by hand ends the failures", func() bool { return shown()["failed_refreshes"] == "0" })
}
