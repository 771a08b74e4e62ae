package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/vegadb/vega-flight/fault"
)

// operator is the HTTP service for an operator's tools: figures and health.
// It has no secrets and takes no input.
type operator struct {
	server *http.Server
	l      net.Listener
	ready  atomic.Bool
	live   func() error // what makes the process unfit to live, such as a poisoned DuckDB instance
	takes  func() error // why it should get no work for now, in words for everybody
}

// newOperator is for requests that come to l; Serve answers them.
func newOperator(l net.Listener, figures prometheus.Gatherer, live, takes func() error) *operator {
	o := &operator{l: l, live: live, takes: takes}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(figures, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /healthz", o.health)
	mux.HandleFunc("GET /readyz", o.readiness)
	o.server = &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: time.Minute}
	return o
}

func (o *operator) url() string { return "http://" + o.l.Addr().String() }

// Serve answers until ctx ends.
func (o *operator) Serve(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() { _ = o.server.Close() }) // its requests are short; none is worth waiting for
	defer stop()
	if err := o.server.Serve(o.l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func (o *operator) health(w http.ResponseWriter, _ *http.Request) {
	if err := o.live(); err != nil {
		slog.Error("unhealthy", "error", err)
		http.Error(w, "unhealthy: see the log", http.StatusServiceUnavailable)
		return
	}
	fmt.Fprintln(w, "ok")
}

func (o *operator) readiness(w http.ResponseWriter, r *http.Request) {
	if !o.ready.Load() {
		http.Error(w, "not ready", http.StatusServiceUnavailable)
		return
	}
	if err := o.takes(); err != nil {
		http.Error(w, "not ready: "+err.Error(), http.StatusServiceUnavailable)
		return
	}
	o.health(w, r)
}

// listenTCP names the address and what to do when it is taken.
func listenTCP(addr string) (net.Listener, error) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fault.PortTaken.Wrap(err, "cannot listen on %s", addr).
			WithHint("stop what uses the address, or choose another; port 0 picks a free one")
	}
	return l, nil
}
