package ducklake

import (
	"context"
	"errors"

	"github.com/vegadb/vega-flight/ducklake/duck"
	"github.com/vegadb/vega-flight/ducklake/gate"
)

// Many runs a change for rows of arguments in the session's open transaction: for several at once where that comes to the same, otherwise one
// after the other by a statement that stays prepared. One goroutine uses it.
type Many struct {
	s     *Session
	a     *gate.Analysis
	rows  *gate.Rows // nil: one by one
	size  int        // how many rows are tried at once
	args  []any      // of the rows that wait
	n     int        // how many those are
	texts []bool     // which arguments of a row are texts
	stmt  *duck.Stmt
	total int64
}

// Many begins to run an admitted statement; Close must be called.
func (s *Session) Many(a *gate.Analysis) *Many {
	m := &Many{s: s, a: a, rows: a.Rows()}
	if m.rows != nil {
		m.size = m.rows.Most()
	}
	return m
}

// Total is how many rows were changed.
func (m *Many) Total() int64 { return m.total }

// Add runs the statement for a row, at the latest with Flush.
func (m *Many) Add(ctx context.Context, args []any) error {
	if m.rows == nil {
		return m.one(ctx, args)
	}
	if m.n == 0 {
		m.texts = m.texts[:0]
		for _, arg := range args {
			m.texts = append(m.texts, duck.Text(arg))
		}
		if !m.rows.Takes(m.texts) {
			m.rows = nil
			return m.one(ctx, args)
		}
	}
	m.args = append(m.args, args...)
	if m.n++; m.n < m.rows.Most() {
		return nil
	}
	return m.Flush(ctx)
}

// Flush runs it for the rows that wait. It must be called before their arguments are gone.
func (m *Many) Flush(ctx context.Context) error {
	args, n := m.args, m.n
	m.args, m.n = m.args[:0], 0
	if n == 0 {
		return nil
	}
	width := len(args) / n
	for n > 0 && m.rows != nil {
		k, err := m.together(ctx, args, min(n, m.size))
		if err != nil {
			return err
		}
		args, n = args[k*width:], n-k
	}
	for ; n > 0; n-- {
		if err := m.one(ctx, args[:width]); err != nil {
			return err
		}
		args = args[width:]
	}
	return nil
}

// together runs it for as many of the first n rows as it can at once, and says for how many.
func (m *Many) together(ctx context.Context, args []any, n int) (int, error) {
	if n == 1 {
		m.size = 2 // the next ones may be two that do not meet
		return 1, m.one(ctx, args[:len(m.a.Params)])
	}
	k := n
	if q := m.rows.Clash(n, m.texts); q != nil {
		first, err := m.clash(ctx, q, args[:n*len(m.a.Params)])
		if err != nil {
			return 0, m.alone(err)
		}
		if first > 0 {
			k = first
		}
	}
	switch {
	case k == 1:
		m.size = 2
		return 1, m.one(ctx, args[:len(m.a.Params)])
	case k < n:
		m.size = k
	default:
		m.size = min(2*m.size, m.rows.Most())
	}
	changed, err := m.s.Exec(ctx, m.rows.For(k, m.texts), args[:k*len(m.a.Params)]...)
	if err != nil {
		return 0, m.alone(err)
	}
	m.total += changed
	return k, nil
}

// alone gives up running several rows at once where DuckDB does not take the statement for them, and nothing was done.
func (m *Many) alone(err error) error {
	var d *duck.Error
	if !errors.As(err, &d) {
		return err
	}
	if _, failed := m.s.current(); failed == nil && harmless[d.Type] {
		m.rows = nil
		return nil
	}
	d.Elsewhere() // where in the text it is means nothing in the client's
	return err
}

// clash asks for the first row that meets what an earlier one changes; 0 is none.
func (m *Many) clash(ctx context.Context, q *gate.Analysis, args []any) (first int, err error) {
	_, err = m.inTransaction(ctx, func(ctx context.Context, c *duck.Conn) (int64, error) {
		rows, err := c.Rows(ctx, q.SQL, args...)
		if err == nil && rows[0][0] != nil {
			first = int(rows[0][0].(int64))
		}
		return 0, err
	})
	return first, err
}

// one runs the statement for one row.
func (m *Many) one(ctx context.Context, args []any) error {
	n, err := m.s.execOne(ctx, m, args)
	m.total += n
	return err
}

func (s *Session) execOne(ctx context.Context, m *Many, args []any) (int64, error) {
	if !m.a.Kind.DML() || m.a.TouchesTemp || m.a.ReadOnly || m.a.Effect != nil || m.a.Returns() {
		return s.Exec(ctx, m.a, args...)
	}
	return m.inTransaction(ctx, func(ctx context.Context, c *duck.Conn) (_ int64, err error) {
		if m.stmt == nil {
			if m.stmt, err = c.Prepare(ctx, m.a.SQL); err != nil {
				return 0, err
			}
		}
		return m.stmt.Exec(ctx, args...)
	})
}

// inTransaction runs a part of the work in the session's transaction.
func (m *Many) inTransaction(ctx context.Context, run func(context.Context, *duck.Conn) (int64, error)) (int64, error) {
	s := m.s
	ctx, leave, err := s.enter(ctx)
	if err != nil {
		return 0, err
	}
	defer leave()
	tx, err := s.current()
	if err != nil {
		return 0, err
	}
	n, err := s.writing(tx, written(m.a), func() (int64, error) {
		return s.inTransaction(ctx, func(c *duck.Conn) (int64, error) { return run(ctx, c) })
	})
	return n, stopped(ctx, err)
}

// Close lets the statement go.
func (m *Many) Close() error {
	if m.stmt == nil {
		return nil
	}
	return m.stmt.Close()
}
