package dataflow

import (
	"github.com/vegadb/vega-flight/ivm/zset"
)

// Epoch is what operators know of the step they are in.
type Epoch struct {
	// Now is the logical clock, in microseconds since 1970 UTC; it never goes back.
	Now int64
	// First is the first step of a generation: what exists without any input (the one row of an aggregation without
	// GROUP BY) comes into being.
	First bool

	errors *errorSet
	node   int
	full   func(*zset.Batch) error // of Emit: takes a part of the output
}

// drain hands on what Emit has given so far when that is much, so that a large content is never whole in memory twice.
func (e *Epoch) drain(out *zset.Batch) error {
	if e.full == nil || out.Len() < loadRows {
		return nil
	}
	err := e.full(out)
	out.Reset()
	return err
}

// Fail records that a row of an operator's input cannot be computed. weight is the row's: a retraction of a bad row takes its
// error away. what says which expression, in words that are equal for equal faults.
func (e *Epoch) Fail(b *zset.Batch, i int, err error) {
	e.errors.add(e.node, b.Layout.Format(b.Row(i), b.Heap), err.Error(), b.Weights[i])
}

// FailGroup records that a group has come to (weight 1) or left (weight -1) a state that has no value, such as a sum out of range.
func (e *Epoch) FailGroup(group string, err error, weight int64) {
	e.errors.add(e.node, group, err.Error(), weight)
}
