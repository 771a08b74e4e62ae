package refresh

import (
	"testing"
	"time"

	"github.com/vegadb/vega-flight/ivm/job"
)

func TestSpecNext(t *testing.T) {
	end := at(t, "2026-01-01T00:00:30Z")
	cron, err := ParseCron("* * * * *", "")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name     string
		spec     Spec
		failures int
		want     time.Duration // after end; negative: never
	}{
		{"interval", Spec{Every: time.Minute}, 0, time.Minute},
		{"interval, backing off", Spec{Every: time.Minute}, 5, 160 * time.Second},
		{"long interval", Spec{Every: 2 * time.Hour}, 20, 2 * time.Hour},
		{"commit", Spec{OnCommit: true}, 0, 0},
		{"commit, backing off", Spec{OnCommit: true}, 1, 10 * time.Second},
		{"commit, backed off", Spec{OnCommit: true}, 100, time.Hour},
		{"cron", Spec{Cron: cron}, 0, 30 * time.Second},
		{"cron, backing off", Spec{Cron: cron}, 3, 90 * time.Second},
		{"never", Spec{}, 0, -1},
	} {
		got := c.spec.Next(end, c.failures)
		if c.want < 0 {
			if !got.IsZero() {
				t.Errorf("%s: %v", c.name, got)
			}
		} else if got.Sub(end) != c.want {
			t.Errorf("%s: %v after the end, want %v", c.name, got.Sub(end), c.want)
		}
	}
}

func TestNewSpec(t *testing.T) {
	for _, c := range []struct {
		interval time.Duration
		has      bool
		cron     string
		zone     string
		ok, zero bool
	}{
		{0, false, "", "", true, true},
		{0, true, "", "", true, false},
		{time.Minute, true, "", "", true, false},
		{-1, true, "", "", false, false},
		{time.Minute, true, "* * * * *", "", false, false},
		{0, false, "* * * * *", "Europe/Berlin", true, false},
		{0, false, "", "UTC", false, false},
	} {
		s, err := NewSpec(c.interval, c.has, c.cron, c.zone)
		if (err == nil) != c.ok || c.ok && s.IsZero() != c.zero {
			t.Errorf("%+v: %+v, %v", c, s, err)
		}
	}
}

func TestPlan(t *testing.T) {
	now := at(t, "2026-01-01T12:00:00Z")
	every := Spec{Every: 10 * time.Minute}
	ended := func(s job.State, ago time.Duration) *job.Job {
		return &job.Job{ID: "j", State: s, FinishedAt: now.Add(-ago), ErrorCode: "X", ErrorMessage: "why"}
	}
	for _, c := range []struct {
		name     string
		f        Facts
		want     Move
		wake     time.Duration // from now, for Stay
		next     time.Duration // NextAt from now, for Settle
		failures int
	}{
		{name: "never", f: Facts{Spec: every}, want: Stay},
		{name: "not due", f: Facts{Spec: every, Schedule: Schedule{NextAt: now.Add(time.Minute)}}, want: Stay, wake: time.Minute},
		{name: "due", f: Facts{Spec: every, Schedule: Schedule{NextAt: now}}, want: Fire},
		{name: "long overdue: one run", f: Facts{Spec: every, Schedule: Schedule{NextAt: now.Add(-72 * time.Hour)}}, want: Fire},
		{name: "no overlap", f: Facts{Spec: every, Schedule: Schedule{NextAt: now.Add(-time.Hour), JobID: "j"}, Job: &job.Job{State: job.Running}}, want: Stay},
		{name: "succeeded", f: Facts{Spec: every, Schedule: Schedule{JobID: "j", Failures: 3}, Job: ended(job.Succeeded, time.Minute)}, want: Settle, next: 9 * time.Minute},
		{name: "the shortest interval", f: Facts{Spec: Spec{Every: 1}, Schedule: Schedule{JobID: "j"}, Job: ended(job.Succeeded, 0)}, want: Settle, next: leastPause},
		{name: "failed", f: Facts{Spec: every, Schedule: Schedule{JobID: "j", Failures: 7}, Job: ended(job.Failed, 0)}, want: Settle, next: 1280 * time.Second, failures: 8},
		{name: "cancelled: no failure", f: Facts{Spec: every, Schedule: Schedule{JobID: "j"}, Job: ended(job.Cancelled, 0)}, want: Settle, next: 10 * time.Minute},
		{name: "forgotten job", f: Facts{Spec: every, Schedule: Schedule{JobID: "j"}}, want: Settle, next: 10 * time.Minute},
		{name: "no commit", f: Facts{Spec: Spec{OnCommit: true}, Schedule: Schedule{NextAt: now}}, want: Stay},
		{name: "commit", f: Facts{Spec: Spec{OnCommit: true}, Schedule: Schedule{NextAt: now}, Changed: true}, want: Fire},
		{name: "commit, backing off", f: Facts{Spec: Spec{OnCommit: true}, Schedule: Schedule{NextAt: now.Add(time.Second)}, Changed: true}, want: Stay, wake: time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, next, wake := Plan(now, c.f)
			if m != c.want {
				t.Fatalf("move %d, want %d", m, c.want)
			}
			switch m {
			case Stay:
				if c.wake == 0 != wake.IsZero() || c.wake != 0 && wake.Sub(now) != c.wake {
					t.Errorf("wake at %v", wake)
				}
			case Settle:
				if next.JobID != "" || next.NextAt.Sub(now) != c.next || next.Failures != c.failures || (c.failures > 0) != (next.LastError == "X: why") {
					t.Errorf("%+v", next)
				}
			}
		})
	}
}

// A refresh by hand moves an interval's next run and ends a series of failures; a cron keeps its ticks.
func TestEnded(t *testing.T) {
	now := at(t, "2026-01-01T12:00:30Z")
	ok := job.Job{State: job.Succeeded, FinishedAt: now}
	s := Schedule{NextAt: now.Add(time.Minute), Failures: 2, LastError: "X: why"}
	if got := Ended(s, Spec{Every: time.Hour}, ok); got.NextAt.Sub(now) != time.Hour || got.Failures != 0 || got.LastError != "" {
		t.Errorf("interval: %+v", got)
	}
	if got := Ended(s, Spec{Every: time.Hour}, job.Job{State: job.Failed, FinishedAt: now}); got != s {
		t.Errorf("a failure by hand: %+v", got)
	}
	cron, _ := ParseCron("* * * * *", "")
	if got := Ended(Schedule{NextAt: now.Add(time.Hour), Failures: 9}, Spec{Cron: cron}, ok); got.NextAt.Sub(now) != 30*time.Second {
		t.Errorf("cron that was backing off: %+v", got)
	}
	if got := Ended(Schedule{NextAt: now.Add(10 * time.Second)}, Spec{Cron: cron}, ok); got.NextAt.Sub(now) != 10*time.Second {
		t.Errorf("cron: %+v", got)
	}
}
