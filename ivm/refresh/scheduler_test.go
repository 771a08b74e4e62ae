package refresh

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/ivm/job"
)

// table is Schedules without a database.
type table struct {
	mu   sync.Mutex
	rows map[string]Schedule
	jobs map[string]job.Job
}

func (t *table) Load(context.Context) ([]Schedule, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	var out []Schedule
	for _, s := range t.rows {
		out = append(out, s)
	}
	return out, nil
}

func (t *table) save(s Schedule) bool {
	if t.rows[s.ViewID].Version != s.Version {
		return false
	}
	s.Version++
	t.rows[s.ViewID] = s
	return true
}

func (t *table) Save(_ context.Context, s Schedule) (bool, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.save(s), nil
}

func (t *table) Fire(_ context.Context, s Schedule, j job.Job) (bool, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.save(s) {
		return false, nil
	}
	t.jobs[j.ID] = j
	return true, nil
}

func (t *table) Remove(_ context.Context, id string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.rows, id)
	return nil
}

// bench is a Jobs whose jobs end when the test says so.
type bench struct {
	t     *table
	mu    sync.Mutex
	n     int
	fired chan job.Job
}

func (b *bench) New(kind job.Kind, subject, view, principal, trigger string, spec []byte) job.Job {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.n++
	return job.Job{ID: fmt.Sprint("j", b.n), Kind: kind, Subject: subject, View: view, Principal: principal, Trigger: trigger, State: job.Queued}
}

func (b *bench) Enqueue(j job.Job) { b.fired <- j }

func (b *bench) ByID(_ context.Context, id string) (job.Job, error) {
	b.t.mu.Lock()
	defer b.t.mu.Unlock()
	j, ok := b.t.jobs[id]
	if !ok {
		return job.Job{}, fault.JobNotFound.Newf("%s", id)
	}
	return j, nil
}

func (b *bench) end(id string, state job.State, at time.Time) job.Job {
	b.t.mu.Lock()
	defer b.t.mu.Unlock()
	j := b.t.jobs[id]
	j.State, j.FinishedAt, j.ErrorCode = state, at, "X"
	b.t.jobs[id] = j
	return j
}

func setUp(t *testing.T, rows ...Schedule) (*Scheduler, *table, *bench, *time.Time) {
	tb := &table{rows: map[string]Schedule{}, jobs: map[string]job.Job{}}
	for _, r := range rows {
		r.Version = 1
		tb.rows[r.ViewID] = r
	}
	b := &bench{t: tb, fired: make(chan job.Job, 10)}
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	s := NewScheduler(SchedulerConfig{
		Schedules: tb, Jobs: b, ServerID: "s",
		Now: func(context.Context) (time.Time, error) { return now, nil },
		Changed: func(_ context.Context, ids []string) (map[string]bool, error) {
			return map[string]bool{"changed": true}, nil
		},
	})
	return s, tb, b, &now
}

func pass(t *testing.T, s *Scheduler) time.Duration {
	t.Helper()
	wait, _, err := s.pass(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return wait
}

func fired(b *bench) int { return len(b.fired) }

// A day of downtime is one run; the next one counts from its end.
func TestCatchUpOnce(t *testing.T) {
	minute := time.Minute
	s, tb, b, now := setUp(t)
	tb.rows["v"] = Schedule{ViewID: "v", View: "main.v", Principal: "ann", Interval: &minute, NextAt: now.Add(-24 * time.Hour), Version: 1}
	pass(t, s)
	pass(t, s)
	if fired(b) != 1 {
		t.Fatalf("%d runs", fired(b))
	}
	j := <-b.fired
	if j.Trigger != "schedule" || j.Principal != "ann" || j.Subject != "v" {
		t.Errorf("%+v", j)
	}
	*now = now.Add(10 * time.Minute) // longer than the interval: no overlap
	pass(t, s)
	if fired(b) != 0 {
		t.Fatal("a second run beside the first")
	}
	end := *now
	b.end(j.ID, job.Succeeded, end)
	if wait := pass(t, s); wait != s.c.Glance && wait > time.Minute {
		t.Errorf("waits %v", wait)
	}
	if got := tb.rows["v"]; !got.NextAt.Equal(end.Add(time.Minute)) || got.JobID != "" {
		t.Errorf("%+v", got)
	}
	*now = end.Add(time.Minute)
	pass(t, s)
	if fired(b) != 1 {
		t.Errorf("%d runs after the interval", fired(b))
	}
}

func TestFailuresBackOffAndShow(t *testing.T) {
	second := time.Second
	s, tb, b, now := setUp(t)
	tb.rows["v"] = Schedule{ViewID: "v", Interval: &second, NextAt: *now, Version: 1}
	for n, want := range []time.Duration{10 * time.Second, 20 * time.Second, 40 * time.Second} {
		pass(t, s)
		j := <-b.fired
		b.end(j.ID, job.Failed, *now)
		pass(t, s)
		got := tb.rows["v"]
		if got.Failures != n+1 || got.LastError == "" || got.NextAt.Sub(*now) != want {
			t.Errorf("after %d failures: %+v, %v", n+1, got, got.NextAt.Sub(*now))
		}
		*now = got.NextAt
	}
	// A refresh by hand that succeeds ends the series.
	s.Ended(job.Job{ID: "other", Subject: "v", State: job.Succeeded, FinishedAt: now.Add(-time.Hour)})
	tb.rows["v"] = func() Schedule { r := tb.rows["v"]; r.NextAt = now.Add(time.Hour); return r }()
	pass(t, s)
	if got := tb.rows["v"]; got.Failures != 0 || got.LastError != "" {
		t.Errorf("%+v", got)
	}
}

func TestOnCommitOnly(t *testing.T) {
	zero := time.Duration(0)
	s, tb, b, now := setUp(t)
	tb.rows["changed"] = Schedule{ViewID: "changed", Interval: &zero, NextAt: *now, Version: 1}
	tb.rows["same"] = Schedule{ViewID: "same", Interval: &zero, NextAt: *now, Version: 1}
	_, onCommit, err := s.pass(t.Context())
	if err != nil || !onCommit {
		t.Fatalf("%v, %v", onCommit, err)
	}
	if fired(b) != 1 || (<-b.fired).Subject != "changed" {
		t.Error("only the view with a changed source is due")
	}
}

// Two servers look at the same row: one run.
func TestOneOfTwoFires(t *testing.T) {
	minute := time.Minute
	s, tb, b, now := setUp(t)
	tb.rows["v"] = Schedule{ViewID: "v", Interval: &minute, NextAt: *now, Version: 1}
	other := NewScheduler(s.c)
	rows, _ := tb.Load(t.Context())
	f := Facts{Schedule: rows[0], Spec: Spec{Every: minute}}
	if _, err := s.move(t.Context(), *now, f); err != nil {
		t.Fatal(err)
	}
	if _, err := other.move(t.Context(), *now, f); err != nil {
		t.Fatal(err)
	}
	if fired(b) != 1 {
		t.Errorf("%d runs", fired(b))
	}
	dead := NewScheduler(s.c)
	dead.c.Alive = func(context.Context) bool { return false }
	tb.rows["w"] = Schedule{ViewID: "w", Interval: &minute, NextAt: *now, Version: 1}
	pass(t, dead)
	if fired(b) != 1 {
		t.Error("a server without a lease fires")
	}
}

// The loop wakes by itself for what is due, and by a kick.
func TestLoop(t *testing.T) {
	minute := time.Minute
	s, tb, b, now := setUp(t)
	s.c.Now = func(context.Context) (time.Time, error) { return *now, nil }
	commits := make(chan int64)
	s.Start(commits)
	defer s.Close()
	tb.mu.Lock()
	tb.rows["v"] = Schedule{ViewID: "v", Interval: &minute, NextAt: *now, Version: 1}
	tb.mu.Unlock()
	s.Kick()
	<-b.fired
	close(commits)
	tb.mu.Lock()
	tb.rows["w"] = Schedule{ViewID: "w", Interval: &minute, NextAt: *now, Version: 1}
	tb.mu.Unlock()
	s.Kick()
	<-b.fired
}
