package ducklake

import (
	"context"
	"errors"
	"sync"

	"github.com/vegadb/vega-flight/ducklake/duck"
	"github.com/vegadb/vega-flight/fault"
)

// idleConnections bounds how many connections are kept for the next statement.
const idleConnections = 16

// pool keeps connections that hold no state but their settings: nothing temporary, no transaction, no open result.
type pool struct {
	connect func() (*duck.Conn, error)
	settle  func(context.Context, *duck.Conn) error // ends a transaction that is left; tests replace it

	mu     sync.Mutex
	idle   []*connection
	out    int // given and not yet returned
	closed bool
}

// take gives a connection with the settings, one that has them already if there is one.
func (p *pool) take(ctx context.Context, want ConnSettings) (*connection, error) {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil, fault.CatalogGone.Newf("the lake is closed")
	}
	var c *connection
	pick := len(p.idle) - 1
	for i := pick; i >= 0; i-- {
		if p.idle[i].have == want {
			pick = i
			break
		}
	}
	if pick >= 0 {
		c = p.idle[pick]
		p.idle = append(p.idle[:pick], p.idle[pick+1:]...)
	}
	p.out++
	p.mu.Unlock()
	if c == nil {
		raw, err := p.connect()
		if err != nil {
			p.gone()
			return nil, err
		}
		c = &connection{Conn: raw}
	}
	if err := c.apply(ctx, want); err != nil {
		p.give(c)
		return nil, err
	}
	return c, nil
}

// give takes a connection back. A transaction that is left on it is ended, or the connection is.
func (p *pool) give(c *connection) {
	if err := p.settle(context.Background(), c.Conn); err != nil {
		p.spoil(c)
		return
	}
	p.mu.Lock()
	p.out--
	keep := !p.closed && len(p.idle) < idleConnections
	if keep {
		p.idle = append(p.idle, c)
	}
	p.mu.Unlock()
	if !keep {
		_ = c.Close()
	}
}

// spoil ends a connection whose state is not known.
func (p *pool) spoil(c *connection) {
	p.gone()
	_ = c.Close()
}

func (p *pool) gone() {
	p.mu.Lock()
	p.out--
	p.mu.Unlock()
}

// close ends the idle connections and says whether any is still out.
func (p *pool) close() error {
	p.mu.Lock()
	p.closed = true
	idle := p.idle
	p.idle = nil
	out := p.out
	p.mu.Unlock()
	var errs []error
	for _, c := range idle {
		errs = append(errs, c.Close())
	}
	if out > 0 {
		errs = append(errs, fault.InternalError.Newf("the lake is closed while %d of its connections are in use", out))
	}
	return errors.Join(errs...)
}
