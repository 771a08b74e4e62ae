package plugin

import (
	"context"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/vegadb/vega-flight/fault"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A closed supervisor says that it is, however often it is asked.
func TestAClosedSupervisor(t *testing.T) {
	s := Supervise(Options{Binary: "/nowhere/vega-flight"})
	if _, err := s.Sidecar(t.Context()); fault.CodeOf(err) != fault.SidecarMissing {
		t.Errorf("without a binary: %v", err)
	}
	if err := s.Close(context.Background()); err != nil {
		t.Error(err)
	}
	for range 3 {
		for what, do := range map[string]func() error{
			"a sidecar":  func() error { _, err := s.Sidecar(t.Context()); return err },
			"an upgrade": func() error { return s.Upgrade(t.Context(), Options{Binary: "/nowhere/vega-flight"}) },
		} {
			if err := do(); fault.CodeOf(err) != fault.SidecarGone || !strings.Contains(err.Error(), "closed") {
				t.Errorf("%s of a closed supervisor: %v", what, err)
			}
		}
	}
}
