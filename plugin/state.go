package plugin

import (
	"sync"

	"github.com/vegadb/vega-flight/plugin/control"
)

// state is where a sidecar stands, for those who wait for it to change.
type state struct {
	mu  sync.Mutex
	now *standing
}

// standing is where a sidecar stands until it goes on. Who waits comes by each one, however late it looks.
type standing struct {
	at     control.State
	reason string
	over   chan struct{} // closed when next is there
	next   *standing
}

func newState() *state {
	return &state{now: &standing{at: control.State_STATE_WAITING, over: make(chan struct{})}}
}

// set goes to a state. From a drain no way leads back.
func (s *state) set(to control.State, reason string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	was := s.now
	if was.at == control.State_STATE_DRAINING && to != control.State_STATE_DRAINED && to != control.State_STATE_FAILED {
		return
	}
	s.now = &standing{at: to, reason: reason, over: make(chan struct{})}
	was.next = s.now
	close(was.over)
}

// get is the state as it is now.
func (s *state) get() *standing {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now
}
