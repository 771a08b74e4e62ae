package dataflow

import (
	"context"
	"slices"

	"github.com/vegadb/vega-flight/ivm/row"
	"github.com/vegadb/vega-flight/ivm/state"
	"github.com/vegadb/vega-flight/ivm/zset"
)

// JoinClosing says when rows of a join's side can meet nothing any more: when Own is below Below and Value below Above. Then their state
// is let go; what they gave stays in the output. A row whose Own is NULL stays; one whose Value is NULL meets nothing anyway.
type JoinClosing struct {
	Own          int     // field of the side's rows, of one word
	Value        Program // one field of one word for each row: what the other side's value must not be above
	Below, Above func(context.Context) (least int64, ok bool)
}

// closing is the rows of a side by the times at which they can go. It is made again from the side's state at each opening.
type closing struct {
	spec    *JoinClosing
	layout  *row.Layout
	own     cell
	value   cell
	waiting *timeline // by Value
	past    *timeline // by Own: those whose Value is below above, or NULL
	above   int64     // what rows have been moved up to
	moved   bool      // they have been
	values  *zset.Batch
	bad     []int
	gone    *zset.Batch // of the timelines' rows
	rows    *zset.Batch
	keys    *zset.Batch
	refs    []state.Ref
}

func newClosing(spec *JoinClosing, l *row.Layout) *closing {
	c := &closing{spec: spec, layout: l, own: cellOf(l, spec.Own), value: cellOf(spec.Value.Layout(), 0), values: zset.New(spec.Value.Layout())}
	c.waiting, c.past = newTimeline(l), newTimeline(l)
	c.gone, c.rows = zset.New(c.past.entry), zset.New(l)
	return c
}

// open notes the rows that the side has.
func (c *closing) open(s *side) error {
	c.keys = zset.New(s.computed.Layout)
	rows := zset.New(c.layout)
	var err error
	var cur state.Cursor
	s.table.Each(func(ref state.Ref) bool {
		for s.table.Scan(&cur, ref); cur.Next(); {
			rows.Append(cur.Row(), s.table.Heap(), cur.Weight())
		}
		if rows.Len() >= emitted {
			err = c.note(context.Background(), rows)
			rows.Reset()
		}
		return err == nil
	})
	if err != nil {
		return err
	}
	return c.note(context.Background(), rows)
}

// note takes changes of the side's rows.
func (c *closing) note(ctx context.Context, rows *zset.Batch) error {
	c.values.Reset()
	c.bad = c.bad[:0]
	if err := c.spec.Value.Run(ctx, rows, c.values, func(i int, _ error) { c.bad = append(c.bad, i) }); err != nil {
		return err
	}
	slices.Sort(c.bad)
	k, b := 0, 0
	for i, w := range rows.Weights {
		if b < len(c.bad) && c.bad[b] == i { // it stays
			b++
			continue
		}
		v := c.values.Row(k)
		k++
		r := rows.Row(i)
		if r[c.own.null]>>c.own.bit&1 != 0 {
			continue
		}
		if value := v[c.value.src]; v[c.value.null]>>c.value.bit&1 != 0 || c.moved && int64(value) < c.above {
			c.past.add(r[c.own.src], r, rows.Heap, w)
		} else {
			c.waiting.add(value, r, rows.Heap, w)
		}
	}
	return nil
}

// letGo drops the rows that are behind both watermarks from the side's state.
func (c *closing) letGo(ctx context.Context, s *side, counts *partners) error {
	if above, ok := c.spec.Above(ctx); ok && (!c.moved || above > c.above) {
		c.above, c.moved = above, true
		for c.waiting.take(c.gone, above) {
			for i, w := range c.gone.Weights {
				r := c.past.back(c.gone.Row(i))
				c.past.add(r[c.own.src], r, c.gone.Heap, w)
			}
		}
	}
	below, ok := c.spec.Below(ctx)
	if !ok {
		return nil
	}
	for c.past.take(c.gone, below) {
		c.rows.Reset()
		for i, w := range c.gone.Weights {
			c.rows.Append(c.past.back(c.gone.Row(i)), c.gone.Heap, w)
		}
		if err := c.drop(ctx, s, counts); err != nil {
			return err
		}
	}
	return nil
}

// drop takes rows, which have had a key, out of the state.
func (c *closing) drop(ctx context.Context, s *side, counts *partners) error {
	c.keys.Reset()
	if s.program == nil {
		c.keys.Weights = append(c.keys.Weights, c.rows.Weights...) // rows of no words
	} else if err := s.program.Run(ctx, c.rows, c.keys, func(int, error) {}); err != nil {
		return err
	}
	c.refs = s.table.FindAll(c.keys, c.refs)
	for i, ref := range c.refs {
		if ref == state.None {
			continue
		}
		s.table.Add(ref, c.rows.Row(i), c.rows.Heap, -c.rows.Weights[i])
	}
	slices.Sort(c.refs)
	for _, ref := range slices.Compact(c.refs) {
		if ref != state.None && s.table.Len(ref) == 0 {
			s.table.Remove(ref)
		}
	}
	if counts != nil {
		own := counts.all(c.keys, c.rows)
		for _, ref := range own {
			counts.table.Remove(ref)
		}
	}
	return s.table.Err()
}

// timeline is rows by a time.
type timeline struct {
	table *state.Table // one key; an entry is a time, then the row's fields
	of    *row.Layout
	entry *row.Layout
	row   []uint64
	plain []uint64
	cur   state.Cursor
}

func newTimeline(l *row.Layout) *timeline {
	entry := row.NewLayout(append([]row.Type{{Kind: row.Uint64}}, l.Types...)...)
	return &timeline{
		table: state.New(state.Spec{Key: row.ParseLayout("BIGINT"), Entry: entry, Order: 1}), of: l, entry: entry,
		row: make([]uint64, entry.Words), plain: make([]uint64, l.Words),
	}
}

func (t *timeline) ref() state.Ref {
	ref, _ := t.table.Upsert([]uint64{0, 0}, nil)
	return ref
}

func (t *timeline) add(time uint64, r []uint64, h *row.Heap, w int64) {
	t.place(time, r)
	t.table.Add(t.ref(), t.row, h, w)
}

// set adds a row unless it is there.
func (t *timeline) set(time uint64, r []uint64, h *row.Heap) {
	t.place(time, r)
	if ref := t.ref(); t.table.Weight(ref, t.row, h) == 0 {
		t.table.Add(ref, t.row, h, 1)
	}
}

// place makes the entry of a row.
func (t *timeline) place(time uint64, r []uint64) {
	clear(t.row[:t.entry.Nulls])
	t.row[t.entry.Off[0]] = signed.word(time)
	copy(t.row[t.entry.Off[0]+1:], r[t.of.Nulls:]) // the fields lie alike, further on
	for i := range t.of.Types {
		if t.of.IsNull(r, i) {
			t.entry.SetNull(t.row, i+1)
		}
	}
}

// back is an entry's row, valid until the next call.
func (t *timeline) back(e []uint64) []uint64 {
	clear(t.plain[:t.of.Nulls])
	copy(t.plain[t.of.Nulls:], e[t.entry.Off[0]+1:])
	for i := range t.of.Types {
		if t.entry.IsNull(e, i+1) {
			t.of.SetNull(t.plain, i)
		}
	}
	return t.plain
}

// take makes out the first entries whose time is before a limit, and forgets them; false is that there are none.
func (t *timeline) take(out *zset.Batch, limit int64) bool {
	out.Reset()
	ref := t.ref()
	for t.table.Scan(&t.cur, ref); out.Len() < emitted && t.cur.Next(); {
		e := t.cur.Row()
		if int64(signed.back(e[t.entry.Off[0]])) >= limit {
			break
		}
		out.Append(e, t.table.Heap(), t.cur.Weight())
	}
	for i, w := range out.Weights {
		t.table.Add(ref, out.Row(i), out.Heap, -w)
	}
	return out.Len() > 0
}
