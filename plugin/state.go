package plugin

import (
	"sync"

	"github.com/vegadb/vega-flight/plugin/control"
)

// state is where a sidecar stands, for those who wait for it to change.
type state struct {
	mu      sync.Mutex
	now     control.State
	reason  string
	changed chan struct{} // closed at the next change
}

func newState() *state { return &state{now: control.State_STATE_WAITING, changed: make(chan struct{})} }

// set goes to a state.
func (s *state) set(to control.State, reason string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now, s.reason = to, reason
	close(s.changed)
	s.changed = make(chan struct{})
}

// get is the state, and a channel that is closed when it is no longer that.
func (s *state) get() (control.State, string, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now, s.reason, s.changed
}
