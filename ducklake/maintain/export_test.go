package maintain

import "time"

// EndGrace lets a server call others dead again, as time does.
func (s *Servers) EndGrace() {
	s.judge.mu.Lock()
	defer s.judge.mu.Unlock()
	s.judge.from = time.Time{}
}
