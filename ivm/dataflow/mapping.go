package dataflow

import (
	"context"

	"github.com/vegadb/vega-flight/ivm/row"
	"github.com/vegadb/vega-flight/ivm/zset"
)

// mapping is projection and filter: linear, so the change of the output is the program over the change of the input.
//
//	d(f(A)) = f(dA)
type mapping struct{ program Program }

// NewMapping computes rows from rows, dropping those that the program's filter does not pass.
func NewMapping(p Program) Operator { return &mapping{p} }

func (m *mapping) Layout() *row.Layout { return m.program.Layout() }

// Cancels is false: rows that have one image may cancel, but whoever keeps counts sums them anyway.
func (m *mapping) Cancels() bool { return false }

func (m *mapping) Step(ctx context.Context, e *Epoch, in []*zset.Batch, out *zset.Batch) error {
	return m.program.Run(ctx, in[0], out, func(i int, err error) { e.Fail(in[0], i, err) })
}
