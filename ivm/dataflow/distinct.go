package dataflow

import (
	"context"
	"slices"

	"github.com/vegadb/vega-flight/ivm/row"
	"github.com/vegadb/vega-flight/ivm/state"
	"github.com/vegadb/vega-flight/ivm/zset"
)

// DistinctSpec is DISTINCT or DISTINCT ON.
type DistinctSpec struct {
	Layout *row.Layout
	Keys   Program // what makes rows alike; nil: their own words
	Order  Program // the first by it is given; nil, and among equal ones: the order of whole rows
}

// NewDistinct makes the operator that gives one of the rows that are alike.
func NewDistinct(name string, s DistinctSpec, t Tables) (Loader, error) {
	set := SetOpSpec{Kind: SetUnion, Layout: s.Layout, Inputs: 1}
	if s.Keys == nil {
		return NewSetOp(name, set, t)
	}
	set.Keys = []Program{s.Keys}
	return newKeyedSet(name, set, s.Order, t)
}

// keyedSet is a set operation, or DISTINCT ON, whose rows are not their own keys. Of each key k it keeps how often each input
// has it, n(k), and in their order the rows of the inputs whose rows it gives: all of a union's, else the first's.
//
//	out(k) = the first count(n(k)) copies of k's rows
//
// A step takes back what was given of the keys it touches, and gives what is there afterwards, where that differs.
type keyedSet struct {
	kind   SetKind
	layout *row.Layout
	inputs []side
	order  []*ordering
	table  *state.Table // payload: a count for each input; while a step touches the key, 1 + its place in touched

	touched []touchedKey
	before  *zset.Batch
	now     *zset.Batch
	cur     state.Cursor
}

type touchedKey struct {
	ref  state.Ref
	from int // its rows in before
	to   int
}

func newKeyedSet(name string, s SetOpSpec, order Program, t Tables) (Loader, error) {
	o := &keyedSet{kind: s.Kind, layout: s.Layout, inputs: make([]side, s.Inputs), before: zset.New(s.Layout), now: zset.New(s.Layout)}
	for i := range o.inputs {
		safe := make([]bool, len(s.Keys[i].Layout().Types))
		for f := range safe {
			safe[f] = true
		}
		o.inputs[i].ready(JoinSide{s.Layout, s.Keys[i]}, safe)
		o.order = append(o.order, newOrdering(order, s.Layout))
	}
	first := o.order[0]
	var err error
	o.table, err = t.Table(name, state.Spec{
		Key: s.Keys[0].Layout(), Entry: first.entry.layout, Order: first.fields, Payload: s.Inputs + 1,
	})
	return o, err
}

func (o *keyedSet) Layout() *row.Layout { return o.layout }

// Cancels is true: of several rows of a key those that stay are taken back and given.
func (o *keyedSet) Cancels() bool { return true }

func (o *keyedSet) Step(ctx context.Context, e *Epoch, in []*zset.Batch, out *zset.Batch) error {
	o.touched = o.touched[:0]
	o.before.Reset()
	for i, b := range in {
		if b.Len() == 0 {
			continue
		}
		if err := o.prepare(ctx, e, i, b); err != nil {
			return err
		}
		o.touch(i)
	}
	for i, b := range in {
		if b.Len() == 0 {
			continue
		}
		o.take(i)
	}
	return o.give(out)
}

func (o *keyedSet) prepare(ctx context.Context, e *Epoch, i int, b *zset.Batch) error {
	s := &o.inputs[i]
	if err := s.prepare(ctx, e, b); err != nil {
		return err
	}
	if err := o.order[i].arrange(ctx, e, s, false); err != nil {
		return err
	}
	s.refs = o.table.UpsertAll(s.keys, s.refs)
	return nil
}

// touch notes what is given of the keys before the step.
func (o *keyedSet) touch(i int) {
	slot := len(o.inputs)
	for _, ref := range o.inputs[i].refs {
		p := o.table.Payload(ref)
		if p[slot] != 0 {
			continue
		}
		from := o.before.Len()
		o.content(ref, o.before)
		o.touched = append(o.touched, touchedKey{ref, from, o.before.Len()})
		p[slot] = uint64(len(o.touched))
	}
}

// keeps says that rows of input i are kept.
func (o *keyedSet) keeps(i int) bool { return i == 0 || o.kind == SetUnion }

func (o *keyedSet) take(i int) {
	s := &o.inputs[i]
	s.below = s.below[:0]
	for k, ref := range s.refs {
		w := s.rows.Weights[k]
		p := o.table.Payload(ref)
		if p[i] += uint64(w); int64(p[i]) < 0 {
			s.below = append(s.below, int32(k))
		}
		if o.keeps(i) {
			if _, after := o.table.Add(ref, s.rows.Row(k), s.rows.Heap, w); after < 0 {
				s.below = append(s.below, int32(k))
			}
		}
	}
}

// content is the first copies of a key's rows.
func (o *keyedSet) content(ref state.Ref, to *zset.Batch) {
	n := o.kind.count(o.table.Peek(ref)[:len(o.inputs)])
	for o.table.Scan(&o.cur, ref); n > 0 && o.cur.Next(); {
		w := min(n, o.cur.Weight())
		o.order[0].cut.solo(to, 0, o.cur.Row(), 1, nil, w, o.table.Heap(), unmatched)
		n -= w
	}
}

func (o *keyedSet) give(out *zset.Batch) error {
	for i := range o.inputs {
		s := &o.inputs[i]
		for _, k := range s.below {
			ref := s.refs[k]
			n := int64(o.table.Peek(ref)[i])
			if o.keeps(i) {
				n = min(n, o.table.Weight(ref, s.rows.Row(int(k)), s.rows.Heap))
			}
			if n < 0 {
				return excess(o.layout, s.whole.Row(int(k)), s.whole.Heap, n)
			}
		}
		s.below = s.below[:0]
	}
	for _, x := range o.touched {
		p := o.table.Payload(x.ref)
		p[len(o.inputs)] = 0
		if out != nil {
			o.now.Reset()
			o.content(x.ref, o.now)
			if !o.same(x) {
				for k := x.from; k < x.to; k++ {
					out.Append(o.before.Row(k), o.before.Heap, -o.before.Weights[k])
				}
				out.AppendBatch(o.now)
			}
		}
		if !slices.ContainsFunc(p[:len(o.inputs)], func(n uint64) bool { return n != 0 }) {
			o.table.Remove(x.ref)
		}
	}
	return o.table.Err()
}

// same says that a key's rows are what they were.
func (o *keyedSet) same(x touchedKey) bool {
	if o.now.Len() != x.to-x.from {
		return false
	}
	for k := range o.now.Len() {
		if o.now.Weights[k] != o.before.Weights[x.from+k] || !o.layout.Equal(o.now.Row(k), o.now.Heap, o.before.Row(x.from+k), o.before.Heap) {
			return false
		}
	}
	return true
}

func (o *keyedSet) Load(ctx context.Context, e *Epoch, i int, rows *zset.Batch) error {
	o.touched = o.touched[:0]
	if err := o.prepare(ctx, e, i, rows); err != nil {
		return err
	}
	for _, ref := range o.inputs[i].refs {
		if p := o.table.Payload(ref); p[len(o.inputs)] == 0 {
			o.touched = append(o.touched, touchedKey{ref: ref})
			p[len(o.inputs)] = 1
		}
	}
	o.take(i)
	return o.give(nil)
}

func (o *keyedSet) Emit(_ context.Context, _ *Epoch, out *zset.Batch) error {
	o.table.Each(func(ref state.Ref) bool {
		o.content(ref, out)
		return true
	})
	return o.table.Err()
}
