package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/vegadb/vega-flight/ducklake"
	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/flightsql"
	"github.com/vegadb/vega-flight/flightsql/auth"
)

// serveCommand runs the server; release gives signals back to the process's own handling.
func serveCommand(release func()) *cobra.Command {
	var file string
	var printConfig bool
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve a lake over Arrow Flight SQL",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return fmt.Errorf("%w: serve takes options only, not %q; the lake is named by --lake", errUsage, args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := loadConfig(cmd.Flags(), file, os.LookupEnv)
			if err != nil {
				return err
			}
			if printConfig {
				c.print(cmd.OutOrStdout())
				return nil
			}
			return serve(cmd.Context(), c, release)
		},
	}
	addFlags(cmd.Flags())
	cmd.Flags().StringVar(&file, "config", os.Getenv(envPrefix+"CONFIG"), "YAML file with these options")
	cmd.Flags().BoolVar(&printConfig, "print-config", false, "print the configuration that results, and end")
	return cmd
}

// serve runs until ctx ends and the work at hand is drained.
func serve(ctx context.Context, c *Config, release func()) (err error) {
	log := newLog(c)
	slog.SetDefault(log)
	if line := misspelt(os.Environ()); line != "" {
		log.Warn(line)
	}
	ready := false
	defer func() {
		switch {
		case err != nil && ready:
			log.Error("the server ends", "error", err)
			err = errors.Join(errReported, err)
		case err != nil:
			err = oneLine{err} // it never came to serving: what started it gets the reason alone
		}
	}()
	line, err := openLifeline(c.Lifeline)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, line.close()) }()
	door, err := openDoor(ctx, c, log)
	if err != nil {
		return err
	}
	figures := newMetrics()
	h, err := openHouse(ctx, c, door.address(), figures, log)
	if err != nil {
		return errors.Join(err, door.close())
	}
	closing := context.WithoutCancel(ctx)
	defer func() { err = errors.Join(err, h.close(closing)) }()
	if err := withdraw(c); err != nil {
		return errors.Join(err, door.close())
	}
	h.users, _ = door.auth.(knower)
	figures.registry.MustRegister(newLakeFigures(h.lake.Store()), newStreamFigures(h))
	svc, err := flightsql.New(ctx, flightsql.Config{
		Lake: h.lake, Engine: h.engine, Log: log, Observe: figures, Version: version, SpoolDir: c.resultsDir(), Live: h.others(),
		HiddenPaths: c.hiddenPaths(),
		Check:       func(ctx context.Context) (any, error) { return h.check(ctx, false) },
		Limits: flightsql.Limits{
			SessionsPerUser: c.MaxUserSessions, Sessions: c.MaxSessions, SessionIdle: c.SessionIdle,
			TransactionIdle: c.TransactionIdle, Statement: c.StatementTimeout,
			SlowSubscriber: c.SlowSubscriber,
		},
		Handles: flightsql.HandleLimits{PerUser: c.MaxUserHandles, InAll: c.MaxHandles, Keep: c.HandleExpiry, SpoolBytes: c.spoolBytes()},
	})
	if err != nil {
		return errors.Join(err, door.close())
	}
	defer func() { err = errors.Join(err, svc.Close(closing)) }()
	server := flightsql.NewServer(svc, flightsql.ServerConfig{
		Auth: door.auth, TLS: door.tls, Insecure: c.Insecure, Reflection: true, Grace: c.ShutdownGrace,
		Log: log,
	})
	return runAll(ctx, c, h, server, door, line, func() { ready = true }, release, log)
}

// runAll runs the server and what goes on beside it, and returns when all of it has ended. It calls ready when clients are served.
func runAll(ctx context.Context, c *Config, h *house, server *flightsql.Server, door *door, line *lifeline, ready, release func(), log *slog.Logger) error {
	serving, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	beside, stopBeside := context.WithCancel(context.WithoutCancel(ctx)) // lease, maintenance and figures outlive the drain
	var group sync.WaitGroup
	defer group.Wait()
	defer stopBeside()

	group.Go(func() {
		if err := h.servers.Keep(beside, h.fence(), h.pins); err != nil {
			stop(err) // fenced: another server owns our work
		}
	})
	if c.MaintenanceInterval > 0 {
		group.Go(func() { h.maintainer.Run(beside) })
	}
	var op *operator
	if door.http != nil {
		op = newOperator(door.http, h.figures.registry, h.healthy, h.lake.Short)
		group.Go(func() {
			if err := op.Serve(beside); err != nil {
				stop(err)
			}
		})
	}
	group.Go(func() { watchFatal(beside, h.lake, stop) })
	if err := h.engine.Start(ctx); err != nil {
		return errors.Join(err, door.close())
	}
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	group.Go(func() { forceOnSignal(beside, ctx, serving, signals, server, release) })
	if err := announce(c, door, op, log); err != nil {
		return errors.Join(err, door.close())
	}
	ready()
	if line != nil {
		group.Go(func() { line.watch(beside, stop) })
	}
	if op != nil {
		op.ready.Store(true)
		context.AfterFunc(serving, func() { op.ready.Store(false) })
	}
	err := server.Serve(serving, door.listener)
	if cause := context.Cause(serving); cause != nil && !errors.Is(cause, context.Canceled) {
		err = errors.Join(cause, err)
	}
	return err
}

// watchFatal ends serving when DuckDB can do no more: a supervisor starts a new process.
func watchFatal(ctx context.Context, l *ducklake.Lake, stop context.CancelCauseFunc) {
	select {
	case <-ctx.Done():
	case <-l.Fatal():
		code := fault.InternalError
		if known := fault.CodeOf(l.Failure()); known != nil {
			code = known // memory that is lost
		}
		stop(code.Newf("the DuckDB instance has failed and the process ends; everything durable is in the catalog"))
	}
}

// forceOnSignal cuts running work off when a second signal comes while the server drains. The signals are collected from before the first
// one on, so that none is lost; asked is done when that one has come.
func forceOnSignal(ctx, asked, serving context.Context, signals chan os.Signal, server *flightsql.Server, release func()) {
	defer signal.Stop(signals)
	select {
	case <-ctx.Done():
		return
	case <-serving.Done():
	}
	left := 1
	if asked.Err() != nil {
		left = 2
	}
	for ; left > 0; left-- {
		select {
		case <-ctx.Done():
			return
		case <-signals:
		}
	}
	release() // a third one ends the process at once
	server.Stop()
}

// withdraw removes the ready file of an earlier run.
func withdraw(c *Config) error {
	if c.ReadyFile == "" {
		return nil
	}
	if err := os.Remove(c.ReadyFile); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fault.ConfigInvalid.Wrap(err, "the ready file of an earlier run cannot be removed")
	}
	return nil
}

// announce says that the server is ready: in the log, and in the ready file, which appears whole.
func announce(c *Config, door *door, op *operator, log *slog.Logger) error {
	ready := struct {
		Flight string `json:"flight"`
		HTTP   string `json:"http,omitempty"`
		PID    int    `json:"pid"`
	}{door.address(), "", os.Getpid()}
	if op != nil {
		ready.HTTP = op.url()
	}
	log.Info("ready", "flight", ready.Flight, "http", ready.HTTP, "lake", hidePassword(c.Lake), "version", version)
	if c.ReadyFile == "" {
		return nil
	}
	text, err := json.Marshal(ready)
	if err != nil {
		return err
	}
	tmp := c.ReadyFile + ".tmp"
	if err := os.WriteFile(tmp, append(text, '\n'), 0o644); err != nil {
		return fault.ConfigInvalid.Wrap(err, "the ready file cannot be written")
	}
	return os.Rename(tmp, c.ReadyFile)
}

func newLog(c *Config) *slog.Logger {
	var level slog.Level
	if err := level.UnmarshalText([]byte(c.LogLevel)); err != nil {
		level = slog.LevelInfo // check() has refused anything else
	}
	opts := &slog.HandlerOptions{Level: level}
	if c.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(os.Stderr, opts))
	}
	return slog.New(slog.NewTextHandler(os.Stderr, opts))
}

// door is where clients come in: the listener, who they are, and TLS; and where an operator's tools do.
type door struct {
	listener net.Listener
	http     net.Listener // nil when it is turned off
	auth     auth.Authenticator
	tls      *auth.Certificate
}

func openDoor(ctx context.Context, c *Config, log *slog.Logger) (*door, error) {
	d := &door{auth: auth.NoAuth{}}
	var err error
	if c.UsersFile != "" {
		if d.auth, err = auth.OpenUsers(auth.UsersConfig{Path: c.UsersFile, TokenTTL: c.TokenTTL, Log: log}); err != nil {
			return nil, err
		}
	}
	if d.listener, err = flightsql.Listen(ctx, c.Listen); err != nil {
		return nil, err
	}
	if err := auth.CheckListener(d.auth, d.listener.Addr(), c.Insecure); err != nil {
		return nil, errors.Join(err, d.close())
	}
	if c.HTTP != "" {
		if d.http, err = listenTCP(c.HTTP); err != nil {
			return nil, errors.Join(err, d.close())
		}
	}
	switch {
	case c.TLSCert != "":
		d.tls, err = auth.LoadCertificate(c.TLSCert, c.TLSKey, log)
	case c.TLSGenerate != "":
		host, _, _ := net.SplitHostPort(c.Listen) // a socket path has no host to certify
		d.tls, err = auth.SelfSigned(c.TLSGenerate, []string{host}, log)
		if err == nil {
			log.Info("self-signed certificate", "file", d.tls.Path(), "sha256", d.tls.Fingerprint())
		}
	}
	if err != nil {
		return nil, errors.Join(err, d.close())
	}
	if d.tls == nil && auth.CheckListener(auth.NoAuth{}, d.listener.Addr(), false) != nil {
		log.Warn("clients on other machines send their credentials and data in the clear: configure TLS, or put it in front", "address", d.address())
	}
	return d, nil
}

// address is what clients connect to.
func (d *door) address() string {
	a := d.listener.Addr()
	switch {
	case a.Network() == "unix":
		return "grpc+unix://" + a.String()
	case d.tls != nil:
		return "grpc+tls://" + a.String()
	}
	return "grpc://" + a.String()
}

// close gives the addresses back; a server that ran has closed them already.
func (d *door) close() error {
	err := d.listener.Close()
	if d.http != nil {
		err = errors.Join(err, d.http.Close())
	}
	return err
}

// resultsDir keeps polled results where the next process of the server finds them; empty is a private folder among the system's temporary files.
func (c *Config) resultsDir() string {
	if c.TempDir == "" {
		return ""
	}
	return filepath.Join(c.TempDir, "results")
}

// spoolBytes is the checked SpoolQuota.
func (c *Config) spoolBytes() int64 {
	n, _ := parseBytes(c.SpoolQuota) // check() has parsed it
	return n
}
