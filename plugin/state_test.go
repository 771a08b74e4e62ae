package plugin

import (
	"testing"

	"github.com/vegadb/vega-flight/plugin/control"
)

// Who looks late comes by every state all the same.
func TestNoStateIsMissed(t *testing.T) {
	s := newState()
	seen := s.get()
	s.set(control.State_STATE_OPENING, "")
	s.set(control.State_STATE_WAITING, "no lake")
	s.set(control.State_STATE_OPENING, "")
	s.set(control.State_STATE_SERVING, "")
	for _, want := range []standing{
		{at: control.State_STATE_WAITING}, {at: control.State_STATE_OPENING}, {at: control.State_STATE_WAITING, reason: "no lake"},
		{at: control.State_STATE_OPENING}, {at: control.State_STATE_SERVING},
	} {
		if seen.at != want.at || seen.reason != want.reason {
			t.Errorf("it was %s (%s), want %s (%s)", seen.at, seen.reason, want.at, want.reason)
		}
		if seen == s.get() {
			break
		}
		<-seen.over
		seen = seen.next
	}
	if seen.at != control.State_STATE_SERVING {
		t.Errorf("the last state was %s", seen.at)
	}
}
