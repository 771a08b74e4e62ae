package plugin

import (
	"context"
	"os"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/plugin/control"
)

// ServeConfig is what a sidecar is made of.
type ServeConfig struct {
	Open    Open
	Options []grpc.ServerOption // of the server on the host's socket: message sizes, keepalive
	Version string              // of the program
	Log     hclog.Logger        // writes to standard error
	// Debug serves without a host: Attach is given what a host needs to attach, and nothing ends with a parent process.
	Debug  bool
	Attach func(Reattach) error
}

// IsLaunched says that a host has launched this process.
func IsLaunched() bool { return os.Getenv(Cookie) == CookieValue }

// killGrace is how long a host that does not drain first waits between asking a sidecar to end and killing it: go-plugin's two seconds, less
// what closing takes.
const killGrace = 500 * time.Millisecond

// Serve serves the host that launched this process until it ends the sidecar, is gone, or ctx ends; then it closes the lake.
// An error is why the lake could not be served any more, or not be closed.
func Serve(ctx context.Context, c ServeConfig) error {
	if c.Log == nil {
		c.Log = hclog.NewNullLogger()
	}
	if !c.Debug && !IsLaunched() {
		return fault.ConfigInvalid.Newf("no host has launched this process").
			WithHint("'vega-flight serve' is a server of its own; 'vega-flight plugin --debug' waits for a host to attach")
	}
	l := &late{}
	ctl := &controller{c: c, state: newState(), late: l, began: time.Now()}
	served := make(chan struct{})
	debugging, stopDebugging := context.WithCancel(context.Background())
	defer stopDebugging()
	var group sync.WaitGroup
	defer group.Wait()
	config := &goplugin.ServeConfig{
		HandshakeConfig: Handshake,
		VersionedPlugins: versions(sidecarSide{register: func(to *grpc.Server) {
			l.register(to)
			control.RegisterControlServer(to, ctl)
		}}),
		GRPCServer: func(opts []grpc.ServerOption) *grpc.Server {
			opts = append(opts, grpc.ChainUnaryInterceptor(l.unary), grpc.ChainStreamInterceptor(l.stream), grpc.StatsHandler(connections{l}))
			return grpc.NewServer(append(opts, c.Options...)...)
		},
		Logger: c.Log,
	}
	attached := make(chan *goplugin.ReattachConfig, 1)
	if c.Debug {
		config.Test = &goplugin.ServeTestConfig{Context: debugging, ReattachConfigCh: attached}
	}
	go serveUntilStopped(config, served) // go-plugin has no other end than being told to by the host
	var orphaned <-chan struct{}
	if c.Debug {
		if err := c.attach(attached, served); err != nil {
			return err
		}
	} else {
		watching, stop := context.WithCancel(context.Background())
		defer stop()
		gone := make(chan struct{})
		if end := tieOfHost(); end != nil {
			group.Go(func() { watchTie(watching, end, gone) })
		} else {
			group.Go(func() { watchParent(watching, gone) })
		}
		orphaned = gone
	}
	grace := time.Duration(0)
	switch ctl.await(ctx, served, orphaned) {
	case byHost:
		grace = killGrace
	case byFailure: // why, close says
	case byOrphan:
		c.Log.Warn("the host is gone; the sidecar ends")
	case bySignal:
	}
	_, err := ctl.close(context.WithoutCancel(ctx), grace)
	return err
}

func serveUntilStopped(c *goplugin.ServeConfig, served chan<- struct{}) {
	defer close(served)
	goplugin.Serve(c)
}

// ending is why a sidecar ends.
type ending int

const (
	byHost    ending = iota // told to by go-plugin's shutdown
	bySignal                // of the operating system
	byOrphan                // the host is gone
	byFailure               // the lake can be served no more
)

// await waits for the first reason to end.
func (c *controller) await(ctx context.Context, served, orphaned <-chan struct{}) ending {
	for {
		over := c.state.get().over
		select {
		case <-served:
			return byHost
		case <-ctx.Done():
			return bySignal
		case <-orphaned:
			return byOrphan
		case <-c.failed():
			return byFailure
		case <-over: // a lake may have been opened
		}
	}
}

// failed is closed when the lake has ended without having been drained.
func (c *controller) failed() <-chan struct{} {
	if c.state.get().at != control.State_STATE_SERVING {
		return nil
	}
	return c.ended()
}
