package dataflow

import (
	"context"
	"fmt"

	"github.com/vegadb/vega-flight/ivm/row"
	"github.com/vegadb/vega-flight/ivm/state"
	"github.com/vegadb/vega-flight/ivm/zset"
)

// SetKind is which rows a set operation gives. UNION ALL is [NewUnion].
type SetKind uint8

// The kinds. Those without All give each row once.
const (
	SetUnion SetKind = iota
	SetExcept
	SetExceptAll
	SetIntersect
	SetIntersectAll
)

// SetOpSpec is a set operation over inputs of one layout.
type SetOpSpec struct {
	Kind   SetKind
	Layout *row.Layout
	Inputs int // two, unless it is SetUnion
	// Keys gives each input's rows keys that are equal where DuckDB's values are; nil says that the rows' own words are so. Of
	// rows with one key the first ones by the whole row's order are given.
	Keys []Program
}

// NewSetOp makes the operator that maintains a set operation.
func NewSetOp(name string, s SetOpSpec, t Tables) (Loader, error) {
	if s.Inputs < 1 || s.Inputs != 2 && s.Kind != SetUnion {
		return nil, fmt.Errorf("dataflow: %s has %d inputs", name, s.Inputs)
	}
	if s.Keys != nil {
		if len(s.Keys) != s.Inputs {
			return nil, fmt.Errorf("dataflow: %s has %d inputs and keys for %d", name, s.Inputs, len(s.Keys))
		}
		return newKeyedSet(name, s, nil, t)
	}
	o := &setOp{kind: s.Kind, layout: s.Layout, inputs: s.Inputs}
	var err error
	o.table, err = t.Table(name, state.Spec{Key: s.Layout, Payload: s.Inputs + 1})
	return o, err
}

// count is how often a row is given that the inputs have so often.
func (k SetKind) count(n []uint64) int64 {
	yes := false
	switch k {
	case SetUnion:
		for _, x := range n {
			yes = yes || x != 0
		}
	case SetExcept:
		yes = n[0] != 0 && n[1] == 0
	case SetIntersect:
		yes = n[0] != 0 && n[1] != 0
	case SetExceptAll:
		return max(0, int64(n[0]-n[1]))
	case SetIntersectAll:
		return min(int64(n[0]), int64(n[1]))
	}
	if yes {
		return 1
	}
	return 0
}

// setOp keeps, of each row r, how often each input has it.
//
//	d(out)(r) = count(n(r) + dn(r)) - count(n(r))
//
// DISTINCT is the union of one input.
type setOp struct {
	kind    SetKind
	layout  *row.Layout
	inputs  int
	table   *state.Table // payload: a count for each input; while a step touches the row, 1 + its place in touched
	refs    []state.Ref
	touched []touchedRow
}

type touchedRow struct {
	ref    state.Ref
	before int64
}

func (o *setOp) Layout() *row.Layout { return o.layout }

// Cancels is false: each row appears once.
func (o *setOp) Cancels() bool { return false }

func (o *setOp) Step(_ context.Context, _ *Epoch, in []*zset.Batch, out *zset.Batch) error {
	for i, b := range in {
		if b.Len() > 0 {
			o.take(i, b)
		}
	}
	return o.give(out)
}

func (o *setOp) take(input int, b *zset.Batch) {
	o.refs = o.table.UpsertAll(b, o.refs)
	for i, ref := range o.refs {
		p := o.table.Payload(ref)
		if p[o.inputs] == 0 {
			o.touched = append(o.touched, touchedRow{ref, o.kind.count(p[:o.inputs])})
			p[o.inputs] = uint64(len(o.touched))
		}
		p[input] += uint64(b.Weights[i])
	}
}

// give gives what became of the touched rows, unless out is nil.
func (o *setOp) give(out *zset.Batch) error {
	t := o.table
	for _, x := range o.touched {
		p := t.Payload(x.ref)
		p[o.inputs] = 0
		all := uint64(0)
		for _, n := range p[:o.inputs] {
			if int64(n) < 0 {
				return excess(o.layout, t.Key(x.ref), t.Heap(), int64(n))
			}
			all |= n
		}
		if d := o.kind.count(p[:o.inputs]) - x.before; d != 0 && out != nil {
			out.Append(t.Key(x.ref), t.Heap(), d)
		}
		if all == 0 {
			t.Remove(x.ref)
		}
	}
	o.touched = o.touched[:0]
	return t.Err()
}

func (o *setOp) Load(_ context.Context, _ *Epoch, i int, rows *zset.Batch) error {
	o.take(i, rows)
	return o.give(nil)
}

func (o *setOp) Emit(_ context.Context, _ *Epoch, out *zset.Batch) error {
	o.table.Each(func(ref state.Ref) bool {
		if n := o.kind.count(o.table.Peek(ref)[:o.inputs]); n != 0 {
			out.Append(o.table.Key(ref), o.table.Heap(), n)
		}
		return true
	})
	return o.table.Err()
}
