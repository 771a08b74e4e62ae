package dataflow

import (
	"context"

	"github.com/vegadb/vega-flight/ivm/row"
	"github.com/vegadb/vega-flight/ivm/state"
	"github.com/vegadb/vega-flight/ivm/zset"
)

// Operator is one node of a graph.
type Operator interface {
	// Layout is that of the output rows.
	Layout() *row.Layout
	// Cancels says that the output of a step may hold rows that cancel, so that it is worth consolidating.
	Cancels() bool
	// Step adds to out the change of the output that follows from the changes of the inputs, in[i] being that of
	// input i, and takes them into the state. The batches of in are not kept and not changed.
	Step(ctx context.Context, e *Epoch, in []*zset.Batch, out *zset.Batch) error
}

// Timed is an operator whose output changes with the logical clock alone.
type Timed interface {
	Operator
	// Due reports whether a step at this clock would change the output although no input changes.
	Due(now int64) bool
}

// Loader is an operator with state that can be made from the content of its inputs at once, without output.
type Loader interface {
	Operator
	// Load takes the whole content of input i, in one or several batches, into empty state.
	Load(ctx context.Context, e *Epoch, i int, rows *zset.Batch) error
	// Emit adds to out the whole content of the output. It is called once, when all inputs are loaded and before the first
	// step: what passes through without state (a row whose key is NULL) is kept from Load until then.
	Emit(ctx context.Context, e *Epoch, out *zset.Batch) error
}

// Program computes rows from rows (ivm/eval makes them): one row of its own layout for each row that passes, with the same
// weight. bad is told of rows that cannot be computed; they give no row.
type Program interface {
	Layout() *row.Layout
	Run(ctx context.Context, in, out *zset.Batch, bad func(i int, err error)) error
}

// Tables gives an operator its state. The name is unique within a graph and stays the same as long as the plan does:
// it is what a checkpoint finds the state by.
type Tables interface {
	Table(name string, spec state.Spec) (*state.Table, error)
}

// Memory is state without a store.
type Memory struct{}

// Table makes a table in memory.
func (Memory) Table(_ string, spec state.Spec) (*state.Table, error) { return state.New(spec), nil }
