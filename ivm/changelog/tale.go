package changelog

import (
	"context"
)

// tale is a commit while it is told to a subscriber.
type tale struct {
	tape     *tape
	snapshot int64
	framed   bool
	foreign  bool // it is of another program
	began    bool
	told     int
	length   int // of changes, once it is known
}

// tell begins with a commit.
func (s *Subscription) tell(c commit, w what) {
	var with []int64
	if w != content {
		with = s.upcoming(c)
	}
	s.tale = &tale{tape: s.c.tape(s.Request, c.snapshot, w, with), snapshot: c.snapshot, framed: w == content, length: -1}
}

// next gives the next batch of the commit; without one, the commit is told.
func (t *tale) next(ctx context.Context, s *Subscription) (m Message, more bool, err error) {
	if t.framed && !t.began {
		t.began = true
		return s.mark(begin, t.snapshot), true, nil
	}
	if !t.framed && t.length < 0 {
		// The last batch says that it is the last: all of them must be there.
		if t.length, err = t.tape.length(ctx); err != nil {
			return m, false, err
		}
	}
	if !t.framed && t.told == t.length {
		s.over(t)
		return m, false, nil
	}
	batch, weight, err := t.tape.at(ctx, t.told)
	if err != nil {
		return m, false, err
	}
	if batch == nil { // of a frame
		s.over(t)
		s.moved = false
		return s.mark(end, t.snapshot), true, nil
	}
	t.told++
	if t.told == t.length {
		s.over(t)
	}
	return s.rows(t, batch, weight)
}

// over notes that a commit was told. With what Next gives now, the subscriber has all of it.
func (s *Subscription) over(t *tale) {
	s.position, s.applied, s.moved = t.snapshot, t.snapshot, true
	s.dirty = s.opt.Upsert && t.foreign
	s.owed = !t.framed
	s.c.release(t.tape)
	s.tale = nil
}
