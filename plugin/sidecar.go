package plugin

import (
	"context"
	"sync"
	"time"

	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	goplugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/plugin/control"
)

// Sidecar is a running sidecar as its host has it. Any goroutine may use it.
type Sidecar struct {
	client  *goplugin.Client
	line    *line
	tie     *tie
	control control.ControlClient
	once    sync.Once
}

// Conn is the connection that Flight SQL is spoken on. It has one session for all calls that bring no session's cookie; see Session.
func (s *Sidecar) Conn() *grpc.ClientConn { return s.line.conn }

// Session is a Flight SQL client with a session of its own on the sidecar's connection: own settings, search path and transaction.
// Closing the client leaves the connection, which all sessions share, as it is; CloseSession ends the session, and so does its idle limit.
func (s *Sidecar) Session() *flightsql.Client { return newSession(s.line.conn) }

// Ended is closed when the sidecar's process has ended.
func (s *Sidecar) Ended() <-chan struct{} { return s.line.ended.Done() }

func (s *Sidecar) hasEnded() bool {
	select {
	case <-s.Ended():
		return true
	default:
		return false
	}
}

// Configure opens a lake: options of `vega-flight serve` by name. After an error it may be tried again, with other options.
func (s *Sidecar) Configure(ctx context.Context, options map[string]string) (*control.InfoResponse, error) {
	r, err := s.control.Configure(ctx, &control.ConfigureRequest{Options: options})
	if err != nil {
		return nil, faultOf(err)
	}
	return r.GetInfo(), nil
}

// Info says what the sidecar is and serves.
func (s *Sidecar) Info(ctx context.Context) (*control.InfoResponse, error) {
	r, err := s.control.Info(ctx, &control.InfoRequest{})
	if err != nil {
		return nil, faultOf(err)
	}
	return r, nil
}

// Health calls see with the state now and with each that follows, until ctx ends, see is false or the sidecar ends.
func (s *Sidecar) Health(ctx context.Context, see func(state control.State, reason string) bool) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	in, err := s.control.Health(ctx, &control.HealthRequest{})
	for err == nil {
		var r *control.HealthResponse
		if r, err = in.Recv(); err == nil && !see(r.GetState(), r.GetReason()) {
			return nil
		}
	}
	return faultOf(err)
}

// Drain refuses new work in the sidecar, waits for what runs as long as grace (0: its own), and closes its lake with a checkpoint of every
// view. complete says that nothing was cut off. Close is what remains.
func (s *Sidecar) Drain(ctx context.Context, grace time.Duration) (complete bool, err error) {
	r, err := s.control.Drain(ctx, &control.DrainRequest{GraceMs: grace.Milliseconds()})
	if err != nil {
		return false, faultOf(err)
	}
	return r.GetComplete(), nil
}

// Close drains the sidecar and ends its process. When ctx ends first, or the drain fails, the process is ended all the same.
func (s *Sidecar) Close(ctx context.Context) error {
	_, err := s.Drain(ctx, 0)
	s.Kill()
	if err != nil {
		select {
		case <-ctx.Done():
			return fault.TimedOut.Wrap(err, "the sidecar was ended before it had drained")
		default:
		}
	}
	return err
}

// Kill ends the process: it is asked to, and killed two seconds later. What was committed is durable. It may be called again.
func (s *Sidecar) Kill() {
	s.once.Do(func() {
		s.client.Kill()
		s.tie.cut()
	})
}
