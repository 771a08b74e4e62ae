package stream

import (
	"context"
	"errors"
	"sync/atomic"
)

// attempt is the making of a member. State on disk is one member's at a time, so the next attempt at the same view waits for the end of this
// one, also if it was given up.
type attempt struct {
	done chan struct{}          // closed when the builder has ended
	made atomic.Pointer[member] // what it has made, until somebody takes it
}

// giveUp takes what was made and ends it, if nobody was quicker.
func (s *Supervisor) giveUp(a *attempt) {
	if m := a.made.Swap(nil); m != nil {
		s.end(m)
		s.c.unhold(m)
	}
}

// build makes a member, when the attempt before has ended, and the group that was given up with one.
func (s *Supervisor) build(ctx context.Context, uuid string, number int64, k making, a, before *attempt, silent *group) {
	defer s.wg.Done()
	defer close(a.done)
	if before != nil {
		<-before.done
		s.giveUp(before)
	}
	if silent != nil {
		select {
		case <-silent.done:
		case <-ctx.Done():
		}
	}
	select {
	case s.builders <- struct{}{}:
		if ctx.Err() == nil {
			break
		}
		<-s.builders
		s.tell(built{uuid: uuid, build: number, a: a, err: ctx.Err()})
		return
	case <-ctx.Done():
		s.tell(built{uuid: uuid, build: number, a: a, err: ctx.Err()})
		return
	}
	m, err := s.c.make(ctx, k, s.targetOf(k), func(state State, r Reason, does *Figures) { s.tell(said{uuid, number, state, r, does}) })
	<-s.builders
	a.made.Store(m)
	s.tell(built{uuid: uuid, build: number, a: a, err: err})
	if ctx.Err() != nil {
		s.giveUp(a) // nobody may be left who would take it
	}
}

// discard removes all that was kept for a view that is gone, when nothing is made for it any more.
func (s *Supervisor) discard(ctx context.Context, uuid string, generations int64, last *attempt, silent *group) {
	defer s.wg.Done()
	if last != nil {
		<-last.done
		s.giveUp(last)
	}
	if silent != nil {
		select {
		case <-silent.done:
		case <-ctx.Done():
			return // the next life of the server removes it
		}
	}
	err := s.c.remove(uuid, 0)
	for g := range generations {
		err = errors.Join(err, s.c.Sink.Release(ctx, holder(uuid, g+1)))
	}
	if err != nil && ctx.Err() == nil {
		s.c.Log.Warn("what is left of a streaming view that was dropped", "uuid", uuid, "error", err)
	}
}
