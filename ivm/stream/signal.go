package stream

import "sync"

// signal wakes all who wait for something to change.
type signal struct {
	mu sync.Mutex
	ch chan struct{} // nil: nobody waits
}

// wait is closed when it is fired next.
func (s *signal) wait() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ch == nil {
		s.ch = make(chan struct{})
	}
	return s.ch
}

func (s *signal) fire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ch != nil {
		close(s.ch)
		s.ch = nil
	}
}
