package main

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

func TestHealthAndReadiness(t *testing.T) {
	l, err := listenTCP("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var failed, short atomic.Bool
	o := newOperator(l, newMetrics().registry, func() error {
		if failed.Load() {
			return errors.New("an inner secret")
		}
		return nil
	}, func() error {
		if short.Load() {
			return errors.New("short of memory")
		}
		return nil
	})
	ctx, stop := context.WithCancel(context.Background())
	var group sync.WaitGroup
	group.Go(func() {
		if err := o.Serve(ctx); err != nil {
			t.Error(err)
		}
	})
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	says := func(path string, want int) string {
		t.Helper()
		r, err := client.Get(o.url() + path)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		text, err := io.ReadAll(r.Body)
		if err != nil || r.StatusCode != want || strings.Contains(string(text), "secret") {
			t.Errorf("%s: %d %s %v, want %d", path, r.StatusCode, text, err, want)
		}
		return string(text)
	}
	says("/healthz", http.StatusOK)
	says("/readyz", http.StatusServiceUnavailable) // not yet
	o.ready.Store(true)
	says("/readyz", http.StatusOK)
	short.Store(true)
	says("/healthz", http.StatusOK)
	if text := says("/readyz", http.StatusServiceUnavailable); !strings.Contains(text, "short of memory") {
		t.Error("no reason:", text)
	}
	short.Store(false)
	says("/readyz", http.StatusOK)
	failed.Store(true)
	says("/healthz", http.StatusServiceUnavailable)
	says("/readyz", http.StatusServiceUnavailable)
	failed.Store(false)
	o.ready.Store(false) // draining
	says("/healthz", http.StatusOK)
	says("/readyz", http.StatusServiceUnavailable)
	says("/metrics", http.StatusOK)
	says("/debug/pprof/", http.StatusNotFound)
	stop()
	group.Wait()
}
