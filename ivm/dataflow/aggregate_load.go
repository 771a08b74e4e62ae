package dataflow

import (
	"context"
	"slices"

	"github.com/vegadb/vega-flight/ivm/state"
	"github.com/vegadb/vega-flight/ivm/zset"
)

const emitted = 1024 // groups at once

// take is step without output; counts are not looked at.
func (g *grouping) take(b *zset.Batch) {
	g.open(b)
	g.filled = positive(b.Weights)
	defer func() { g.filled = false }()
	if g.filled {
		for _, m := range g.multisets {
			m.fill(g, b)
		}
	} else {
		g.pack()
	}
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
	g.pack()
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
		if err = g.emitSome(ctx, e, &g.shownOf, out); err == nil {
			err = e.drain(out)
		}
	}
	if err == nil {
		g.letGo(ctx)
	}
	return err
}

// pack readies multisets that were filled to be read.
func (g *grouping) pack() {
	for _, m := range g.multisets {
		m.table.Pack()
	}
}

// fill takes a content's rows in, to be packed later, unless each row has to be told from its copies at once.
func (m *multiset) fill(g *grouping, b *zset.Batch) {
	if m.watch {
		return
	}
	refs := g.refs
	switch {
	case g.global:
		m.open(&g.touched, g.groups, m.refs)
		g.refs = slices.Grow(g.refs[:0], b.Len())[:b.Len()]
		for i := range g.refs {
			g.refs[i] = m.refs[0]
		}
		refs = g.refs
	case !m.own:
		m.others = m.table.UpsertAll(&g.keys, m.others)
		refs = m.others
	}
	m.entry.all(&m.entries, b)
	if len(m.filters)+len(m.skip) == 0 {
		m.table.FillRefs(refs, &m.entries)
		return
	}
	n, w := 0, m.entry.layout.Words
	m.chosen, m.chosenWeights = m.chosen[:0], m.chosenWeights[:0]
	for i, ref := range refs {
		if m.counts(b.Row(i)) {
			copy(m.entries.Words[n*w:n*w+w], m.entries.Words[i*w:i*w+w])
			m.chosen, m.chosenWeights = append(m.chosen, ref), append(m.chosenWeights, b.Weights[i])
			n++
		}
	}
	m.entries.Words, m.entries.Weights = m.entries.Words[:n*w], m.chosenWeights
	m.table.FillRefs(m.chosen, &m.entries)
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
