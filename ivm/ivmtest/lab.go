package ivmtest

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/vegadb/vega-flight/ivm/bind"
	"github.com/vegadb/vega-flight/ivm/plan"
)

// Lab is what worlds share: an oracle, a planner and an engine. One world is used at a time.
type Lab struct {
	oracle  *oracle
	planner *bind.Planner
	engine  Engine
	worlds  int
	Counts  Counts
}

// Counts are how much was checked.
type Counts struct{ Views, Steps, Comparisons, Rows, Rebuilt, Failing, Skipped atomic.Int64 }

func (c *Counts) String() string {
	return fmt.Sprintf("%d views, %d steps, %d comparisons of %d rows (%d of views with errors), %d rebuilt",
		c.Views.Load(), c.Steps.Load(), c.Comparisons.Load(), c.Rows.Load(), c.Failing.Load(), c.Rebuilt.Load())
}

// Open opens a lab for an engine. config is for the oracle's DuckDB.
func Open(ctx context.Context, e Engine, config map[string]string) (_ *Lab, err error) {
	l := &Lab{engine: e}
	if l.oracle, err = openOracle(config); err != nil {
		return nil, err
	}
	if l.planner, err = bind.NewPlanner(ctx, "lake"); err != nil {
		return nil, errors.Join(err, l.oracle.close())
	}
	return l, nil
}

// Close ends the lab.
func (l *Lab) Close() error { return errors.Join(l.planner.Close(), l.oracle.close()) }

// Exec runs SQL on the oracle, outside of any world.
func (l *Lab) Exec(ctx context.Context, sql string) error { return l.oracle.exec(ctx, sql) }

// Rows asks the oracle.
func (l *Lab) Rows(ctx context.Context, sql string) ([][]any, error) {
	return l.oracle.conn.Rows(ctx, sql)
}

// World makes an empty world.
func (l *Lab) World(ctx context.Context) (*World, error) {
	l.worlds++
	w := &World{lab: l, schema: fmt.Sprintf("world%d", l.worlds), now: startOfTime}
	return w, l.oracle.exec(ctx, "CREATE SCHEMA "+w.schema+"; USE "+w.schema)
}

// startOfTime is what the clock says at first: 2024-01-01 00:00 UTC.
const startOfTime = 1704067200000000

// Refused is a query that cannot be maintained.
type Refused struct{ Reasons []plan.Reason }

func (r *Refused) Error() string {
	var s string
	for _, why := range r.Reasons {
		s += why.String() + "\n"
	}
	return s
}

// Invalid is a query that DuckDB does not bind.
type Invalid struct{ Err error }

func (i *Invalid) Error() string { return "DuckDB does not bind it: " + i.Err.Error() }
func (i *Invalid) Unwrap() error { return i.Err }

// Wrong is a fault of the engine.
type Wrong struct {
	View, SQL, What string
}

func (w *Wrong) Error() string { return fmt.Sprintf("view %s: %s\nquery: %s", w.View, w.What, w.SQL) }
