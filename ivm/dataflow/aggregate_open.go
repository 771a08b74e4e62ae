package dataflow

import (
	"slices"

	"github.com/vegadb/vega-flight/ivm/zset"
)

// open finds the groups of a batch's rows: slots says which each row is of, groups and touched which those are.
func (g *grouping) open(b *zset.Batch) {
	n := b.Len()
	g.slots = slices.Grow(g.slots[:0], n)[:n]
	g.groups = g.groups[:0]
	w := g.key.layout.Words
	g.touched.Layout, g.touched.Heap, g.touched.Words = g.key.layout, b.Heap, g.touched.Words[:0]
	if g.global {
		clear(g.slots)
		g.touched.Words = append(g.touched.Words, 0, 0)
		ref, _ := g.table.Upsert(g.touched.Words, b.Heap)
		g.groups = append(g.groups, ref)
	} else {
		g.key.all(&g.keys, b)
		g.refs = g.table.UpsertAll(&g.keys, g.refs)
		g.number()
		for i, s := range g.slots {
			if int(s)*w == len(g.touched.Words) {
				g.touched.Words = append(g.touched.Words, g.keys.Words[i*w:i*w+w]...)
			}
		}
	}
	k := len(g.groups)
	g.touched.Weights = slices.Grow(g.touched.Weights[:0], k)[:k]
	g.room()
}

// number gives each group of the batch a number, in order of first appearance.
func (g *grouping) number() {
	if g.stamp++; g.stamp == 0 {
		clear(g.index)
		g.stamp = 1
	}
	stamp := uint64(g.stamp) << 32
	slots, index := g.slots, g.index
	for i, ref := range g.refs {
		if int(ref) >= len(index) {
			g.index = append(g.index, make([]uint64, int(ref)+1-len(g.index)+len(g.index)/2)...)
			index = g.index
		}
		x := index[ref]
		if x>>32 != stamp>>32 {
			x = stamp | uint64(len(g.groups))
			index[ref] = x
			g.groups = append(g.groups, ref)
		}
		slots[i] = uint32(x)
	}
}

// room makes room for the groups' states.
func (g *grouping) room() {
	k := len(g.groups)
	if n := k * g.size; cap(g.acc) < n {
		g.acc = make([]uint64, n, n+n/4)
	} else {
		g.acc = g.acc[:n]
	}
	for _, m := range g.multisets {
		m.refs = slices.Grow(m.refs[:0], k)[:k]
	}
	g.was = slices.Grow(g.was[:0], k)[:k]
	g.before.Reset()
	clear(g.failed)
}

// fill reads the states of the groups from..to-1.
func (g *grouping) fill(from, to int) {
	for s, ref := range g.groups[from:to] {
		s += from
		copy(g.acc[s*g.size:(s+1)*g.size], g.table.Peek(ref))
	}
	w := g.key.layout.Words
	keys := zset.Batch{Layout: g.key.layout, Words: g.touched.Words[from*w : to*w], Weights: g.touched.Weights[from:to], Heap: g.touched.Heap}
	for _, m := range g.multisets {
		m.open(&keys, g.groups[from:to], m.refs[from:to:to])
		if !g.filled {
			m.table.Warm(m.refs[from:to], nil)
		}
	}
	if g.foreign != nil {
		g.foreign.open(g)
	}
}

// reopen is open for groups that are there.
func (g *grouping) reopen() {
	g.touched.Layout, g.touched.Heap, g.touched.Words = g.key.layout, g.table.Heap(), g.touched.Words[:0]
	for _, ref := range g.groups {
		g.touched.Words = append(g.touched.Words, g.table.Key(ref)...)
	}
	g.touched.Weights = slices.Grow(g.touched.Weights[:0], len(g.groups))[:len(g.groups)]
	g.room()
	g.fill(0, len(g.groups))
}

// blocks calls f for the groups from..to-1 and their rows, until that is all.
func (g *grouping) blocks(b *zset.Batch, f func(b *zset.Batch, slots []uint32, from, to int) error) error {
	switch n := len(g.groups); {
	case n == 0:
		return nil
	case n <= g.most || g.foreign != nil:
		return f(b, g.slots, 0, n)
	}
	g.sort(b)
	w := b.Layout.Words
	part := zset.Batch{Layout: b.Layout, Heap: b.Heap}
	from := 0
	for k, to := range g.ends {
		part.Words, part.Weights = g.sorted.Words[from*w:int(to)*w], g.sorted.Weights[from:to]
		s := k * g.most
		if err := f(&part, g.sortedSlots[from:to], s, min(s+g.most, len(g.groups))); err != nil {
			return err
		}
		from = int(to)
	}
	return nil
}

// sort puts copies of the rows of a batch in the order of their groups' blocks; ends are where the blocks end.
func (g *grouping) sort(b *zset.Batch) {
	n, w := b.Len(), b.Layout.Words
	blocks := (len(g.groups) + g.most - 1) / g.most
	g.ends = slices.Grow(g.ends[:0], blocks)[:blocks]
	clear(g.ends)
	for _, s := range g.slots {
		g.ends[int(s)/g.most]++
	}
	at := int32(0)
	for i, c := range g.ends {
		g.ends[i] = at
		at += c
	}
	g.sorted.Words = slices.Grow(g.sorted.Words[:0], n*w)[:n*w]
	g.sorted.Weights = slices.Grow(g.sorted.Weights[:0], n)[:n]
	g.sortedSlots = slices.Grow(g.sortedSlots[:0], n)[:n]
	for i, s := range g.slots {
		to := int(g.ends[int(s)/g.most])
		g.ends[int(s)/g.most]++
		copy(g.sorted.Words[to*w:to*w+w], b.Words[i*w:i*w+w])
		g.sorted.Weights[to], g.sortedSlots[to] = b.Weights[i], s
	}
}
