package flightsql

import (
	"context"
	"errors"

	"github.com/vegadb/vega-flight/ducklake/duck"
	"github.com/vegadb/vega-flight/ducklake/gate"
)

// many runs a statement for rows of parameters, for several at once where it can be written so.
type many struct {
	x     *execution
	a     *gate.Analysis
	rows  *gate.Rows // nil: one by one
	args  []any      // of the rows that wait
	n     int
	total int64
}

func (x *execution) many(a *gate.Analysis) *many { return &many{x: x, a: a, rows: a.Rows()} }

// add runs the statement for a row, at the latest with flush.
func (m *many) add(ctx context.Context, args []any) error {
	if m.rows == nil {
		return m.run(ctx, m.a, args)
	}
	m.args = append(m.args, args...)
	if m.n++; m.n < m.rows.Most() {
		return nil
	}
	return m.flush(ctx)
}

// flush runs it for the rows that wait.
func (m *many) flush(ctx context.Context) error {
	if m.n == 0 {
		return nil
	}
	args, n := m.args, m.n
	m.args, m.n = m.args[:0], 0
	err := m.run(ctx, m.rows.For(n), args)
	var d *duck.Error
	if n > 1 && errors.As(err, &d) { // where in the text it is means nothing in the client's
		d.Elsewhere()
	}
	return err
}

func (m *many) run(ctx context.Context, a *gate.Analysis, args []any) error {
	n, err := m.x.sess.lake.Exec(ctx, a, args...)
	m.total += n
	return err
}
