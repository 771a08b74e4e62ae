package dataflow

import (
	"context"

	"github.com/vegadb/vega-flight/ivm/row"
	"github.com/vegadb/vega-flight/ivm/zset"
)

// union is UNION ALL: linear in each input.
//
//	d(A + B) = dA + dB
type union struct{ layout *row.Layout }

// NewUnion adds up inputs of one layout.
func NewUnion(layout *row.Layout) Operator { return &union{layout} }

func (u *union) Layout() *row.Layout { return u.layout }

func (u *union) Cancels() bool { return false }

func (u *union) Step(_ context.Context, _ *Epoch, in []*zset.Batch, out *zset.Batch) error {
	for _, b := range in {
		out.AppendBatch(b)
	}
	return nil
}
