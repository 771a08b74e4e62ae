package ivmtest

import (
	"context"

	"github.com/vegadb/vega-flight/ivm/plan"
	"github.com/vegadb/vega-flight/ivm/row"
	"github.com/vegadb/vega-flight/ivm/zset"
)

// Engine makes what maintains views.
type Engine interface {
	Open(ctx context.Context, d Definition) (Maintained, error)
	// OpenStored is Open, but between steps the view is written to disk, read again, spread over more or fewer shards.
	OpenStored(ctx context.Context, d Definition) (Maintained, error)
}

// Definition is a view to be maintained.
type Definition struct {
	Name     string
	SQL      string
	Plan     *plan.Plan
	Sources  []*plan.Source // tables that the query may name
	TimeZone string
}

// Maintained is one view. A step's deltas are of whole tables, by their names; those that are not there did not change.
type Maintained interface {
	Layout() *row.Layout
	Step(ctx context.Context, now int64, deltas map[string]*zset.Batch) (*zset.Batch, error)
	// Load is the first step of a new view, with the whole tables: how a view is backfilled.
	Load(ctx context.Context, now int64, tables map[string]*zset.Batch) (*zset.Batch, error)
	Errors() []string
	Close() error
}
