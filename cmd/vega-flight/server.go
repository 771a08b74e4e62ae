package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/vegadb/vega-flight/ducklake"
	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/flightsql"
)

// server is an open lake with all that serves it.
type server struct {
	c      *Config
	door   *door
	line   *lifeline // nil: it serves whether it has users or not
	house  *house
	svc    *flightsql.Service
	flight *flightsql.Server
	log    *slog.Logger
}

// openServer opens the lake and what serves it at a door, which is closed after an error. Running work may go on as long as grace at the end.
func openServer(ctx context.Context, c *Config, door *door, line *lifeline, grace time.Duration, log *slog.Logger) (_ *server, err error) {
	s := &server{c: c, door: door, line: line, log: log}
	closing := context.WithoutCancel(ctx)
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close(closing), door.close())
		}
	}()
	figures := newMetrics()
	if s.house, err = openHouse(ctx, c, door.address(), figures, log); err != nil {
		return nil, err
	}
	h := s.house
	if err := withdraw(c); err != nil {
		return nil, err
	}
	h.users, _ = door.auth.(knower)
	figures.registry.MustRegister(newLakeFigures(h.lake.Store()), newStreamFigures(h))
	s.svc, err = flightsql.New(ctx, flightsql.Config{
		Lake: h.lake, Engine: h.engine, Log: log, Observe: figures, Version: version, SpoolDir: c.resultsDir(), Live: h.others(), Barred: h.barred,
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
		return nil, err
	}
	s.flight = flightsql.NewServer(s.svc, flightsql.ServerConfig{
		Auth: door.auth, TLS: door.tls, Insecure: c.Insecure, Reflection: true, Grace: grace, Log: log,
	})
	return s, nil
}

// close closes what is open. The door is closed by who serves there. A lake that was removed is left as it is, for the process to end with it:
// what closing it writes would go to whoever has made another lake of that name.
func (s *server) close(ctx context.Context) error {
	if s.house != nil && s.house.lake.Removed() {
		return fault.LakeUnreadable.Newf("the lake %s was removed while it was open", s.c.Lake).WithHint("stop the server before its lake is removed")
	}
	var err error
	if s.svc != nil {
		err = s.svc.Close(ctx)
	}
	if s.house != nil {
		err = errors.Join(err, s.house.close(ctx))
	}
	return err
}

// run serves, with what goes on beside it, until ctx ends and what runs is drained. It calls ready when clients are served. release, if there is
// one, gives signals back to the process's own handling: a second one then cuts running work off.
func (s *server) run(ctx context.Context, ready, release func()) error {
	c, h, door := s.c, s.house, s.door
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
	if s.line != nil {
		group.Go(func() { s.line.watch(beside, stop) })
	}
	if err := h.engine.Start(ctx); err != nil {
		return errors.Join(err, door.close())
	}
	if release != nil {
		signals := make(chan os.Signal, 2)
		signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
		group.Go(func() { forceOnSignal(beside, ctx, serving, signals, s.flight, release) })
	}
	if err := announce(c, door, op, s.log); err != nil {
		return errors.Join(err, door.close())
	}
	ready()
	if op != nil {
		op.ready.Store(true)
		context.AfterFunc(serving, func() { op.ready.Store(false) })
	}
	err := s.flight.Serve(serving, door.listeners()...)
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
