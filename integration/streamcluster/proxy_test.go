package streamcluster

import (
	"errors"
	"io"
	"net"
	"net/url"
	"sync"
	"testing"
)

// proxy is the way to a PostgreSQL server. It can be cut, and it can go nowhere.
type proxy struct {
	t    *testing.T
	to   string
	at   net.Listener
	done sync.WaitGroup

	mu    sync.Mutex
	moved *sync.Cond // stuck or cut has changed
	cut   bool
	stuck bool // nothing passes, and nobody is told
	conns map[net.Conn]bool
}

// through gives a way to the server of a DSN, and the DSN that goes it.
func through(t *testing.T, dsn string) (*proxy, string) {
	t.Helper()
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{t: t, to: u.Host, at: l, conns: map[net.Conn]bool{}}
	p.moved = sync.NewCond(&p.mu)
	p.done.Go(p.accept)
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		p.let(false)
		p.done.Wait()
	})
	u.Host = l.Addr().String()
	return p, u.String()
}

func (p *proxy) accept() {
	for {
		c, err := p.at.Accept()
		if err != nil {
			if !errors.Is(err, net.ErrClosed) {
				p.t.Error(err)
			}
			return
		}
		p.done.Go(func() { p.serve(c) })
	}
}

// serve passes on what comes, either way, until one of the two ends.
func (p *proxy) serve(c net.Conn) {
	if !p.passes() {
		_ = c.Close()
		return
	}
	s, err := net.Dial("tcp", p.to)
	if err != nil || !p.keep(c, s) {
		_ = c.Close()
		return
	}
	var both sync.WaitGroup
	for _, way := range [][2]net.Conn{{c, s}, {s, c}} {
		both.Go(func() {
			_, _ = io.Copy(gate{p, way[0]}, way[1])
			_, _ = way[0].Close(), way[1].Close()
		})
	}
	both.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, c)
	delete(p.conns, s)
}

// keep notes connections, unless the way is cut.
func (p *proxy) keep(conns ...net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range conns {
		if p.cut {
			_ = c.Close()
		} else {
			p.conns[c] = true
		}
	}
	return !p.cut
}

// passes waits while the way goes nowhere; false: it was cut.
func (p *proxy) passes() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.stuck && !p.cut {
		p.moved.Wait()
	}
	return !p.cut
}

// gate is one way of a connection.
type gate struct {
	p  *proxy
	to net.Conn
}

func (g gate) Write(b []byte) (int, error) {
	if !g.p.passes() {
		return 0, net.ErrClosed
	}
	return g.to.Write(b)
}

// freeze lets nothing pass any more, and nobody know, until the returned function is called.
func (p *proxy) freeze() (thaw func()) {
	set := func(stuck bool) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.stuck = stuck
		p.moved.Broadcast()
	}
	set(true)
	return func() { set(false) }
}

// let opens the way, or cuts it with all that is on it.
func (p *proxy) let(open bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.moved.Broadcast()
	if p.cut = !open; p.cut {
		for c := range p.conns {
			_ = c.Close()
		}
	}
}
