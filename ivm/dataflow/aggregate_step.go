package dataflow

import (
	"cmp"
	"context"

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
	g.letGo(ctx)
	return g.err()
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
		if !g.filled || m.watch {
			m.apply(c)
		}
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
					return excessOf(g.spec.own(), b.Layout, b.Row(i), b.Heap, n)
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
