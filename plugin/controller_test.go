package plugin

import (
	"context"
	"testing"
	"time"

	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/plugin/control"
)

// slow is a lake that takes as long to open as it is told.
type slow struct {
	opening, may chan struct{}
	closed       bool
}

func (s *slow) Edge() Edge             { return Edge{} }
func (s *slow) About() About           { return About{} }
func (s *slow) Ended() <-chan struct{} { return nil }

func (s *slow) Close(context.Context) (bool, error) {
	s.closed = true
	return false, nil
}

// A sidecar that is drained while it opens its lake never serves it, and closes it.
func TestADrainDuringConfigure(t *testing.T) {
	lake := &slow{opening: make(chan struct{}), may: make(chan struct{})}
	c := &controller{state: newState(), late: &late{}, began: time.Now(), c: ServeConfig{Open: func(context.Context, map[string]string) (Service, error) {
		close(lake.opening)
		<-lake.may
		return lake, nil
	}}}
	configured, drained := make(chan error, 1), make(chan error, 1)
	go configure(t.Context(), c, configured)
	<-lake.opening
	seen := c.state.get()
	go drainNow(t.Context(), c, drained)
	<-seen.over // it drains
	close(lake.may)
	if err := faultOf(<-configured); fault.CodeOf(err) != fault.Draining {
		t.Errorf("configured: %v", err)
	}
	if err := <-drained; err != nil || !lake.closed || c.late.edge.Load() != nil {
		t.Errorf("drained: %v, closed: %t", err, lake.closed)
	}
	for seen.at != control.State_STATE_DRAINED {
		if seen.at == control.State_STATE_SERVING {
			t.Error("it was said to serve")
		}
		<-seen.over
		seen = seen.next
	}
}

func configure(ctx context.Context, c *controller, end chan<- error) {
	_, err := c.Configure(ctx, &control.ConfigureRequest{})
	end <- err
}

func drainNow(ctx context.Context, c *controller, end chan<- error) {
	_, err := c.Drain(ctx, &control.DrainRequest{})
	end <- err
}
