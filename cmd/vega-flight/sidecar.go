package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"reflect"
	"slices"
	"sync"
	"syscall"

	"github.com/hashicorp/go-hclog"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/flightsql"
	"github.com/vegadb/vega-flight/flightsql/auth"
	"github.com/vegadb/vega-flight/plugin"
)

// pluginCommand serves the host program that launched this process; release gives signals back to the process's own handling.
func pluginCommand(release func()) *cobra.Command {
	var debug bool
	cmd := &cobra.Command{
		Use:   "plugin",
		Short: "Serve the host program that launched this process (hashicorp/go-plugin)",
		Args:  wants(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			release() // an interrupt is the host's affair
			ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
			defer stop()
			log, level := sidecarLog()
			slog.SetDefault(log)
			return plugin.Serve(ctx, plugin.ServeConfig{
				Open: func(ctx context.Context, options map[string]string) (plugin.Service, error) {
					return openSidecar(ctx, options, log, level)
				},
				Options: flightsql.Transport(), Version: version, Debug: debug,
				Log: hclog.New(&hclog.LoggerOptions{Level: hclog.Info, Output: os.Stderr, JSONFormat: true}),
				Attach: func(r plugin.Reattach) error {
					text, err := json.Marshal(r)
					if err == nil {
						_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s='%s'\n", plugin.ReattachVariable, text)
					}
					return err
				},
			})
		},
	}
	cmd.Flags().BoolVar(&debug, "debug", false, "wait for a host to attach, and print the environment variable that tells it where")
	return cmd
}

// sidecarLog writes to standard error as hosts read it, from a level on that may change.
func sidecarLog() (*slog.Logger, *slog.LevelVar) {
	level := new(slog.LevelVar)
	return slog.New(slog.NewJSONHandler(os.Stderr, &slog.HandlerOptions{Level: level, ReplaceAttr: hostAttr})), level
}

// hostAttr gives the fields of a log line the names that go-plugin knows.
func hostAttr(groups []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() == slog.KindDuration {
		return slog.String(a.Key, a.Value.String())
	}
	if len(groups) > 0 {
		return a
	}
	switch a.Key {
	case slog.TimeKey:
		return slog.String("@timestamp", a.Value.Time().Format("2006-01-02T15:04:05.000000Z07:00"))
	case slog.MessageKey:
		return slog.String("@message", a.Value.String())
	case slog.LevelKey:
		if level, ok := a.Value.Any().(slog.Level); ok {
			return slog.String("@level", hclog.LevelFromString(level.String()).String())
		}
	}
	return a
}

// sidecarConfig is the configuration that a host passes. Nothing is served but the host's socket, unless it says so; the environment is the
// host's and does not count.
func sidecarConfig(options map[string]string) (*Config, error) {
	flags := pflag.NewFlagSet("plugin", pflag.ContinueOnError)
	addFlags(flags)
	given := map[string]string{"listen": "", "http": ""}
	for name, value := range options {
		given[name] = value
	}
	var errs []error
	for name, value := range given {
		if flags.Lookup(name) == nil {
			errs = append(errs, fmt.Errorf("there is no option %q", name))
		} else if err := flags.Set(name, value); err != nil {
			errs = append(errs, err)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fault.ConfigInvalid.Wrap(err, "the options of the lake").WithHint("they are those of 'vega-flight serve', without dashes")
	}
	return loadConfig(flags, "", func(string) (string, bool) { return "", false })
}

// sidecar is a lake that is served to a host.
type sidecar struct {
	server *server
	edge   *flightsql.Server // on the host's socket
	stop   context.CancelFunc
	ended  chan struct{}

	once sync.Once
	err  error
}

// openSidecar opens the lake and returns when it is served.
func openSidecar(ctx context.Context, options map[string]string, log *slog.Logger, level *slog.LevelVar) (*sidecar, error) {
	c, err := sidecarConfig(options)
	if err != nil {
		return nil, err
	}
	if err := level.UnmarshalText([]byte(c.LogLevel)); err != nil {
		return nil, fault.ConfigInvalid.Wrap(err, "log-level")
	}
	ctx = context.WithoutCancel(ctx) // what is opened outlives the call
	door, err := openDoor(ctx, c, log)
	if err != nil {
		return nil, err
	}
	line, err := openLifeline(c.Lifeline)
	if err != nil {
		return nil, errors.Join(err, door.close())
	}
	// Close says how long running work may go on.
	srv, err := openServer(ctx, c, door, line, flightsql.Unlimited, log)
	if err != nil {
		return nil, errors.Join(err, line.close())
	}
	serving, stop := context.WithCancel(ctx)
	s := &sidecar{server: srv, stop: stop, ended: make(chan struct{})}
	hosted := door.auth
	if users, ok := hosted.(*auth.Users); ok {
		h := auth.Hosted{Users: users}
		hosted, srv.house.users = h, h
	}
	s.edge = flightsql.NewServer(srv.svc, flightsql.ServerConfig{Auth: hosted, Grace: flightsql.Unlimited, Log: log})
	ready := make(chan struct{})
	go s.run(serving, func() { close(ready) })
	select {
	case <-ready:
		return s, nil
	case <-s.ended:
		_, err := s.Close(ctx)
		return nil, err
	}
}

// run serves until the context ends, or the lake can be served no more.
func (s *sidecar) run(ctx context.Context, ready func()) {
	defer close(s.ended)
	defer s.stop()
	var group sync.WaitGroup
	defer group.Wait()
	group.Go(func() {
		if err := s.edge.Serve(ctx); err != nil { // it has no listener: the host's socket is go-plugin's
			s.server.log.Error("the host's side", "error", err)
		}
	})
	s.err = s.server.run(ctx, ready, nil)
	s.stop() // if it ended by itself, so does the host's side
}

// Edge is what the host's calls pass.
func (s *sidecar) Edge() plugin.Edge {
	return plugin.Edge{Unary: s.edge.Unary, Stream: s.edge.Stream, Connections: s.server.svc.ConnectionStats(), Flight: s.edge.Flight()}
}

// About says what is served.
func (s *sidecar) About() plugin.About {
	options := map[string]string{}
	s.server.c.fields(func(name string, _ reflect.StructTag, v reflect.Value) {
		options[name] = fmt.Sprint(v.Interface())
	})
	options["lake"] = hidePassword(options["lake"])
	return plugin.About{Options: options, ServerID: s.server.house.lake.ServerID(), Address: s.server.door.address()}
}

// Ended is closed when the lake is served no more.
func (s *sidecar) Ended() <-chan struct{} { return s.ended }

// Close drains and closes the lake. Without a deadline, running work has the option shutdown-grace.
func (s *sidecar) Close(ctx context.Context) (cut bool, err error) {
	s.once.Do(func() {
		if _, ok := ctx.Deadline(); !ok {
			var stop context.CancelFunc
			ctx, stop = context.WithTimeout(ctx, s.server.c.ShutdownGrace)
			defer stop()
		}
		s.stop()
		select {
		case <-s.ended:
		case <-ctx.Done():
			s.edge.Stop()
			s.server.flight.Stop()
			<-s.ended
		}
		s.err = errors.Join(s.err, s.server.close(context.WithoutCancel(ctx)), s.server.line.close())
	})
	return slices.ContainsFunc([]*flightsql.Server{s.edge, s.server.flight}, (*flightsql.Server).CutOff), s.err
}
