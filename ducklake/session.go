package ducklake

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/vegadb/vega-flight/ducklake/duck"
	"github.com/vegadb/vega-flight/ducklake/gate"
	"github.com/vegadb/vega-flight/fault"
)

// SessionConfig says whose session it is and what bounds it.
type SessionConfig struct {
	Principal string
	Admin     bool
	// Settings are the first ones; the zero value is the lake's main schema and UTC.
	Settings ConnSettings
	// StatementTimeout bounds every statement; the session may choose a shorter limit. 0 is none.
	StatementTimeout time.Duration
	// Streams bounds the open results; 0 is 64.
	Streams int
}

// Session is one client's SQL session: settings, temporary objects, a transaction. Its methods may be called from
// several goroutines. Reads that depend on nothing but the settings run at the same time, each on a pooled
// connection; what needs the session's own connection takes turns.
type Session struct {
	lake   *Lake
	config SessionConfig
	gate   *gate.Session
	ctx    context.Context // ends with the session
	cancel context.CancelFunc

	// turn is held by who uses the own connection or moves the transaction.
	turn chan struct{}
	own  *connection // made when it is first needed; used by the holder of turn

	mu      sync.Mutex
	closed  bool
	options options
	tx      *transaction
	open    *Stream // the unfinished result on own
	streams map[*Stream]struct{}
	running sync.WaitGroup // statements, and streams until they are closed
}

// NewSession opens a session. It costs no connection before it needs one of its own.
func (l *Lake) NewSession(ctx context.Context, c SessionConfig) (*Session, error) {
	if c.Streams == 0 {
		c.Streams = 64
	}
	g, err := l.gate.NewSession()
	if err != nil {
		return nil, err
	}
	s := &Session{
		lake: l, config: c, gate: g,
		turn:    make(chan struct{}, 1),
		streams: map[*Stream]struct{}{},
		options: options{settings: l.complete(c.Settings), isolation: isolationNewest},
	}
	s.ctx, s.cancel = context.WithCancel(context.WithoutCancel(ctx))
	return s, nil
}

// Beside opens a session with the settings that this one has now, and without its temporary objects: for a transaction that is a single
// call's own, which the session's other statements have no part in.
func (s *Session) Beside(ctx context.Context) (*Session, error) {
	other, err := s.lake.NewSession(ctx, s.config)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	other.options = s.options
	return other, nil
}

// Lake is the lake of the session.
func (s *Session) Lake() *Lake { return s.lake }

// Analyze admits a text of one statement, and says what it reads and writes and what it gives.
func (s *Session) Analyze(ctx context.Context, sql string) (*gate.Analysis, error) {
	if err := s.lake.gate.Sync(ctx, s.lake); err != nil {
		return nil, s.lake.check(err)
	}
	a, err := s.gate.Analyze(ctx, sql, s.env())
	return a, s.lake.check(err)
}

// Bind makes a view's query independent of the session.
func (s *Session) Bind(ctx context.Context, query string) (*gate.Bound, error) {
	if err := s.lake.gate.Sync(ctx, s.lake); err != nil {
		return nil, s.lake.check(err)
	}
	return s.gate.Bind(ctx, query, s.env())
}

func (s *Session) env() gate.Env {
	at := s.Settings()
	return gate.Env{Catalog: at.Catalog, Schema: at.Schema, TimeZone: at.TimeZone, Admin: s.config.Admin}
}

// enter starts a statement: Close waits for it, and the time limit runs. leave must be called when all of it is over.
func (s *Session) enter(ctx context.Context) (_ context.Context, leave func(), _ error) {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil, nil, fault.SessionNotFound.Newf("the session is closed")
	}
	s.running.Add(1)
	limit := s.limit()
	s.mu.Unlock()

	ctx, cancel := context.WithCancelCause(ctx)
	unhook := context.AfterFunc(s.ctx, func() { cancel(context.Canceled) })
	unlimit := func() {}
	if limit > 0 {
		timer := time.AfterFunc(limit, func() { cancel(errTimeLimit) })
		unlimit = func() { timer.Stop() }
	}
	unpin := s.lake.pin()
	unwatch := s.lake.memory.enter(cancel)
	return ctx, sync.OnceFunc(func() {
		unpin()
		unwatch()
		unlimit()
		unhook()
		cancel(nil)
		s.running.Done()
	}), nil
}

// limit is the shorter of the server's and the session's time limit. The caller holds mu.
func (s *Session) limit() time.Duration {
	server, own := s.config.StatementTimeout, s.options.timeout
	if server == 0 || own != 0 && own < server {
		return own
	}
	return server
}

// take waits for the turn.
func (s *Session) take(ctx context.Context) error {
	select {
	case s.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-s.ctx.Done():
		return fault.SessionNotFound.Newf("the session is closed")
	}
}

func (s *Session) give() { <-s.turn }

// private is the session's own connection, with its settings and without an open result. The caller holds the turn.
func (s *Session) private(ctx context.Context) (*connection, error) {
	s.mu.Lock()
	open := s.open
	s.mu.Unlock()
	if open != nil {
		if err := open.putAside(ctx); err != nil {
			return nil, err
		}
	}
	if s.own == nil {
		raw, err := s.lake.db.Connect()
		if err != nil {
			return nil, s.lake.check(err)
		}
		s.own = &connection{Conn: raw}
	}
	if err := s.settle(ctx); err != nil {
		return nil, err
	}
	if err := s.own.apply(ctx, s.Settings()); err != nil {
		return nil, s.lake.check(err)
	}
	return s.own, nil
}

// settle ends a transaction whose own end failed. The caller holds the turn.
func (s *Session) settle(ctx context.Context) error {
	s.mu.Lock()
	open := s.tx != nil && s.tx.begun
	s.mu.Unlock()
	if open || !s.own.InTransaction() {
		return nil
	}
	return s.rollback(ctx, s.own)
}

// WithConn runs f with the session's own connection: temporary objects and an open transaction are visible. What f
// runs is the server's own SQL.
func (s *Session) WithConn(ctx context.Context, f func(*duck.Conn) error) error {
	ctx, leave, err := s.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	return stopped(ctx, s.withOwn(ctx, f))
}

func (s *Session) withOwn(ctx context.Context, f func(*duck.Conn) error) error {
	if err := s.take(ctx); err != nil {
		return err
	}
	defer s.give()
	c, err := s.private(ctx)
	if err != nil {
		return err
	}
	return s.lake.check(f(c.Conn))
}

// Close stops the session's work, rolls its transaction back and drops its temporary objects.
func (s *Session) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	streams := make([]*Stream, 0, len(s.streams))
	for st := range s.streams {
		streams = append(streams, st)
	}
	s.mu.Unlock()

	s.cancel()
	var errs []error
	for _, st := range streams {
		errs = append(errs, st.Close())
	}
	s.running.Wait()
	s.turn <- struct{}{} // for good: nothing of the session runs any more
	if s.own != nil {
		// Its end rolls back what is open on it.
		errs = append(errs, s.own.Close())
	}
	if s.tx != nil {
		s.tx.over()
	}
	errs = append(errs, s.gate.Close())
	return errors.Join(errs...)
}
