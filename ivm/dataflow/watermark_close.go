package dataflow

import (
	"context"

	"github.com/vegadb/vega-flight/ivm/row"
	"github.com/vegadb/vega-flight/ivm/state"
	"github.com/vegadb/vega-flight/ivm/zset"
)

// Closing holds the rows of event-time windows until the watermark W has reached their window's end, and gives each once:
//
//	content = { x of A : end(x) ≤ W }      d content = Σ over x of A + dA with W < end(x) ≤ W':  (A + dA)(x)·x
//
// A change of a window that is closed cannot come, since late changes are dropped; if one does, it is dropped here. What was
// given is not kept.

// CloseSpec is the closing of windows.
type CloseSpec struct {
	Name    string
	Input   *row.Layout // of prepared rows
	Prepare Program     // makes them; nil: the input has them
	End     int         // field of one word, in the watermark's unit: the first time that is not the window's
	Row     []int       // the output's fields
}

type closing struct {
	spec   CloseSpec
	layout *row.Layout
	prep   preparation
	of     *Watermark
	entry  *projection // end, then the row
	shown  *projection
	end    cell
	table  *state.Table // payload: the end up to which windows are closed, and whether any is
	row    []uint64
	shownR []uint64
	loaded *zset.Batch
}

// NewClose makes the closing of windows by a watermark of the same graph.
func NewClose(spec CloseSpec, of *Watermark, tables Tables) (Operator, error) {
	c := &closing{spec: spec, prep: newPreparation(spec.Prepare, spec.Input), of: of, end: cellOf(spec.Input, spec.End)}
	fields, ops := []int{spec.End}, []transform{signed}
	var shown []int
	for i, f := range spec.Row {
		fields, ops = append(fields, f), append(ops, asIs)
		shown = append(shown, 1+i)
	}
	c.entry = projectOrdered(spec.Input, fields, ops)
	c.shown = project(c.entry.layout, shown...)
	c.layout = c.shown.layout
	c.row, c.shownR = make([]uint64, c.entry.layout.Words), make([]uint64, c.layout.Words)
	c.loaded = zset.New(c.layout)
	var err error
	c.table, err = tables.Table(spec.Name, state.Spec{Key: row.ParseLayout("BIGINT"), Entry: c.entry.layout, Order: 1, Payload: 2})
	return c, err
}

func (c *closing) Layout() *row.Layout { return c.layout }

func (c *closing) Cancels() bool { return false }

// Due reports whether the watermark has reached the end of a window that is held.
func (c *closing) Due(int64) bool {
	ref, ok := c.table.Find([]uint64{0, 0}, nil)
	if !ok {
		return false
	}
	r, _ := c.table.First(ref)
	w, any := c.of.At()
	return r != nil && any && int64(r[c.entry.layout.Off[0]]^signBit) <= w
}

func (c *closing) Step(ctx context.Context, e *Epoch, in []*zset.Batch, out *zset.Batch) error {
	b, err := c.prep.run(ctx, e, in[0])
	if err != nil {
		return err
	}
	ref, _ := c.table.Upsert([]uint64{0, 0}, nil)
	p := c.table.Payload(ref)
	closed, any := int64(p[0]), p[1] != 0
	below := 0
	for i, w := range b.Weights {
		r := b.Row(i)
		if r[c.end.null]>>c.end.bit&1 != 0 || any && int64(r[c.end.src]) <= closed {
			continue
		}
		c.entry.row(c.row, r)
		before, after := c.table.Add(ref, c.row, b.Heap, w)
		if after < 0 {
			below++
		}
		if before < 0 {
			below--
		}
	}
	if err := c.table.Err(); err != nil {
		return err
	}
	if below != 0 {
		return c.excess(ref, b)
	}
	if w, ok := c.of.At(); ok && (!any || w > closed) {
		c.release(ref, w, out)
		p := c.table.Payload(ref)
		p[0], p[1] = uint64(w), 1
	}
	return c.table.Err()
}

func (c *closing) excess(ref state.Ref, b *zset.Batch) error {
	for i := range b.Weights {
		r := b.Row(i)
		c.entry.row(c.row, r)
		if n := c.table.Weight(ref, c.row, b.Heap); n < 0 {
			return excess(b.Layout, r, b.Heap, n)
		}
	}
	return nil
}

// release gives the rows of the windows that are closed now, and lets them go.
func (c *closing) release(ref state.Ref, w int64, out *zset.Batch) {
	h := c.table.Heap()
	for {
		r, n := c.table.First(ref)
		if r == nil || int64(r[c.entry.layout.Off[0]]^signBit) > w {
			return
		}
		c.shown.row(c.shownR, r)
		out.Append(c.shownR, h, n)
		copy(c.row, r)
		c.table.Add(ref, c.row, h, -n)
	}
}

func (c *closing) Load(ctx context.Context, e *Epoch, _ int, rows *zset.Batch) error {
	return c.Step(ctx, e, []*zset.Batch{rows}, c.loaded)
}

func (c *closing) Emit(_ context.Context, _ *Epoch, out *zset.Batch) error {
	out.AppendBatch(c.loaded)
	c.loaded = zset.New(c.layout)
	return nil
}
