package stream

import (
	"context"
	"time"
)

// Status is what a server knows of a view that it runs.
type Status struct {
	State    State
	Reason   Reason
	Since    time.Time
	Frontier int64    // lake snapshot; all changes of the sources up to it are in what is published
	Figures  *Figures // nil: no member was made yet
}

// Status is a view's, if this server runs it.
func (s *Supervisor) Status(uuid string) (Status, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	st, ok := s.shown[uuid]
	if ok && st.Figures != nil {
		st.Frontier = st.Figures.Frontier.Load()
		if g := s.groupOf[uuid]; g != nil && st.Frontier > 0 {
			st.Frontier = s.log.reached(st.Frontier, g.tables)
		}
		if v := s.latest.ByUUID(uuid); v != nil {
			if at := s.log.wrote(v.Table.ID); at > st.Figures.Seen.Load() {
				st.Frontier = min(st.Frontier, at-1)
			}
		}
	}
	return st, ok
}

// Await waits until done says so of a view's status; ok is false while this server does not run it. It is asked again whenever something
// has changed.
func (s *Supervisor) Await(ctx context.Context, uuid string, done func(st Status, ok bool) bool) error {
	for {
		changed := s.moved.wait()
		if st, ok := s.Status(uuid); done(st, ok) {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// show makes the views' states known to others.
func (s *Supervisor) show() {
	s.mu.Lock()
	clear(s.shown)
	for uuid, sl := range s.slots {
		s.shown[uuid] = Status{State: sl.state, Reason: sl.reason, Since: sl.since, Figures: sl.figures}
	}
	s.mu.Unlock()
	s.moved.fire()
}
