package dataflow

import (
	"context"

	"github.com/vegadb/vega-flight/ivm/row"
	"github.com/vegadb/vega-flight/ivm/state"
	"github.com/vegadb/vega-flight/ivm/zset"
)

// Windows says which groups are windows of event time. A window that has less than the floor is closed: no change of its rows
// comes any more, so its state is let go; its row stays in the output.
type Windows struct {
	Group int // place in Groups, whose key is one word; sets without it keep their state, and so do groups where it is NULL
	Floor func(context.Context) (least int64, ok bool)
}

// windowEnds are the groups that are windows, in their order. A nil one does nothing.
type windowEnds struct {
	floor func(context.Context) (int64, bool)
	at    int          // place in the key
	table *state.Table // one key; an entry for each group: its window, then its key. It is made again from the groups at each opening
	entry *row.Layout
	row   []uint64
}

// open notes the groups that there are.
func (w *windowEnds) open(g *grouping) {
	w.entry = row.NewLayout(append([]row.Type{{Kind: row.Uint64}}, g.key.layout.Types...)...)
	w.row = make([]uint64, w.entry.Words)
	w.table = state.New(state.Spec{Key: row.ParseLayout("BIGINT"), Entry: w.entry, Order: 1})
	g.table.EachKey(func(key []uint64, h *row.Heap) bool {
		if w.entryOf(g.key.layout, key) {
			w.table.Add(w.ref(), w.row, h, 1)
		}
		return true
	})
}

func (w *windowEnds) ref() state.Ref {
	ref, _ := w.table.Upsert([]uint64{0, 0}, nil)
	return ref
}

// entryOf makes the entry of a group; ok is false if it is no window.
func (w *windowEnds) entryOf(l *row.Layout, key []uint64) (ok bool) {
	if l.IsNull(key, w.at) {
		return false
	}
	clear(w.row)
	w.entry.Set(w.row, 0, signed.word(key[l.Off[w.at]]))
	copy(w.row[w.entry.Off[1]:], key[l.Nulls:]) // the fields lie alike, further on
	for i := range l.Types {
		if l.IsNull(key, i) {
			w.entry.SetNull(w.row, i+1)
		}
	}
	return true
}

// hold notes a group.
func (w *windowEnds) hold(g *grouping, s int) {
	if w != nil && w.entryOf(g.key.layout, g.touched.Row(s)) {
		if ref := w.ref(); w.table.Weight(ref, w.row, g.touched.Heap) == 0 {
			w.table.Add(ref, w.row, g.touched.Heap, 1)
		}
	}
}

// forget drops a group that is gone.
func (w *windowEnds) forget(g *grouping, s int) {
	if w != nil && w.entryOf(g.key.layout, g.touched.Row(s)) {
		ref := w.ref()
		if n := w.table.Weight(ref, w.row, g.touched.Heap); n != 0 {
			w.table.Add(ref, w.row, g.touched.Heap, -n)
		}
	}
}

// letGo drops the groups whose windows are closed.
func (g *grouping) letGo(ctx context.Context) {
	w := g.windows
	if w == nil {
		return
	}
	least, ok := w.floor(ctx)
	if !ok {
		return
	}
	l := g.key.layout
	for {
		g.groups = g.groups[:0]
		ref := w.ref()
		gone := zset.New(w.entry) // entries without their group, which no table should have
		key := make([]uint64, l.Words)
		var c state.Cursor
		for w.table.Scan(&c, ref); len(g.groups)+gone.Len() < emitted && c.Next(); {
			r := c.Row()
			if int64(signed.back(r[w.entry.Off[0]])) >= least {
				break
			}
			clear(key)
			copy(key[l.Nulls:], r[w.entry.Off[1]:])
			for i := range l.Types {
				if w.entry.IsNull(r, i+1) {
					l.SetNull(key, i)
				}
			}
			if ref, ok := g.table.Find(key, w.table.Heap()); ok {
				g.groups = append(g.groups, ref)
			} else {
				gone.Append(r, w.table.Heap(), 1)
			}
		}
		if len(g.groups)+gone.Len() == 0 || w.table.Err() != nil {
			return
		}
		for i := range gone.Len() {
			w.table.Add(ref, gone.Row(i), gone.Heap, -1)
		}
		g.reopen()
		for s, ref := range g.groups {
			g.forget(s, ref)
		}
	}
}
