package job

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"
)

// clock is a time that the test moves.
type clock struct{ seconds atomic.Int64 }

func (c *clock) Now() time.Time     { return time.Unix(c.seconds.Load(), 0) }
func (c *clock) pass(seconds int64) { c.seconds.Add(seconds) }
func (c *clock) config(x *Config)   { x.Now = c.Now }
func (s *script) startedAll(n int) []string { // the next n that start
	out := make([]string, n)
	for i := range out {
		out[i] = <-s.started
	}
	return out
}

// Two runs that do not end take both long places; ten views go on being refreshed beside them, again and again.
func TestShortRunsGoOnBesideLongOnes(t *testing.T) {
	m, w, c := newMemory(), newScript(), &clock{}
	r := start(t, m, w, "s", c.config)
	defer closeRunner(t, r)
	submit(t, r, "long one")
	submit(t, r, "long two")
	w.startedAll(2)
	c.pass(60)
	for range 3 {
		var jobs []Job
		for i := range 10 {
			j := submit(t, r, fmt.Sprintf("short %d", i))
			w.end(j.ID) <- nil
			jobs = append(jobs, j)
		}
		for _, j := range jobs {
			ended(t, r, j.ID, Succeeded)
		}
		w.startedAll(10)
		c.pass(1)
	}
	if n := r.Counts()[Running]; n != 2 {
		t.Errorf("%d run", n)
	}
}

// Runs that were always short and are long this time leave their places.
func TestARunThatTurnsOutLongLeavesItsPlace(t *testing.T) {
	m, w, c := newMemory(), newScript(), &clock{}
	r := start(t, m, w, "s", c.config)
	defer closeRunner(t, r)
	for _, subject := range []string{"a", "b", "c", "d"} {
		j := submit(t, r, subject)
		w.end(j.ID) <- nil
		ended(t, r, j.ID, Succeeded)
	}
	w.startedAll(4)
	for _, subject := range []string{"a", "b"} {
		submit(t, r, subject)
	}
	w.startedAll(2)
	third, fourth := submit(t, r, "c"), submit(t, r, "d") // no short place is free
	if n := r.Counts(); n[Running] != 2 || n[Queued] != 2 {
		t.Fatalf("%v", n)
	}
	c.pass(6)
	if got := w.startedAll(2); got[0] != third.ID || got[1] != fourth.ID {
		if got[1] != third.ID || got[0] != fourth.ID {
			t.Errorf("started %v", got)
		}
	}
}

// How long a view's refreshes take is known after a restart, so long ones leave the short places alone from the start.
func TestLongRunsAreKnownAfterARestart(t *testing.T) {
	m, w, c := newMemory(), newScript(), &clock{}
	r := start(t, m, w, "s", c.config)
	for _, subject := range []string{"x", "y", "z"} {
		j := submit(t, r, subject)
		w.startedAll(1)
		c.pass(60)
		w.end(j.ID) <- nil
		ended(t, r, j.ID, Succeeded)
	}
	closeRunner(t, r)
	r = start(t, m, w, "s", c.config)
	defer closeRunner(t, r)
	x, y, z := submit(t, r, "x"), submit(t, r, "y"), submit(t, r, "z")
	first := w.startedAll(2)
	for _, id := range first {
		if id != x.ID && id != y.ID {
			t.Fatalf("started %v", first)
		}
	}
	short := submit(t, r, "short")
	if got := w.startedAll(1); got[0] != short.ID {
		t.Errorf("a third long run started before a short one: %v", got)
	}
	w.end(x.ID) <- nil
	if got := w.startedAll(1); got[0] != z.ID {
		t.Errorf("started %v", got)
	}
}

// With all long places taken, what has never run leaves one short place to what is known to be short.
func TestNewJobsLeaveAShortPlace(t *testing.T) {
	l := newLanes(2, 5*time.Second)
	at := time.Unix(0, 0)
	l.remember("short", time.Second)
	for _, step := range []struct {
		subject string
		want    bool
	}{
		{"new 1", true}, {"new 2", true}, {"new 3", true}, {"new 4", false}, {"short", true}, {"short", false}, {"new 5", false},
	} {
		if got := l.enter(step.subject, at); got != step.want {
			t.Errorf("%s enters: %t", step.subject, got)
		}
	}
	l.leave("new 1", at.Add(time.Second))
	l.leave("short", at.Add(time.Second))
	l.remember("long", time.Minute)
	if !l.enter("long", at) || l.enter("new 4", at) {
		t.Error("a long place was free, and the new jobs' short place is not")
	}
}
