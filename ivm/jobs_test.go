package ivm_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vegadb/vega-flight/ducklake"
	"github.com/vegadb/vega-flight/ducklake/laketest"
	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/ivm"
	"github.com/vegadb/vega-flight/ivm/ddl"
	"github.com/vegadb/vega-flight/ivm/job"
	sink "github.com/vegadb/vega-flight/ivm/sink/lake"
)

// long takes minutes, if nobody stops it, and gives few rows.
const long = `SELECT count(*) AS n FROM lake.main.t a, lake.main.t b, lake.main.t c WHERE (a.v * b.v * c.v) % 7 = 3`

// seam lets a place be passed once for every value sent, and says when it is reached.
type seam struct {
	reached chan struct{}
	pass    chan error
}

func newSeam() *seam { return &seam{reached: make(chan struct{}, 100), pass: make(chan error, 100)} }

func (g *seam) fault() error {
	g.reached <- struct{}{}
	return <-g.pass
}

// 50 refreshes, each with another checksum, and readers all the while: they see whole generations, in order.
func TestReadersDuringRefreshes(t *testing.T) {
	laketest.Each(t, func(t *testing.T, k laketest.Kind) {
		s := start(t, laketest.NewPlace(t, k), options{})
		s.exec(`CREATE TABLE g (n BIGINT)`, `INSERT INTO g VALUES (0)`)
		s.run(`CREATE MATERIALIZED VIEW v AS SELECT g.n AS n, r.i AS i FROM lake.main.g g, range(3000) r(i)`)
		stop := make(chan struct{})
		var readers sync.WaitGroup
		seen := make([]int64, 3)
		for r := range seen {
			readers.Go(func() {
				conn, release, err := s.lake.Acquire(context.Background(), ducklake.ConnSettings{})
				if err != nil {
					t.Error(err)
					return
				}
				defer release()
				for last := int64(-1); ; {
					rows, err := conn.Rows(context.Background(), `SELECT min(n)::BIGINT, max(n)::BIGINT, count(*)::BIGINT, sum(i)::BIGINT FROM lake.main.v`)
					if err != nil {
						t.Error(err)
						return
					}
					lo, hi, n, sum := rows[0][0].(int64), rows[0][1].(int64), rows[0][2].(int64), rows[0][3].(int64)
					if lo != hi || n != 3000 || sum != 3000*2999/2 || lo < last {
						t.Errorf("after generation %d: %v", last, rows[0])
						return
					}
					if lo != last {
						seen[r]++
					}
					last = lo
					select {
					case <-stop:
						return
					default:
					}
				}
			})
		}
		for range 50 {
			s.exec(`UPDATE g SET n = n + 1`)
			s.run(`REFRESH MATERIALIZED VIEW v`)
		}
		close(stop)
		readers.Wait()
		if n := s.one(`SELECT max(n) FROM lake.main.v`); n != "50" {
			t.Errorf("the last generation is %s", n)
		}
		s.clean()
	})
}

// Cancelled at a random moment, 30 times: after CANCELLED nothing of the job runs and nothing of it is published.
func TestCancelAtRandomMoments(t *testing.T) {
	s := start(t, laketest.NewPlace(t, laketest.DuckDB), options{})
	s.exec(`CREATE TABLE t (k INTEGER, v BIGINT)`, `INSERT INTO t SELECT i % 10, i FROM range(2000) r(i)`)
	s.run(`CREATE MATERIALIZED VIEW v AS ` + long + ` WITH NO DATA`)
	short := `SELECT k, v FROM lake.main.t`
	s.run(`CREATE MATERIALIZED VIEW w AS ` + short)
	rnd := rand.New(rand.NewPCG(1, 2))
	ended := map[job.State]int{}
	for i := range 30 {
		view := "v"
		if i%3 == 2 { // one that may well be done before it is cancelled
			view = "w"
			s.exec(`INSERT INTO t VALUES (1, 1)`)
		}
		before := s.one(`SELECT id FROM lake.current_snapshot()`)
		j := s.submit(`REFRESH MATERIALIZED VIEW ` + view)
		var seen uint64
		for range rnd.IntN(4) { // some changes of the job later
			now, err := s.engine.Wait(t.Context(), j.ID, seen)
			if err != nil {
				t.Fatal(err)
			}
			if seen = now.Seq(); now.State.Ended() {
				break
			}
		}
		state, err := s.engine.Cancel(t.Context(), s.caller, j.ID)
		if err != nil && !errors.Is(err, fault.JobNotCancellable.Sentinel()) {
			t.Fatal(err)
		}
		j = s.done(j.ID)
		ended[j.State]++
		if err == nil && j.State != job.Cancelled || err != nil && j.State != job.Succeeded || err == nil && state != job.Cancelled && state != job.Cancelling {
			t.Errorf("cancel answered %s, %v and the job is %s", state, err, j.State)
		}
		s.clean()
		if j.State == job.Cancelled {
			if after := s.one(`SELECT id FROM lake.current_snapshot()`); after != before {
				t.Errorf("run %d: the cancelled job published: snapshot %s, before it %s", i, after, before)
			}
			if n := s.engine.JobCounts(); n[job.Running]+n[job.Cancelling]+n[job.Queued] != 0 {
				t.Errorf("run %d: jobs live: %v", i, n)
			}
		}
	}
	t.Logf("ended: %v", ended)
	if ended[job.Cancelled] < 20 {
		t.Errorf("only %d were cancelled", ended[job.Cancelled])
	}
	s.run(`REFRESH MATERIALIZED VIEW w`)
	s.matches("lake.main.w", short)
}

// A cancel that comes while the publishing transaction is open decides by who is first in the catalog.
func TestCancelDuringPublish(t *testing.T) {
	g := newSeam()
	s := start(t, laketest.NewPlace(t, laketest.PostgreSQL), options{faults: sink.Faults{Ended: g.fault}})
	s.exec(`CREATE TABLE t (k INTEGER, v BIGINT)`, `INSERT INTO t VALUES (1, 1)`)
	s.run(`CREATE MATERIALIZED VIEW v AS ` + totals + ` WITH NO DATA`)
	j := s.submit(`REFRESH MATERIALIZED VIEW v`)
	<-g.reached // the job's row is ended in an open transaction
	answer := make(chan error, 1)
	go func() {
		_, err := s.engine.Cancel(context.Background(), s.caller, j.ID)
		answer <- err
	}()
	g.pass <- nil
	if err := <-answer; !errors.Is(err, fault.JobNotCancellable.Sentinel()) {
		t.Errorf("cancel past the point of no return: %v", err)
	}
	if j = s.done(j.ID); j.State != job.Succeeded {
		t.Errorf("%+v", j)
	}
	s.matches("lake.main.v", totals)
	s.clean()
}

// The caller of a waiting statement goes away: its job is cancelled, unless it detaches.
func TestCallerGoesAway(t *testing.T) {
	s := start(t, laketest.NewPlace(t, laketest.DuckDB), options{})
	s.exec(`CREATE TABLE t (k INTEGER, v BIGINT)`, `INSERT INTO t SELECT i % 10, i FROM range(2000) r(i)`)
	s.run(`CREATE MATERIALIZED VIEW v AS ` + long + ` WITH NO DATA`)
	leave := func(c ivm.Caller) job.Job {
		t.Helper()
		ctx, cancel := context.WithCancel(t.Context())
		failed := make(chan error, 1)
		go func() {
			_, err := s.tryAs(ctx, c, `REFRESH MATERIALIZED VIEW v`)
			failed <- err
		}()
		var id string
		for id == "" {
			for _, r := range s.run(`SHOW JOBS LIMIT 1`) {
				if r["state"] == string(job.Running) {
					id = r["job_id"]
				}
			}
		}
		cancel()
		if err := <-failed; err == nil {
			t.Error("no error for the caller that went away")
		}
		j, err := s.engine.JobByID(t.Context(), s.caller, id)
		if err != nil {
			t.Fatal(err)
		}
		return j
	}
	if j := s.done(leave(s.caller).ID); j.State != job.Cancelled {
		t.Errorf("the job of a caller that went away: %+v", j)
	}
	detached := s.caller
	detached.Detach = true
	j := leave(detached)
	if j.State != job.Running {
		t.Errorf("the job of a caller that detached: %+v", j)
	}
	if r := s.run(`CANCEL JOB '` + j.ID + `'`)[0]; r["state"] != "CANCELLED" {
		t.Errorf("%v", r)
	}
	bob := ivm.Caller{Principal: "bob", Session: s.session}
	if _, err := s.tryAs(t.Context(), bob, `SHOW JOB '`+j.ID+`'`); fault.CodeOf(err) != fault.JobNotFound {
		t.Errorf("somebody else's job: %v", err)
	}
	if _, err := s.tryAs(t.Context(), bob, `CANCEL JOB '`+j.ID+`'`); fault.CodeOf(err) != fault.JobNotFound {
		t.Errorf("somebody else's job: %v", err)
	}
}

// SHOW JOB that waits answers with the job's end. Who gives it up leaves the job alone.
func TestShowJobWaits(t *testing.T) {
	s := start(t, laketest.NewPlace(t, laketest.DuckDB), options{})
	s.exec(`CREATE TABLE t (k INTEGER, v BIGINT)`, `INSERT INTO t SELECT i % 10, i FROM range(2000) r(i)`)
	s.run(`CREATE MATERIALIZED VIEW v AS ` + long + ` WITH NO DATA`)
	j := s.submit(`REFRESH MATERIALIZED VIEW v`)
	wait := `SHOW JOB '` + j.ID + `' WITH (wait = true)`
	ctx, cancel := context.WithCancel(t.Context())
	given, shown := make(chan error, 1), make(chan rows, 1)
	go func() {
		_, err := s.tryAs(ctx, s.caller, wait)
		given <- err
	}()
	go func() {
		r, err := s.tryAs(t.Context(), s.caller, wait)
		if err != nil {
			t.Error(err)
		}
		shown <- r
	}()
	for j.State != job.Running {
		var err error
		if j, err = s.engine.Wait(t.Context(), j.ID, j.Seq()); err != nil {
			t.Fatal(err)
		}
	}
	cancel()
	if err := <-given; !errors.Is(err, context.Canceled) {
		t.Errorf("given up: %v", err)
	}
	if r := s.run(`SHOW JOB '` + j.ID + `'`)[0]; r["state"] != "RUNNING" {
		t.Errorf("after somebody gave the waiting up: %v", r)
	}
	bob := ivm.Caller{Principal: "bob", Session: s.session}
	if _, err := s.tryAs(t.Context(), bob, wait); fault.CodeOf(err) != fault.JobNotFound {
		t.Errorf("somebody else's job: %v", err)
	}
	s.run(`CANCEL JOB '` + j.ID + `'`)
	if r := <-shown; len(r) != 1 || r[0]["state"] != "CANCELLED" || r[0]["finished_at"] == "" {
		t.Errorf("%v", r)
	}
	if r := s.run(wait)[0]; r["state"] != "CANCELLED" {
		t.Errorf("a job that has ended: %v", r)
	}
}

// DROP while a refresh runs ends the refresh.
func TestDropDuringRefresh(t *testing.T) {
	s := start(t, laketest.NewPlace(t, laketest.DuckDB), options{})
	s.exec(`CREATE TABLE t (k INTEGER, v BIGINT)`, `INSERT INTO t SELECT i % 10, i FROM range(2000) r(i)`)
	s.run(`CREATE MATERIALIZED VIEW v AS ` + long + ` WITH NO DATA`)
	first, second := s.submit(`REFRESH MATERIALIZED VIEW v`), s.submit(`REFRESH MATERIALIZED VIEW v`)
	for j := first; j.State != job.Running; {
		j, _ = s.engine.Wait(t.Context(), first.ID, j.Seq())
	}
	s.run(`DROP MATERIALIZED VIEW v`)
	for _, id := range []string{first.ID, second.ID} {
		if j := s.done(id); j.State != job.Cancelled {
			t.Errorf("%+v", j)
		}
	}
	s.clean()
}

// Two servers refresh one view at once: whoever is second to publish loses, also when the view is empty.
func TestTwoServersRefreshOneView(t *testing.T) {
	for _, rows := range []int{1000, 0} {
		t.Run(fmt.Sprint(rows), func(t *testing.T) {
			place := laketest.NewPlace(t, laketest.PostgreSQL)
			a := newSeam()
			one := start(t, place, options{id: "one", faults: sink.Faults{Staged: a.fault}})
			one.exec(`CREATE TABLE t (k INTEGER, v BIGINT)`, fmt.Sprintf(`INSERT INTO t SELECT i %% 10, i FROM range(%d) r(i)`, rows))
			a.pass <- nil
			one.run(`CREATE MATERIALIZED VIEW v AS ` + totals)
			<-a.reached
			two := start(t, place, options{id: "two"})

			lost := one.submit(`REFRESH MATERIALIZED VIEW v WITH (full = true)`)
			<-a.reached // it has evaluated, and not published
			if r := two.run(`REFRESH MATERIALIZED VIEW v WITH (full = true)`)[0]; r["mode"] != "rebuild" {
				t.Errorf("%v", r)
			}
			a.pass <- nil
			if j := one.done(lost.ID); j.State != job.Failed || j.ErrorCode != "REFRESH_CONFLICT" {
				t.Errorf("the slower one: %+v", j)
			}
			one.matches("lake.main.v", totals)
			two.matches("lake.main.v", totals)
			one.clean()

			// Both at once, several times: whole generations only.
			for range 20 {
				a.pass <- nil
			}
			for i := range 10 {
				one.exec(fmt.Sprintf(`DELETE FROM t WHERE v %% 10 = %d`, i))
				j, k := one.submit(`REFRESH MATERIALIZED VIEW v WITH (full = true)`), two.submit(`REFRESH MATERIALIZED VIEW v WITH (full = true)`)
				x, y := one.done(j.ID), two.done(k.ID)
				won := 0
				for _, z := range []job.Job{x, y} {
					switch {
					case z.State == job.Succeeded:
						won++
					case z.ErrorCode != "REFRESH_CONFLICT":
						t.Errorf("%+v", z)
					}
				}
				if won == 0 {
					t.Errorf("both lost: %+v %+v", x, y)
				}
				one.matches("lake.main.v", totals)
			}
			one.clean()
		})
	}
}

// A server dies; the other one takes its jobs and schedules over, publishes once, and the dead one can publish nothing when it comes back.
func TestTakeOver(t *testing.T) {
	place := laketest.NewPlace(t, laketest.PostgreSQL)
	stuck := newSeam()
	one := start(t, place, options{id: "one", faults: sink.Faults{Staged: stuck.fault}})
	one.exec(`CREATE TABLE t (k INTEGER, v BIGINT)`, `INSERT INTO t SELECT i % 10, i FROM range(1000) r(i)`)
	one.run(`CREATE MATERIALIZED VIEW v AS ` + totals + ` WITH NO DATA`)
	one.run(`CREATE MATERIALIZED VIEW w WITH (refresh_interval = '0s') AS ` + totals + ` WITH NO DATA`)
	running, queued := one.submit(`REFRESH MATERIALIZED VIEW v`), one.submit(`REFRESH MATERIALIZED VIEW v WITH (full = true)`)
	<-stuck.reached
	two := start(t, place, options{id: "two"})

	// The lease runs out while one hangs; two fences it, as its maintenance does.
	all, err := two.servers.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	two.sql(`UPDATE {M}vega_servers SET lease_until = now() - INTERVAL '1 minute' WHERE id = 'one'`)
	for _, x := range all {
		if x.ID == "one" {
			if won, err := two.servers.TakeOver(t.Context(), x); err != nil || !won {
				t.Fatalf("take over: %v, %v", won, err)
			}
		}
	}
	for _, id := range []string{running.ID, queued.ID} {
		if j := two.done(id); j.State != job.Succeeded || j.ServerID != "two" {
			t.Errorf("taken over: %+v", j)
		}
	}
	two.matches("lake.main.v", totals)
	generation := two.run(`SHOW MATERIALIZED VIEW v`)[0]["generation"]

	stuck.pass <- nil // one wakes up, with complete files of its own
	two.exec(`INSERT INTO t VALUES (77, 77)`)
	two.until("its scheduler or the other's refreshes w", func() bool {
		return two.run(`SHOW MATERIALIZED VIEW w`)[0]["state"] == "READY" && two.difference("lake.main.w", totals) == "0"
	})
	one.stop()
	if got := two.run(`SHOW MATERIALIZED VIEW v`)[0]["generation"]; got != generation {
		t.Errorf("the dead server published: generation %s, before %s", got, generation)
	}
	for _, left := range two.leftovers() {
		t.Errorf("left over: %s", left)
	}
}

// Waiting statements of a server that drains get to know; the jobs go on after its restart.
func TestDrainAndRestart(t *testing.T) {
	place := laketest.NewPlace(t, laketest.DuckDB)
	g := newSeam()
	s := start(t, place, options{faults: sink.Faults{Staged: func() error { g.reached <- struct{}{}; <-g.pass; return context.Canceled }}})
	s.exec(`CREATE TABLE t (k INTEGER, v BIGINT)`, `INSERT INTO t SELECT i % 10, i FROM range(1000) r(i)`)
	s.run(`CREATE MATERIALIZED VIEW v AS ` + totals + ` WITH NO DATA`)
	waiting := make(chan error, 1)
	go func() {
		_, err := s.try(`REFRESH MATERIALIZED VIEW v`)
		waiting <- err
	}()
	<-g.reached
	id := s.run(`SHOW JOBS LIMIT 1`)[0]["job_id"]
	closed := make(chan struct{})
	go func() { s.stop(); close(closed) }()
	if err := <-waiting; !errors.Is(err, fault.Draining.Sentinel()) || !strings.Contains(err.Error(), id) {
		t.Errorf("who waited: %v", err)
	}
	g.pass <- nil
	<-closed
	s = start(t, place, options{})
	if j := s.done(id); j.State != job.Succeeded || j.Attempt != 1 {
		t.Errorf("after the restart: %+v", j)
	}
	s.matches("lake.main.v", totals)
	s.clean()
}

// Old jobs are forgotten by number.
func TestRetention(t *testing.T) {
	s := start(t, laketest.NewPlace(t, laketest.DuckDB), options{})
	s.exec(`CREATE TABLE t (k INTEGER, v BIGINT)`)
	s.run(`CREATE MATERIALIZED VIEW v AS ` + totals)
	for range 5 {
		s.run(`REFRESH MATERIALIZED VIEW v`)
	}
	if _, err := s.store.Jobs().Prune(t.Context(), 2, time.Now().Add(-time.Hour)); err != nil {
		t.Fatal(err)
	}
	if n := len(s.run(`SHOW JOBS`)); n != 2 {
		t.Errorf("%d jobs are left", n)
	}
}

// What is submitted for a poll gives the rows that waiting would have given.
func TestSubmitAndRows(t *testing.T) {
	s := start(t, laketest.NewPlace(t, laketest.DuckDB), options{})
	s.exec(`CREATE TABLE t (k INTEGER, v BIGINT)`)
	for _, sql := range []string{`CREATE MATERIALIZED VIEW v AS ` + totals, `REFRESH MATERIALIZED VIEW v`} {
		items, err := ddl.Parse(sql)
		if err != nil {
			t.Fatal(err)
		}
		r, err := s.engine.Submit(t.Context(), s.caller, items[0].Stmt)
		if err != nil || r.Job == nil || r.Records != nil {
			t.Fatalf("%s: %+v, %v", sql, r, err)
		}
		j := s.done(r.Job.ID)
		rows, err := s.engine.Rows(t.Context(), j)
		if err != nil {
			t.Fatal(err)
		}
		if !rows.Schema.Equal(s.engine.ResultSchema(items[0].Stmt)) || rows.Records.NumRows() != 1 {
			t.Errorf("%s: %s", sql, rows.Schema)
		}
		rows.Release()
	}
}
