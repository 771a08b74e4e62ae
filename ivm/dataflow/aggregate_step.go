package dataflow

import (
	"cmp"
	"context"
	"slices"

	"github.com/vegadb/vega-flight/ivm/row"
	"github.com/vegadb/vega-flight/ivm/state"
	"github.com/vegadb/vega-flight/ivm/zset"
)

// blockGroups is how many groups are taken at once: so many that their states stay in the cache from one look at them to the next.
const blockGroups = 512

// step is the delta rule: find the touched groups, keep their rows as they were, take the changes in, and give what differs.
func (g *grouping) step(ctx context.Context, e *Epoch, b *zset.Batch, out *zset.Batch) error {
	was := g.global && g.table.Keys() > 0
	g.open(b)
	err := g.blocks(b, func(b *zset.Batch, slots []uint32, from, to int) error {
		return g.block(ctx, e, b, slots, from, to, was, out)
	})
	if err != nil {
		return err
	}
	g.letGo()
	return g.err()
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

// block is step for the groups from..to-1, whose rows b has.
func (g *grouping) block(ctx context.Context, e *Epoch, b *zset.Batch, slots []uint32, from, to int, was bool, out *zset.Batch) error {
	g.fill(from, to)
	g.remember(&g.shownOf, from, to, was)
	if err := g.apply(b, slots, from, to); err != nil {
		return err
	}
	if g.foreign != nil {
		if err := g.foreign.evaluate(ctx, g, e); err != nil {
			return err
		}
	}
	g.give(&g.shownOf, e, from, to, out)
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

// err is why a table could not be read.
func (g *grouping) err() error {
	err := g.table.Err()
	for _, m := range g.multisets {
		err = cmp.Or(err, m.table.Err())
	}
	for _, f := range g.floats {
		err = cmp.Or(err, f.wide.Err())
	}
	if g.foreign != nil {
		err = cmp.Or(err, g.foreign.results.Err())
	}
	if g.windows != nil {
		err = cmp.Or(err, g.windows.table.Err())
	}
	return err
}

// take is step without output; counts are not looked at.
func (g *grouping) take(b *zset.Batch) {
	g.open(b)
	_ = g.blocks(b, func(b *zset.Batch, slots []uint32, from, to int) error {
		g.fill(from, to)
		g.change(b, slots)
		for s := from; s < to; s++ {
			copy(g.table.Payload(g.groups[s]), g.acc[s*g.size:(s+1)*g.size])
			g.windows.hold(g, s)
		}
		return nil
	})
}

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
	}
	if g.foreign != nil {
		g.foreign.open(g)
	}
}

// remember makes the rows that groups have before the changes.
func (g *grouping) remember(c *group, from, to int, was bool) {
	for s := from; s < to; s++ {
		if g.acc[s*g.size] == 0 && !was {
			g.was[s] = wasAbsent
			continue
		}
		n := g.before.Len()
		if err := g.show(c, s, g.before); err != nil {
			g.was[s] = wasBad
			g.failed[s] = err
			continue
		}
		g.was[s] = int32(n)
	}
}

// show appends a group's row to out, or nothing if there is an error.
func (g *grouping) show(c *group, s int, out *zset.Batch) error {
	n := out.Len()
	c.slot, c.dst, c.heap = s, out.AppendRow(1), out.Heap
	c.acc = g.acc[s*g.size : (s+1)*g.size]
	c.key, c.keys = g.touched.Row(s), g.touched.Heap
	for i, at := range g.places {
		switch {
		case at < 0:
			c.layout.SetNull(c.dst, i)
		case g.shownAt[i] >= 0:
			if r, _ := g.shown.table.First(g.shown.refs[s]); r != nil {
				c.layout.CopyField(c.dst, i, c.heap, g.shown.entry.layout, r, g.shownAt[i], g.shown.table.Heap())
			}
		default:
			c.layout.CopyField(c.dst, i, c.heap, g.key.layout, c.key, at, c.keys)
		}
	}
	for i, v := range g.values {
		if err := v.show(c, len(g.places)+i); err != nil {
			cut(out, n)
			return err
		}
	}
	return nil
}

// cut drops the rows of a batch from row n on.
func cut(b *zset.Batch, n int) {
	b.Words, b.Weights = b.Words[:n*b.Layout.Words], b.Weights[:n]
}

// change takes the changes into accumulators and multisets.
func (g *grouping) change(b *zset.Batch, slots []uint32) {
	c := &g.delta
	*c = changes{slots: slots, acc: g.acc, size: g.size, keys: &g.touched}
	c.of(b)
	for _, m := range g.multisets {
		m.apply(c)
	}
	for _, s := range g.selections {
		s.run(c, b.Weights)
	}
	g.rows.add(c)
	for _, a := range g.adders {
		c.weights = b.Weights
		if a.of != nil {
			c.weights = a.of.weights
		}
		a.add(c)
	}
}

func (g *grouping) apply(b *zset.Batch, slots []uint32, from, to int) error {
	g.change(b, slots)
	if err := g.err(); err != nil { // what cannot be read looks as if it were not there
		return err
	}
	for _, m := range g.multisets {
		if err := m.check(b, slots); err != nil {
			return err
		}
	}
	for s := from; s < to; s++ {
		if n := int64(g.acc[s*g.size]); n < 0 {
			for i, slot := range slots {
				if int(slot) == s && b.Weights[i] < 0 {
					return excess(b.Layout, b.Row(i), b.Heap, n)
				}
			}
		}
	}
	return nil
}

// give keeps the new states, drops groups that are empty, and appends the differences to out.
func (g *grouping) give(c *group, e *Epoch, from, to int, out *zset.Batch) {
	fixed := g.out.Fixed()
	w := g.out.Words
	for s := from; s < to; s++ {
		ref := g.groups[s]
		var old []uint64
		if i := int(g.was[s]); i >= 0 {
			old = g.before.Words[i*w : i*w+w]
		} else if i == wasBad {
			e.FailGroup(g.key.layout.Format(g.touched.Row(s), g.touched.Heap), g.failed[s], -1)
		}
		gone := g.acc[s*g.size] == 0 && !g.global
		if !gone {
			n := out.Len()
			if err := g.show(c, s, out); err != nil {
				e.FailGroup(g.key.layout.Format(g.touched.Row(s), g.touched.Heap), err, 1)
			} else if old != nil {
				if r := out.Words[n*w : n*w+w]; fixed && row.EqualWords(r, old) || !fixed && g.out.Equal(r, out.Heap, old, g.before.Heap) {
					cut(out, n)
					old = nil
				}
			}
		}
		if old != nil {
			out.Append(old, g.before.Heap, -1)
		}
		if gone {
			g.forget(s, ref)
			continue
		}
		copy(g.table.Payload(ref), g.acc[s*g.size:(s+1)*g.size])
		g.windows.hold(g, s)
	}
}

// forget drops a group's state.
func (g *grouping) forget(s int, ref state.Ref) {
	for _, m := range g.multisets {
		m.forget(s)
	}
	for _, f := range g.floats {
		f.forget(g.touched.Row(s), g.touched.Heap)
	}
	if g.foreign != nil {
		g.foreign.forget(s)
	}
	g.windows.forget(g, s)
	g.table.Remove(ref)
}

const emitted = 1024 // groups at once

// emit gives all groups' rows.
func (g *grouping) emit(ctx context.Context, e *Epoch, out *zset.Batch) error {
	if g.global && g.table.Keys() == 0 {
		g.table.Upsert([]uint64{0, 0}, nil)
	}
	var all []state.Ref
	var err error
	g.table.Each(func(ref state.Ref) bool {
		all = append(all, ref)
		return true
	})
	for len(all) > 0 && err == nil {
		n := min(emitted, len(all))
		g.groups = append(g.groups[:0], all[:n]...)
		all = all[n:]
		err = g.emitSome(ctx, e, &g.shownOf, out)
	}
	if err == nil {
		g.letGo()
	}
	return err
}

func (g *grouping) emitSome(ctx context.Context, e *Epoch, c *group, out *zset.Batch) error {
	g.reopen()
	if g.foreign != nil {
		if err := g.foreign.evaluate(ctx, g, e); err != nil {
			return err
		}
	}
	if err := g.err(); err != nil {
		return err
	}
	for s, ref := range g.groups {
		switch n := int64(g.acc[s*g.size]); {
		case n < 0:
			return excess(g.key.layout, g.touched.Row(s), g.touched.Heap, n)
		case n == 0 && !g.global:
			g.forget(s, ref)
		default:
			if err := g.show(c, s, out); err != nil {
				e.FailGroup(g.key.layout.Format(g.touched.Row(s), g.touched.Heap), err, 1)
			}
		}
	}
	return g.err()
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
