package stream

import (
	"context"
	"time"
)

// slot is one view as the supervisor has it.
type slot struct {
	uuid    string
	phase   Phase
	state   State
	reason  Reason
	since   time.Time
	unsaved bool

	// What the member is, or is to be.
	restarts   int64
	generation int64
	options    string
	beside     int64 // generation that is built beside the live one

	boundary int64
	clean    bool // the state on disk is of no use
	mending  bool // it was restarted: rows without a value do not stop it

	live    *member // in a group, which has it; nil: none is
	figures *Figures

	build  int64 // number of the build; answers of others do not count
	cancel context.CancelFunc

	heldUntil time.Time // of a paused view: when the lake's history may expire; zero: never

	tries     int
	shortages int       // of disk or memory, since it ran for a while
	due       time.Time // when to try again; zero: never by itself
	news      bool      // a schema has changed since the try has begun
	later     time.Time // a next generation that could not be built is tried again then
}

func newSlot(uuid string) *slot {
	return &slot{uuid: uuid, cancel: func() {}}
}

// say notes a state.
func (sl *slot) say(state State, r Reason) {
	if sl.state == state && sl.reason == r {
		return
	}
	if sl.state != state {
		sl.since = time.Now()
	}
	sl.state, sl.reason, sl.unsaved = state, r, true
}

// steady is how long a view has to run for a shortage to be forgotten. Until the disk is full again, it may have published all it has.
const steady = time.Minute

// block notes that the view was stopped.
func (sl *slot) block(r report) {
	if sl.state == Running && time.Since(sl.since) >= steady {
		sl.shortages = 0
	}
	sl.phase, sl.live, sl.beside = Blocked, nil, 0
	sl.clean = sl.clean || r.clean
	sl.due = time.Time{}
	state := r.state
	if state == "" {
		state = Recovering
	}
	switch {
	case r.state == ResourceBlocked:
		sl.due = time.Now().Add(backoff(sl.shortages))
		sl.shortages++
	case r.again || r.state == "":
		sl.due = time.Now().Add(backoff(sl.tries))
		sl.tries++
	}
	if state == SchemaBlocked && sl.news { // what stopped it may be mended already
		sl.due = time.Now()
	}
	reason := reasonOf(r.cause)
	if state == ResourceBlocked {
		reason = shortage(reason, r.cause)
	}
	sl.say(state, reason)
}

// schemaMoved lets a view that a schema stops be tried at once.
func (sl *slot) schemaMoved() {
	sl.news = true
	if sl.phase == Blocked && sl.state == SchemaBlocked {
		sl.due, sl.tries = time.Now(), 0
	}
}

// failedBeside notes that the next generation could not be built beside the live one. What may go by itself is tried again.
func (sl *slot) failedBeside(r report) {
	if r.state == "" || r.again {
		sl.beside, sl.later = 0, time.Now().Add(backoff(sl.tries))
		sl.tries++
		return
	}
	sl.beside, sl.generation = 0, sl.beside // until it is asked for again
}

// backoff is how long to wait before the next try.
func backoff(tries int) time.Duration {
	return min(50*time.Millisecond<<min(tries, 12), 30*time.Second)
}

// observed is what Decide needs of it.
func (sl *slot) observed(now time.Time) Observed {
	return Observed{
		Phase: sl.phase, Restarts: sl.restarts, Generation: sl.generation, Options: sl.options, Beside: sl.beside, State: sl.state,
		Due: !sl.due.IsZero() && !now.Before(sl.due), Later: now.Before(sl.later),
	}
}
