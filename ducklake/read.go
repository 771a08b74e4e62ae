package ducklake

import (
	"context"
	"errors"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/vegadb/vega-flight/ducklake/duck"
	"github.com/vegadb/vega-flight/ducklake/gate"
	"github.com/vegadb/vega-flight/fault"
)

// Query runs an admitted statement that gives rows. ctx ends the statement, also while its stream is read.
func (s *Session) Query(ctx context.Context, a *gate.Analysis, args ...any) (*Stream, error) {
	if !a.ReadOnly && !a.Returns() {
		return nil, fault.InvalidParameter.Newf("a %s statement gives no rows", a.Kind)
	}
	ctx, leave, err := s.enter(ctx)
	if err != nil {
		return nil, err
	}
	st, err := s.query(ctx, a, args, leave)
	if err != nil {
		err = stopped(ctx, err)
		leave()
		return nil, err
	}
	return st, nil
}

func (s *Session) query(ctx context.Context, a *gate.Analysis, args []any, leave func()) (*Stream, error) {
	s.mu.Lock()
	full := len(s.streams) >= s.config.Streams
	s.mu.Unlock()
	if full {
		return nil, fault.QuotaExceeded.Newf("the session has %d open results, the most it may have", s.config.Streams).
			WithHint("close results that are not read")
	}
	tx, err := s.current()
	if err != nil {
		return nil, err
	}
	if s.needsOwn(tx, a) {
		return s.queryOwn(ctx, a, args, leave)
	}
	c, err := s.lake.pool.take(ctx, s.Settings())
	if err != nil {
		return nil, s.lake.check(err)
	}
	r, err := c.Query(ctx, a.SQL, args...)
	if err != nil {
		s.lake.pool.give(c)
		return nil, s.lake.check(err)
	}
	return s.stream(ctx, r, leave, func() { s.lake.pool.give(c) }, false), nil
}

// needsOwn says whether a statement must run on the session's own connection.
func (s *Session) needsOwn(tx *transaction, a *gate.Analysis) bool {
	if a.TouchesTemp || !a.ReadOnly {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return tx != nil && (tx.wrote || s.options.isolation == isolationSnapshot)
}

func (s *Session) queryOwn(ctx context.Context, a *gate.Analysis, args []any, leave func()) (*Stream, error) {
	if err := s.take(ctx); err != nil {
		return nil, err
	}
	defer s.give()
	tx, err := s.current() // another statement may have moved it
	if err != nil {
		return nil, err
	}
	c, err := s.private(ctx)
	if err != nil {
		return nil, err
	}
	if tx != nil && (s.pinned() || !a.ReadOnly) {
		if err := s.begin(ctx, tx, c); err != nil {
			return nil, err
		}
	}
	if tx == nil && writesLake(a) {
		w := s.lake.beginWrite(written(a)...)
		st, err := s.queryWriting(ctx, c, a, args, leave)
		w.end(err)
		return st, err
	}
	var w *write
	if writesLake(a) {
		w = s.lake.beginWrite(written(a)...)
	}
	r, err := c.Query(ctx, a.SQL, args...)
	s.join(tx, w, err)
	if err != nil {
		s.broke(ctx, tx, c, err)
		return nil, s.lake.check(err)
	}
	if tx != nil && writesLake(a) {
		s.mu.Lock()
		tx.wrote = true
		s.mu.Unlock()
	}
	return s.stream(ctx, r, leave, func() {}, true), nil
}

// queryWriting runs a statement that gives rows and writes the lake, such as EXPLAIN ANALYZE of a change, in a transaction of its own. The
// rows go to disk before it is committed. The caller holds the turn.
func (s *Session) queryWriting(ctx context.Context, c *connection, a *gate.Analysis, args []any, leave func()) (*Stream, error) {
	if err := s.lake.begin(ctx, c); err != nil {
		return nil, err
	}
	r, err := c.Query(ctx, a.SQL, args...)
	if err != nil {
		return nil, errors.Join(s.lake.check(err), s.rollback(ctx, c))
	}
	st := s.stream(ctx, r, leave, func() {}, true)
	if err := errors.Join(st.putAside(ctx), st.Err()); err != nil {
		return nil, errors.Join(err, st.Close(), s.rollback(ctx, c))
	}
	if err := s.lake.commitWrite(ctx, c); err != nil {
		return nil, errors.Join(err, st.Close(), s.rollback(ctx, c))
	}
	return st, nil
}

func (s *Session) pinned() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.options.isolation == isolationSnapshot
}

// stream makes a result a stream that the session knows until it is closed. own says that it occupies the session's
// own connection.
func (s *Session) stream(ctx context.Context, r *duck.Reader, leave, free func(), own bool) *Stream {
	var st *Stream
	st = s.lake.newStream(ctx, r,
		func(err error) {
			s.mu.Lock()
			if s.open == st {
				s.open = nil
				// An error while rows are computed ends DuckDB's transaction.
				if err != nil && s.tx != nil && s.tx.begun && s.tx.failed == nil {
					s.tx.failed = err
				}
			}
			s.mu.Unlock()
			free()
		},
		func() {
			s.mu.Lock()
			delete(s.streams, st)
			s.mu.Unlock()
			leave()
		})
	s.mu.Lock()
	s.streams[st] = struct{}{}
	if own {
		s.open = st
	}
	closed := s.closed
	s.mu.Unlock()
	if closed { // Close has looked at the streams before this one was there
		_ = st.Close()
	}
	return st
}

// Description is what a statement takes and gives, as DuckDB prepares it.
type Description struct {
	Schema *arrow.Schema // exactly what its Stream has; nil while a column's type depends on a parameter
	Params []duck.Param
}

// Describe prepares an admitted statement without running it.
func (s *Session) Describe(ctx context.Context, a *gate.Analysis) (Description, error) {
	ctx, leave, err := s.enter(ctx)
	if err != nil {
		return Description{}, err
	}
	defer leave()
	d, err := s.describe(ctx, a)
	return d, stopped(ctx, err)
}

func (s *Session) describe(ctx context.Context, a *gate.Analysis) (Description, error) {
	tx, err := s.current()
	if err != nil {
		return Description{}, err
	}
	if s.needsOwn(tx, a) && (a.TouchesTemp || tx != nil) {
		if err := s.take(ctx); err != nil {
			return Description{}, err
		}
		defer s.give()
		c, err := s.private(ctx)
		if err != nil {
			return Description{}, err
		}
		d, err := prepare(ctx, c, a)
		s.broke(ctx, tx, c, err)
		return d, s.lake.check(err)
	}
	c, err := s.lake.pool.take(ctx, s.Settings())
	if err != nil {
		return Description{}, s.lake.check(err)
	}
	defer s.lake.pool.give(c)
	d, err := prepare(ctx, c, a)
	return d, s.lake.check(err)
}

func prepare(ctx context.Context, c *connection, a *gate.Analysis) (Description, error) {
	stmt, err := c.Prepare(ctx, a.SQL)
	if err != nil {
		return Description{}, err
	}
	defer stmt.Close()
	d := Description{Params: stmt.Params()}
	if d.Schema, err = stmt.Schema(); errors.Is(err, duck.ErrUnresolved) {
		return d, nil
	}
	return d, err
}
