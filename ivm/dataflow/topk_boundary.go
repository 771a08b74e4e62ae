package dataflow

import (
	"github.com/vegadb/vega-flight/ivm/row"
	"github.com/vegadb/vega-flight/ivm/state"
	"github.com/vegadb/vega-flight/ivm/zset"
)

// end is one of the two tops.
type end struct {
	n    int64
	sign int64
	was  boundary
	is   boundary
}

// boundary is the entry that copy n+1 of a partition is in, and how many copies of it are within the first n. Without an
// entry, there are not so many copies.
type boundary struct {
	entry []uint64
	heap  row.Heap
	there bool
	taken int64
}

// order says whether x is before the boundary (negative), at it, or behind it.
func (b *boundary) order(l *row.Layout, x []uint64, h *row.Heap) int {
	if !b.there {
		return -1
	}
	return compareEntries(l, x, h, b.entry, &b.heap)
}

// before finds the boundaries of a partition as it was.
func (t *topK) before(ref state.Ref) {
	for k := range t.ends {
		t.find(ref, t.ends[k].n, &t.ends[k].was)
	}
}

// find finds the boundary of the first n copies.
func (t *topK) find(ref state.Ref, n int64, b *boundary) {
	b.there, b.taken = false, 0
	table := t.p.table
	if table.Total(ref) <= n {
		return
	}
	w := t.p.entry.layout.Words
	c := &t.cursor
	table.Scan(c, ref)
	var at []uint64
	var last []uint64 // the entry of copy n
	for at == nil && c.NextBlock() {
		if c.Weights == nil {
			if n < int64(c.N) {
				at = c.Rows[int(n)*w : int(n)*w+w]
				if n > 0 {
					last = c.Rows[int(n-1)*w : int(n)*w]
				}
				n = 0
				break
			}
			n -= int64(c.N)
			last = c.Rows[(c.N-1)*w : c.N*w]
			continue
		}
		for i := range c.N {
			if n < c.Weights[i] {
				at = c.Rows[i*w : i*w+w]
				break
			}
			n -= c.Weights[i]
			last = c.Rows[i*w : i*w+w]
		}
	}
	if t.spec.Ties && (n > 0 || last != nil) { // go on to an order row that is not that of copy n
		if n > 0 {
			last = at
		}
		n = 0
		for table.Seek(c, ref, at, table.Heap()); c.Next(); {
			if at = c.Row(); !t.p.peers(at, last) {
				break
			}
			at = nil
		}
		if at == nil {
			return
		}
	}
	b.there, b.taken = true, n
	l := t.p.entry.layout
	b.heap.Reset()
	l.Copy(b.entry, &b.heap, at, table.Heap())
}

// after gives what went over the boundaries.
func (t *topK) after(ref state.Ref, out *zset.Batch) {
	l, table := t.p.entry.layout, t.p.table
	for k := range t.ends {
		d := &t.ends[k]
		t.find(ref, d.n, &d.is)
		order := 0
		switch {
		case d.was.there && d.is.there:
			order = compareEntries(l, d.was.entry, &d.was.heap, d.is.entry, &d.is.heap)
		case d.was.there:
			order = -1
		case d.is.there:
			order = 1
		}
		if order == 0 && d.was.taken == d.is.taken {
			continue
		}
		t.give(out, d.is.entry, &d.is.heap, d.sign*d.is.taken)
		t.give(out, d.was.entry, &d.was.heap, -d.sign*d.was.taken)
		from, to, sign := &d.was, &d.is, d.sign
		if order == 0 {
			continue
		}
		if order > 0 {
			from, to, sign = &d.is, &d.was, -d.sign
		}
		c := &t.cursor
		for table.Seek(c, ref, from.entry, &from.heap); c.Next(); {
			x := c.Row()
			if !to.after(l, x, table.Heap()) {
				break
			}
			t.give(out, x, table.Heap(), sign*c.Weight())
		}
	}
}

// after says that x is before the boundary.
func (b *boundary) after(l *row.Layout, x []uint64, h *row.Heap) bool { return b.order(l, x, h) < 0 }
