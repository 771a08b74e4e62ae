package stream

import "time"

// Status is what a server knows of a view that it runs.
type Status struct {
	State    State
	Reason   Reason
	Since    time.Time
	Frontier int64
	Figures  *Figures // nil: no member was made yet
}

// Status is a view's, if this server runs it.
func (s *Supervisor) Status(uuid string) (Status, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	st, ok := s.shown[uuid]
	if ok && st.Figures != nil {
		st.Frontier = st.Figures.Frontier.Load()
	}
	return st, ok
}

// show makes the views' states known to others.
func (s *Supervisor) show() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.shown)
	for uuid, sl := range s.slots {
		s.shown[uuid] = Status{State: sl.state, Reason: sl.reason, Since: sl.since, Figures: sl.figures}
	}
}
