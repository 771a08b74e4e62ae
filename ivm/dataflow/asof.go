package dataflow

import (
	"context"
	"fmt"
	"slices"

	"github.com/vegadb/vega-flight/ivm/row"
	"github.com/vegadb/vega-flight/ivm/state"
	"github.com/vegadb/vega-flight/ivm/zset"
)

// AsofOp is the inequality of an ASOF join, left to right.
type AsofOp uint8

// The inequalities. The nearest right row is the greatest below for the first two, the least above for the others.
const (
	AsofGE AsofOp = iota
	AsofGT
	AsofLE
	AsofLT
)

// AsofSpec is an ASOF join.
type AsofSpec struct {
	Kind        JoinKind // JoinInner or JoinLeft
	Left, Right JoinSide
	NullSafe    []bool
	Order       [2]Program // of each side, what is compared, as order fields; a row with a NULL there has no partner
	Op          AsofOp
	Output      []int
}

// asof pairs a left row with the nearest right row of its key, p(t) for what it compares, t. Of several equally near ones that is
// the first by the whole row.
//
//	d(out) = f(dA, B) + f(T, B + dB) - f(T, B)
//
// where T is the rows of A + dA whose partner may change. A right row at u that comes, goes or changes matters for those t
// whose nearest is u while it is there. For >= that is u <= t < v with v the next above u in B: what lies between in B + dB is itself
// among the changes. The other inequalities likewise, mirrored or with the ends moved:
//
//	>=  [u, v)    >  (u, v]    <=  (v, u]    <  [v, u),  v the next below for the last two
//
// Ranges that begin inside another one end with it, and are left out.
type asof struct {
	left   bool
	op     AsofOp
	sides  [2]side
	order  [2]*ordering
	asm    *assembler // from entries
	cur    state.Cursor
	near   state.Cursor
	probes [2]*zset.Batch // an entry to seek
	heap   row.Heap       // of bounds
	seek   row.Heap       // of what is sought
	bounds []uint64
	ranges []asofRange
	sorted []int32
}

// asofRange is left entries of a key from one bound to before another. A bound is a place in asof.bounds, -1 is none.
type asofRange struct {
	left, right state.Ref
	lo, hi      int
}

// NewAsof makes the operator that maintains an ASOF join.
func NewAsof(name string, s AsofSpec, t Tables) (Loader, error) {
	if s.Kind != JoinInner && s.Kind != JoinLeft {
		return nil, fmt.Errorf("dataflow: ASOF join %s is neither inner nor left", name)
	}
	if !s.Order[0].Layout().Alike(s.Order[1].Layout()) {
		return nil, fmt.Errorf("dataflow: ASOF join %s compares %v with %v", name, s.Order[0].Layout(), s.Order[1].Layout())
	}
	j := &asof{left: s.Kind == JoinLeft, op: s.Op}
	var inputs [2]*row.Layout
	for n, in := range []JoinSide{s.Left, s.Right} {
		o := newOrdering(s.Order[n], in.Layout)
		j.order[n], inputs[n] = o, o.entry.layout
		side := &j.sides[n]
		side.ready(in, s.NullSafe)
		side.layout = o.entry.layout
		side.pending = zset.New(o.entry.layout)
		j.probes[n] = zset.New(o.entry.layout)
		j.probes[n].AppendRow(1)
		var err error
		spec := state.Spec{Key: side.computed.Layout, Entry: o.entry.layout, Order: o.fields}
		if side.table, err = t.Table(name+[]string{".left", ".right"}[n], spec); err != nil {
			return nil, err
		}
	}
	output := s.Output
	n, k := len(s.Left.Layout.Types), j.order[0].fields
	if output == nil {
		for i := range n + len(s.Right.Layout.Types) {
			output = append(output, i)
		}
	}
	output = slices.Clone(output)
	for i, f := range output {
		if output[i] = f + k; f >= n {
			output[i] += k
		}
	}
	j.asm = newAssembler(inputs[0], inputs[1], false, output)
	return j, nil
}

func (j *asof) Layout() *row.Layout { return j.asm.layout }

// Cancels is true: rows in a range whose partner stays are taken back and given.
func (j *asof) Cancels() bool { return true }

// prepare makes entries of a side's change.
func (j *asof) prepare(ctx context.Context, e *Epoch, n int, in *zset.Batch) error {
	if err := j.sides[n].prepare(ctx, e, in); err != nil {
		return err
	}
	return j.order[n].arrange(ctx, e, &j.sides[n], true)
}

func (j *asof) Step(ctx context.Context, e *Epoch, in []*zset.Batch, out *zset.Batch) error {
	left, right := &j.sides[0], &j.sides[1]
	if in[0].Len() > 0 {
		if err := j.prepare(ctx, e, 0, in[0]); err != nil {
			return err
		}
		j.loose(out)
		left.others = right.table.FindAll(left.keys, left.others)
		for i, ref := range left.others {
			j.match(left.rows.Row(i), left.rows.Heap, left.rows.Weights[i], ref, out)
		}
		left.take()
		if err := left.finish(); err != nil {
			return err
		}
	}
	if in[1].Len() == 0 {
		return stores(left.table, right.table)
	}
	if err := j.prepare(ctx, e, 1, in[1]); err != nil {
		return err
	}
	right.refs = right.table.UpsertAll(right.keys, right.refs)
	right.others = left.table.FindAll(right.keys, right.others)
	j.affected()
	j.again(-1, out)
	right.take()
	j.again(1, out)
	if err := right.finish(); err != nil {
		return err
	}
	return left.table.Err()
}

// loose gives the prepared left rows that have no partner ever.
func (j *asof) loose(out *zset.Batch) {
	l := j.sides[0].loose
	if !j.left || l.Len() == 0 {
		return
	}
	b := zset.New(j.order[0].entry.layout)
	j.order[0].entry.solo(b, 1, l.Words, l.Len(), l.Weights, 1, l.Heap, unmatched)
	j.asm.solo(out, 0, b.Words, b.Len(), b.Weights, 1, b.Heap, unmatched)
}

// match gives a left entry with its partner among the right rows of a key.
func (j *asof) match(entry []uint64, h *row.Heap, w int64, ref state.Ref, out *zset.Batch) {
	if ref != state.None {
		if partner := j.nearest(entry, h, ref); partner != nil {
			j.asm.pairs(out, 0, entry, h, w, partner, 1, nil, j.sides[1].table.Heap())
			return
		}
	}
	if j.left {
		j.asm.solo(out, 0, entry, 1, nil, w, h, unmatched)
	}
}

// nearest is the partner of a left entry, nil if there is none.
func (j *asof) nearest(entry []uint64, h *row.Heap, ref state.Ref) []uint64 {
	t, at, end := j.sides[1].table, j.order[0].at, false
	words := entry[at : at+j.order[0].words]
	probe, hp := j.probe(1, words), h
	if j.op == AsofGE || j.op == AsofLT {
		probe, hp, end = j.after(words, h)
	}
	if end {
		t.SeekAt(&j.near, ref, t.Len(ref))
	} else {
		t.Seek(&j.near, ref, probe, hp)
	}
	up := j.near.Next()
	if j.op >= AsofLE {
		if !up {
			return nil
		}
		return j.near.Row()
	}
	if !j.near.Prev() {
		return nil
	}
	// The first of those that are as near.
	at = j.order[1].at
	found := j.near.Row()
	t.Seek(&j.near, ref, j.probe(1, found[at:at+j.order[1].words]), t.Heap())
	j.near.Next()
	return j.near.Row()
}

// probe is the least entry of side n with the order fields, whose heap is that of the words.
func (j *asof) probe(n int, words []uint64) []uint64 {
	r := j.probes[n].Row(0)
	copy(r[j.order[n].at:], words)
	return r
}

// after is the least entry of the right side whose order fields are greater; end says that there is none.
func (j *asof) after(words []uint64, h *row.Heap) (probe []uint64, hp *row.Heap, end bool) {
	probe = j.probe(1, words)
	at := j.order[1].at
	if !j.order[1].computed.Layout.Fixed() {
		j.seek.Reset()
		j.own(probe[at:at+j.order[1].words], h, &j.seek)
		h = &j.seek
	}
	return probe, h, !j.order[1].next(probe[at:at+j.order[1].words], h)
}

// own copies the long values of order fields to another heap.
func (j *asof) own(words []uint64, h, to *row.Heap) {
	l := j.order[0].computed.Layout
	for _, f := range l.Vars {
		at := l.Off[f] - l.Nulls
		if n := uint32(words[at]); n > row.Inline {
			words[at+1] = to.Put(h.Get(words[at+1], int(n)))
		}
	}
}

// bound keeps order fields, or the next greater ones; -1 if there are none.
func (j *asof) bound(words []uint64, h *row.Heap, next bool) int {
	n := len(j.bounds)
	j.bounds = append(j.bounds, words...)
	j.own(j.bounds[n:], h, &j.heap)
	if next && !j.order[0].next(j.bounds[n:], &j.heap) {
		j.bounds = j.bounds[:n]
		return -1
	}
	return n
}

// affected finds the ranges of left entries whose partners the prepared right entries may change.
func (j *asof) affected() {
	right, o := &j.sides[1], j.order[1]
	rows, h := right.rows, right.rows.Heap
	j.heap.Reset()
	j.bounds, j.ranges, j.sorted = j.bounds[:0], j.ranges[:0], j.sorted[:0]
	for i, ref := range right.others {
		if ref != state.None {
			j.sorted = append(j.sorted, int32(i))
		}
	}
	up := j.op == AsofGE || j.op == AsofGT
	slices.SortFunc(j.sorted, func(a, b int32) int {
		if x, y := right.refs[a], right.refs[b]; x != y {
			if x < y {
				return -1
			}
			return 1
		}
		c := o.compare(rows.Row(int(a)), o.at, h, rows.Row(int(b)), o.at, h)
		if !up {
			return -c
		}
		return c
	})
	t := right.table
	last, far, open := state.None, []uint64(nil), false // of the range before: its key, its v, and that it has none
	for _, i := range j.sorted {
		ref, u := right.refs[i], rows.Row(int(i))[o.at:o.at+o.words]
		if ref == last {
			if open {
				continue
			}
			if c := o.compare(u, 0, h, far, 0, t.Heap()); up && c < 0 || !up && c > 0 {
				continue
			}
		}
		far = j.neighbour(ref, u, h, up)
		last, open = ref, far == nil
		r := asofRange{left: right.others[i], right: ref, lo: -1, hi: -1}
		switch {
		case up:
			if r.lo = j.bound(u, h, j.op == AsofGT); r.lo < 0 {
				continue // nothing is greater
			}
			if !open {
				r.hi = j.bound(far, t.Heap(), j.op == AsofGT)
			}
		default:
			r.hi = j.bound(u, h, j.op == AsofLE)
			if !open {
				if r.lo = j.bound(far, t.Heap(), j.op == AsofLE); r.lo < 0 {
					continue
				}
			}
		}
		j.ranges = append(j.ranges, r)
	}
}

// neighbour is the order fields next to u among a key's right entries, above or below; nil if there are none.
func (j *asof) neighbour(ref state.Ref, u []uint64, h *row.Heap, up bool) []uint64 {
	t, o := j.sides[1].table, j.order[1]
	if up {
		for t.Seek(&j.near, ref, j.probe(1, u), h); j.near.Next(); {
			if o.compare(j.near.Row(), o.at, t.Heap(), u, 0, h) > 0 {
				return j.near.Row()[o.at : o.at+o.words]
			}
		}
		return nil
	}
	t.Seek(&j.near, ref, j.probe(1, u), h)
	j.near.Next()
	if !j.near.Prev() {
		return nil
	}
	return j.near.Row()[o.at : o.at+o.words]
}

// again gives the left rows of the ranges with their partners, or takes them back.
func (j *asof) again(sign int64, out *zset.Batch) {
	t, o := j.sides[0].table, j.order[0]
	for _, r := range j.ranges {
		if r.lo < 0 {
			t.Scan(&j.cur, r.left)
		} else {
			t.Seek(&j.cur, r.left, j.probe(0, j.bounds[r.lo:r.lo+o.words]), &j.heap)
		}
		for j.cur.Next() {
			entry := j.cur.Row()
			if r.hi >= 0 && o.compare(entry, o.at, t.Heap(), j.bounds, r.hi, &j.heap) >= 0 {
				break
			}
			j.match(entry, t.Heap(), sign*j.cur.Weight(), r.right, out)
		}
	}
}

func (j *asof) Load(ctx context.Context, e *Epoch, i int, rows *zset.Batch) error {
	if err := j.prepare(ctx, e, i, rows); err != nil {
		return err
	}
	s := &j.sides[i]
	if l := s.loose; i == 0 && j.left {
		j.order[0].entry.solo(s.pending, 1, l.Words, l.Len(), l.Weights, 1, l.Heap, unmatched)
	}
	return s.fill()
}

func (j *asof) Emit(_ context.Context, _ *Epoch, out *zset.Batch) error {
	left, right := &j.sides[0], &j.sides[1]
	packed(left.table, right.table)
	j.sides[0].emitPending(j.asm, 0, out)
	left.table.Each(func(ref state.Ref) bool {
		partner, _ := right.table.Find(left.table.Key(ref), left.table.Heap())
		for left.table.Scan(&j.cur, ref); j.cur.Next(); {
			j.match(j.cur.Row(), left.table.Heap(), j.cur.Weight(), partner, out)
		}
		return true
	})
	return stores(left.table, right.table)
}
