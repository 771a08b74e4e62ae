package dataflow

import (
	"context"

	"github.com/vegadb/vega-flight/ivm/row"
	"github.com/vegadb/vega-flight/ivm/zset"
)

// values is constant rows, which are there from the first step on.
//
//	d(V) = V in the first step, nothing later
type values struct {
	layout *row.Layout
	rows   []Program // each over a row of no columns
}

// NewValues makes one row of each program, which are given one row without columns.
func NewValues(layout *row.Layout, rows []Program) Loader { return &values{layout, rows} }

func (v *values) Layout() *row.Layout { return v.layout }

func (v *values) Cancels() bool { return false }

func (v *values) Step(ctx context.Context, e *Epoch, _ []*zset.Batch, out *zset.Batch) error {
	if !e.First {
		return nil
	}
	return v.Emit(ctx, e, out)
}

func (v *values) Load(context.Context, *Epoch, int, *zset.Batch) error { return nil }

func (v *values) Emit(ctx context.Context, e *Epoch, out *zset.Batch) error {
	one := zset.New(row.NewLayout())
	one.AppendRow(1)
	for _, p := range v.rows {
		if err := p.Run(ctx, one, out, func(i int, err error) { e.Fail(one, i, err) }); err != nil {
			return err
		}
	}
	return nil
}
