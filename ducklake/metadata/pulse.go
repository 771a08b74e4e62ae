package metadata

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/vegadb/vega-flight/fault"
)

// pulseEvery is a variable for tests.
var pulseEvery = time.Second

const (
	// silence is how many ticks the server may take to answer the smallest question. Ticks are counted, not time: a process that was stopped
	// itself, as by a sleeping machine, has not listened.
	silence = 15
	// connectWait bounds how long a new connection may take.
	connectWait = 10 * time.Second
)

// pulse asks the PostgreSQL server now and then whether it is there. One that keeps its connections and does not answer on them, a frozen one
// or one behind a way that goes nowhere, would else hold up who waits for it for ever: DuckDB's scanner cannot be interrupted. While it is
// silent, all connections to it are cut, DuckDB's too, so that who waits is told so, and new questions are refused at once.
type pulse struct {
	config *pgx.ConnConfig
	silent atomic.Bool
	stop   context.CancelFunc
	work   sync.WaitGroup

	mu    sync.Mutex
	peers map[string]bool // addresses of the server that were reached
	own   uint64          // the socket that is asked on
}

// askedOn are the sockets that all pulses of the process ask on: none cuts another one's.
var askedOn sync.Map

type asking struct{}

// watch makes the connections of a configuration known to a pulse.
func watch(config *pgx.ConnConfig) *pulse {
	p := &pulse{peers: map[string]bool{}, stop: func() {}}
	dial, ask := config.DialFunc, &net.Dialer{Control: p.asksOn}
	config.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		dial := dial
		if ctx.Value(asking{}) != nil {
			dial = ask.DialContext
		}
		c, err := dial(ctx, network, address)
		if err == nil {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.peers[c.RemoteAddr().String()] = true
		}
		return c, err
	}
	p.config = config.Copy()
	p.config.ConnectTimeout = 0 // ticks are counted
	return p
}

// asksOn notes the socket that is asked on from now on, before it is connected: all that are connected may be cut at any moment.
func (p *pulse) asksOn(_, _ string, c syscall.RawConn) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	askedOn.Delete(p.own)
	p.own = socketOf(c)
	askedOn.Store(p.own, true)
	return nil
}

func (p *pulse) start() {
	ctx, stop := context.WithCancel(context.Background())
	p.stop = stop
	p.work.Add(1)
	go p.beat(ctx, pulseEvery)
}

func (p *pulse) close() {
	p.stop()
	p.work.Wait()
	askedOn.Delete(p.own)
}

// lost is why nothing is asked while the server is silent.
func (p *pulse) lost() error {
	if p.silent.Load() {
		return fault.CatalogGone.Newf("the PostgreSQL catalog does not answer").WithHint("see what holds it up; the server goes on when it answers")
	}
	return nil
}

// beat asks at every tick, when the question before is answered.
func (p *pulse) beat(ctx context.Context, every time.Duration) {
	defer p.work.Done()
	tick := time.NewTicker(every)
	defer tick.Stop()
	var q *question
	var conn *pgx.Conn // that the last question came back on
	unheard := 0       // ticks since the server was heard of
	for {
		var answered chan struct{}
		if q != nil {
			answered = q.done
		}
		select {
		case <-ctx.Done():
			if q != nil {
				q.giveUp()
				conn = q.conn
			}
			if conn != nil {
				p.hangUp(conn)
			}
			return
		case <-answered:
			var network net.Error
			if errors.As(q.err, &network) && network.Timeout() {
				conn, q = nil, nil // it is asked again at the next tick
				continue
			}
			conn, q, unheard = q.conn, nil, 0
			p.silent.Store(false) // another error is an answer: others get it too
		case <-tick.C:
			unheard++
			if q != nil && unheard > silence && unheard%silence == 1 { // another way may be open
				q.giveUp()
				if q.conn != nil {
					p.hangUp(q.conn)
				}
				conn, q = nil, nil
			}
			if q == nil {
				q = p.ask(ctx, conn)
			}
			if unheard > silence {
				p.silent.Store(true)
				p.sever()
			}
		}
	}
}

// question is one that is on its way.
type question struct {
	stop context.CancelFunc
	done chan struct{}
	conn *pgx.Conn // after done: what it was asked on, nil if that is of no use
	err  error     // after done
}

func (p *pulse) ask(ctx context.Context, conn *pgx.Conn) *question {
	ctx, stop := context.WithCancel(ctx)
	q := &question{stop: stop, done: make(chan struct{}), conn: conn}
	p.work.Add(1)
	go p.put(ctx, q)
	return q
}

func (q *question) giveUp() {
	q.stop()
	<-q.done
}

func (p *pulse) put(ctx context.Context, q *question) {
	defer p.work.Done()
	defer close(q.done)
	defer q.stop()
	if q.conn == nil || q.conn.IsClosed() {
		if q.conn, q.err = pgx.ConnectConfig(context.WithValue(ctx, asking{}, true), p.config); q.err != nil {
			q.conn = nil
			return
		}
	}
	if _, q.err = q.conn.Exec(ctx, "SELECT 1"); q.err != nil {
		p.hangUp(q.conn)
		q.conn = nil
	}
}

// hangUp ends a connection without waiting for the server.
func (p *pulse) hangUp(c *pgx.Conn) {
	ctx, stop := context.WithCancel(context.Background())
	stop()
	_ = c.Close(ctx)
}

// sever cuts all connections to the server but the pulse's own.
func (p *pulse) sever() {
	p.mu.Lock()
	defer p.mu.Unlock()
	sever(func(peer string, socket uint64) bool {
		_, asks := askedOn.Load(socket)
		return p.peers[peer] && !asks
	})
}
