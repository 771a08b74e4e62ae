package dataflow

import (
	"context"

	"github.com/vegadb/vega-flight/ivm/state"
	"github.com/vegadb/vega-flight/ivm/zset"
)

const emitted = 1024 // groups at once

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
		g.letGo(ctx)
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
