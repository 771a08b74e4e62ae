package sidecar

import (
	"bytes"
	"context"
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/hashicorp/go-hclog"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/vegadb/vega-flight/integration/process"
	"github.com/vegadb/vega-flight/plugin"
)

// lines keeps what a host's logger was given.
type lines struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.String()
}

// options are those of a sidecar over a new lake. Its log lines are shown when the test fails.
func options(t *testing.T, lake ...string) (plugin.Options, *lines) {
	t.Helper()
	log := &lines{}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(log.String())
		}
	})
	o := plugin.Options{
		Binary: process.Binary(t), Environment: []string{"VEGA_EXTENSION_DIR=" + process.ExtensionDir(t)},
		Log:  hclog.New(&hclog.LoggerOptions{Name: "host", Level: hclog.Info, Output: log}),
		Lake: map[string]string{"lake": filepath.Join(t.TempDir(), "lake")},
	}
	for i := 0; i < len(lake); i += 2 {
		o.Lake[lake[i]] = lake[i+1]
	}
	return o, log
}

// start launches a sidecar, which ends with the test.
func start(t *testing.T, o plugin.Options) *plugin.Sidecar {
	t.Helper()
	s, err := plugin.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Kill)
	return s
}

func client(s *plugin.Sidecar) *process.Client { return &process.Client{Client: s.Session()} }

// supervise keeps a sidecar running as long as the test.
func supervise(t *testing.T, o plugin.Options) *plugin.Supervisor {
	t.Helper()
	s := plugin.Supervise(o)
	t.Cleanup(func() {
		if err := s.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return s
}

// now is the sidecar that there is, and a session on it.
func now(t *testing.T, s *plugin.Supervisor) (*plugin.Sidecar, *process.Client) {
	t.Helper()
	of, err := s.Sidecar(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return of, client(of)
}

// gone says that an error is that of a sidecar that ended meanwhile.
func gone(err error) bool {
	switch status.Code(err) {
	case codes.Unavailable, codes.Canceled:
		return true
	}
	return errors.Is(err, context.Canceled)
}

// same waits until a view is what its query gives.
func same(t *testing.T, c *process.Client, view, query string) {
	t.Helper()
	count := "SELECT count(*) FROM ((FROM " + view + " EXCEPT ALL (" + query + ")) UNION ALL ((" + query + ") EXCEPT ALL FROM " + view + "))"
	n := ""
	process.Until(t, view+" is right", func() bool { n = c.Value(t, count); return n == "0" }, func() any { return n })
}

// command runs a program to its end and gives what it printed on both outputs.
func command(t *testing.T, env []string, name string, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	var out, bad strings.Builder
	c := exec.CommandContext(t.Context(), name, args...)
	c.Env, c.Stdout, c.Stderr = append(c.Environ(), env...), &out, &bad
	err = c.Run()
	return out.String(), bad.String(), err
}
