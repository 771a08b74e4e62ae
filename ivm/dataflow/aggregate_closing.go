package dataflow

import (
	"github.com/vegadb/vega-flight/ivm/row"
	"github.com/vegadb/vega-flight/ivm/state"
)

// windowEnds lets groups go that are windows of event time and closed: no change of theirs passes the watermark any more. A
// group's end is in its payload: 1 if there is one, and the time. A nil one does nothing.
type windowEnds struct {
	place
	cell
	of    *Watermark
	table *state.Table // one key; an entry for each group that has an end: the end, then the key
	entry *row.Layout
	row   []uint64
}

func (*windowEnds) words() int { return 2 }

// add reads the ends: all rows of a group have the same.
func (w *windowEnds) add(c *changes) {
	for i, s := range c.slots {
		r := c.words[i*c.stride:]
		if r[w.null]>>w.bit&1 == 0 {
			p := c.acc[int(s)*c.size+w.off:]
			p[0], p[1] = 1, signed.word(r[w.src])
		}
	}
}

func (w *windowEnds) tables(name string, g *grouping, tables Tables) error {
	w.entry = row.NewLayout(append([]row.Type{{Kind: row.Uint64}}, g.key.layout.Types...)...)
	w.row = make([]uint64, w.entry.Words)
	var err error
	w.table, err = tables.Table(name+"/ends", state.Spec{Key: row.ParseLayout("BIGINT"), Entry: w.entry, Order: 1})
	return err
}

func (w *windowEnds) ref() state.Ref {
	ref, _ := w.table.Upsert([]uint64{0, 0}, nil)
	return ref
}

// entryOf makes the entry of a touched group; ok is false if it has no end.
func (w *windowEnds) entryOf(g *grouping, s int) (ok bool) {
	p := g.acc[s*g.size+w.off:]
	if p[0] == 0 {
		return false
	}
	clear(w.row)
	w.entry.Set(w.row, 0, p[1])
	key := g.touched.Row(s)
	copy(w.row[w.entry.Off[1]:], key[g.key.layout.Nulls:]) // the fields lie alike, one place further
	for i := range g.key.layout.Types {
		if g.key.layout.IsNull(key, i) {
			w.entry.SetNull(w.row, i+1)
		}
	}
	return true
}

// hold notes the end of a group.
func (w *windowEnds) hold(g *grouping, s int) {
	if w != nil && w.entryOf(g, s) {
		if ref := w.ref(); w.table.Weight(ref, w.row, g.touched.Heap) == 0 {
			w.table.Add(ref, w.row, g.touched.Heap, 1)
		}
	}
}

// forget drops the end of a group that is gone.
func (w *windowEnds) forget(g *grouping, s int) {
	if w != nil && w.entryOf(g, s) {
		ref := w.ref()
		if n := w.table.Weight(ref, w.row, g.touched.Heap); n != 0 {
			w.table.Add(ref, w.row, g.touched.Heap, -n)
		}
	}
}

// letGo drops the groups whose windows are closed.
func (g *grouping) letGo() {
	w := g.windows
	if w == nil {
		return
	}
	mark, ok := w.of.At()
	if !ok {
		return
	}
	for {
		g.groups = g.groups[:0]
		ref := w.ref()
		key := make([]uint64, g.key.layout.Words)
		var c state.Cursor
		for w.table.Scan(&c, ref); len(g.groups) < emitted && c.Next(); {
			r := c.Row()
			if int64(signed.back(r[w.entry.Off[0]])) > mark {
				break
			}
			clear(key)
			copy(key[g.key.layout.Nulls:], r[w.entry.Off[1]:])
			for i := range g.key.layout.Types {
				if w.entry.IsNull(r, i+1) {
					g.key.layout.SetNull(key, i)
				}
			}
			if ref, ok := g.table.Find(key, w.table.Heap()); ok {
				g.groups = append(g.groups, ref)
			}
		}
		if len(g.groups) == 0 {
			return
		}
		g.reopen()
		for s, ref := range g.groups {
			g.forget(s, ref)
		}
	}
}
