package eval

import (
	"context"

	"github.com/vegadb/vega-flight/ivm/plan"
	"github.com/vegadb/vega-flight/ivm/row"
	"github.com/vegadb/vega-flight/ivm/zset"
)

// Groups evaluates what no operator computes itself, over the kept rows of groups or of partitions. The functions'
// expressions are over rows of the layout.
type Groups interface {
	Aggregates(ctx context.Context, rows *row.Layout, aggs []plan.Agg, timeZone string) (GroupRunner, error)
	Windows(ctx context.Context, rows *row.Layout, w *plan.Window, timeZone string) (GroupRunner, error)
}

// GroupRunner computes the functions of many groups at once. It belongs to one goroutine at a time.
type GroupRunner interface {
	// Layout has a field for each function.
	Layout() *row.Layout
	// Evaluate computes the functions for n groups. groups[i], which never falls, is the group of row i, whose weight is how many
	// copies of it there are. Of aggregates out gets a row for each group; of windows, whose weights are 1, one for each row.
	// A group that is told to bad has no value: what out has for it means nothing.
	Evaluate(ctx context.Context, rows *zset.Batch, groups []int32, n int, out *zset.Batch, bad func(group int, err error)) error
	Close() error
}
