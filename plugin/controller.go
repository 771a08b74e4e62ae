package plugin

import (
	"context"
	"maps"
	"os"
	"sync"
	"time"

	"google.golang.org/grpc"

	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/plugin/control"
)

// controller answers the control service.
type controller struct {
	control.UnimplementedControlServer
	c     ServeConfig
	state *state
	late  *late
	began time.Time

	configuring sync.Mutex // one Configure or Close at a time

	mu      sync.Mutex
	service Service
	options map[string]string // that it was opened with
	closed  bool
}

func (c *controller) open() Service {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.service
}

// Info says what the sidecar is.
func (c *controller) Info(context.Context, *control.InfoRequest) (*control.InfoResponse, error) {
	return c.info(), nil
}

func (c *controller) info() *control.InfoResponse {
	out := &control.InfoResponse{Version: c.c.Version, Pid: int64(os.Getpid()), StartedAt: c.began.UnixMicro(), State: c.state.get().at}
	if s := c.open(); s != nil {
		about := s.About()
		out.Options, out.ServerId, out.Address = about.Options, about.ServerID, about.Address
	}
	return out
}

// Configure opens the lake.
func (c *controller) Configure(ctx context.Context, r *control.ConfigureRequest) (*control.ConfigureResponse, error) {
	c.configuring.Lock()
	defer c.configuring.Unlock()
	switch {
	case c.closed:
		return nil, statusOf(fault.Draining.Newf("the sidecar has been drained").WithHint("start another one"))
	case c.open() != nil && maps.Equal(c.options, r.GetOptions()):
		return &control.ConfigureResponse{Info: c.info()}, nil
	case c.open() != nil:
		return nil, statusOf(fault.ConfigInvalid.Newf("the sidecar serves a lake with other options").WithHint("end it and start another one"))
	}
	c.state.set(control.State_STATE_OPENING, "")
	s, err := c.c.Open(ctx, r.GetOptions())
	if err != nil {
		c.state.set(control.State_STATE_WAITING, err.Error())
		return nil, statusOf(err)
	}
	c.mu.Lock()
	c.service, c.options = s, maps.Clone(r.GetOptions())
	c.mu.Unlock()
	if c.state.get().at == control.State_STATE_DRAINING { // whoever drains is waiting, and closes it
		return nil, statusOf(fault.Draining.Newf("the sidecar was drained while it opened the lake").WithHint("start another one"))
	}
	edge := s.Edge()
	c.late.edge.Store(&edge)
	c.state.set(control.State_STATE_SERVING, "")
	return &control.ConfigureResponse{Info: c.info()}, nil
}

// Health gives the state now, and each that follows.
func (c *controller) Health(_ *control.HealthRequest, out grpc.ServerStreamingServer[control.HealthResponse]) error {
	for now := c.state.get(); ; now = now.next {
		if err := out.Send(&control.HealthResponse{State: now.at, Reason: now.reason}); err != nil {
			return err
		}
		select {
		case <-now.over:
		case <-out.Context().Done():
			return out.Context().Err()
		}
	}
}

// Drain puts the lake down. It goes on when the host gives up waiting.
func (c *controller) Drain(ctx context.Context, r *control.DrainRequest) (*control.DrainResponse, error) {
	cut, err := c.close(context.WithoutCancel(ctx), time.Duration(r.GetGraceMs())*time.Millisecond)
	if err != nil {
		return nil, statusOf(err)
	}
	return &control.DrainResponse{Complete: !cut}, nil
}

// close closes the lake, if there is one. What runs may go on as long as grace; 0 is as long as the lake's options say. It may be called again.
func (c *controller) close(ctx context.Context, grace time.Duration) (cut bool, err error) {
	c.state.set(control.State_STATE_DRAINING, "")
	c.configuring.Lock()
	defer c.configuring.Unlock()
	c.closed = true
	if s := c.open(); s != nil {
		if grace > 0 {
			var stop context.CancelFunc
			ctx, stop = context.WithTimeout(ctx, grace)
			defer stop()
		}
		cut, err = s.Close(ctx)
	}
	if err != nil {
		c.state.set(control.State_STATE_FAILED, err.Error())
		return cut, err
	}
	c.state.set(control.State_STATE_DRAINED, "")
	return cut, nil
}

// ended is closed when an open lake serves no more; nil before it is open.
func (c *controller) ended() <-chan struct{} {
	if s := c.open(); s != nil {
		return s.Ended()
	}
	return nil
}
