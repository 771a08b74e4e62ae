package duck

import (
	"context"
	"sync"
)

// Gauge shows the progress of the statement that runs under its context, for
// callers that do not hold the connection. It may be read from any goroutine.
type Gauge struct {
	mu   sync.Mutex
	conn *Conn // nil while nothing runs
}

type gaugeKey struct{}

// WithGauge returns a context whose statements the gauge follows.
func WithGauge(ctx context.Context, g *Gauge) context.Context {
	return context.WithValue(ctx, gaugeKey{}, g)
}

// Progress is that of the running statement; ok is false while nothing runs.
func (g *Gauge) Progress() (p Progress, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.conn == nil {
		return Progress{Percent: -1}, false
	}
	return g.conn.Progress(), true
}

// follow shows c until the returned function is called.
func (g *Gauge) follow(c *Conn) (stop func()) {
	g.set(c)
	return func() { g.set(nil) }
}

func (g *Gauge) set(c *Conn) {
	g.mu.Lock()
	g.conn = c
	g.mu.Unlock()
}
