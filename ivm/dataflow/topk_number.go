package dataflow

import (
	"github.com/vegadb/vega-flight/ivm/row"
	"github.com/vegadb/vega-flight/ivm/state"
	"github.com/vegadb/vega-flight/ivm/zset"
)

// numbers is a top-k that shows places: the tops as they were and as they are are compared row by row.
type numbers struct {
	t       *topK
	was, is *zset.Batch
}

func newNumbers(t *topK) *numbers {
	types := append([]row.Type(nil), t.layout.Types...)
	l := row.NewLayout(append(types, row.Type{Kind: row.Int64})...)
	return &numbers{t: t, was: zset.New(l), is: zset.New(l)}
}

// step takes a partition's changes in; the old boundaries are known.
func (n *numbers) step(ref state.Ref, changed []int32, b *zset.Batch, out *zset.Batch) error {
	t := n.t
	last := &t.ends[0].was
	touched := false
	for _, i := range changed {
		touched = touched || last.after(t.p.entry.layout, t.p.rows.Row(int(i)), b.Heap) || last.taken > 0
	}
	if touched {
		n.was.Reset()
		n.list(ref, n.was)
	}
	for _, i := range changed {
		t.below += t.p.add(ref, b.Weights[i])
	}
	if t.below != 0 {
		return t.p.check(ref, changed, b)
	}
	if touched {
		n.is.Reset()
		n.list(ref, n.is)
		difference(n.was, n.is, out)
	}
	t.p.drop(ref)
	return nil
}

// list appends the rows of a partition's top with their places.
func (n *numbers) list(ref state.Ref, out *zset.Batch) {
	t := n.t
	place, number, table := int64(0), int64(0), t.p.table
	h, l := table.Heap(), t.p.entry.layout
	top := t.ends[0].n
	c := &t.cursor
	var last, before []uint64
	for table.Scan(c, ref); c.Next(); {
		r := c.Row()
		for range c.Weight() {
			if place++; place > top && (!t.spec.Ties || last == nil || !t.p.peers(last, r)) {
				return
			}
			if place <= top {
				last = r
			}
			if !t.spec.Ties || before == nil || !t.p.peers(before, r) {
				number = place // with ties it is rank(): that of the first of them
			}
			before = r
			if place <= t.spec.Offset {
				continue
			}
			dst := out.AppendRow(1)
			for j := range t.spec.Row {
				out.Layout.CopyField(dst, j, out.Heap, l, r, len(t.spec.Order)+j, h)
			}
			out.Layout.Set(dst, len(t.spec.Row), uint64(number))
		}
	}
}
