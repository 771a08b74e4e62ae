package dataflow

import (
	"context"
	"math"
	"slices"

	"github.com/vegadb/vega-flight/ivm/row"
	"github.com/vegadb/vega-flight/ivm/state"
	"github.com/vegadb/vega-flight/ivm/zset"
)

// The watermark of a source, W(p) = max time of the rows that came up to position p, less the delay. It is a function of
// positions only: a step may hold the changes of several, and they are taken one position after the other.
//
//	d(σ A) at position p = Σ over changes x of p with time(x) ≥ W(p − 1), or without a time:  w(x)·x
//
// Other changes are late, insertions and deletions alike: they are dropped and counted, and what is behind the watermark never
// changes. Only insertions that are not late move it.

// WatermarkSpec is a watermark.
type WatermarkSpec struct {
	Name     string
	Input    *row.Layout // of prepared rows
	Prepare  Program     // makes them; nil: the input has them
	Time     int         // field of one word: microseconds, or whatever Delay is in
	Position int         // 1 + the field that numbers the source's positions; 0: a step is one position
	Delay    int64
	Row      []int                         // the output's fields
	Late     func(changes int64, r string) // told once a step, with one of the rows; may be nil
}

// Watermark drops late changes.
type Watermark struct {
	spec   WatermarkSpec
	layout *row.Layout
	prep   preparation
	shown  *projection
	time   cell
	table  *state.Table // one key, no entries; payload: rows seen, greatest time, late changes
	row    []uint64
	order  []int
	loaded *zset.Batch
	mark   int64 // what is in the payload, for others to ask
	known  bool
	late   int64
}

const (
	seenAny = iota
	seenTime
	seenLate
	seenWords
)

// NewWatermark makes a watermark.
func NewWatermark(spec WatermarkSpec, tables Tables) (*Watermark, error) {
	m := &Watermark{spec: spec, prep: newPreparation(spec.Prepare, spec.Input), shown: project(spec.Input, spec.Row...)}
	m.layout, m.time = m.shown.layout, cellOf(spec.Input, spec.Time)
	m.row, m.loaded = make([]uint64, m.layout.Words), zset.New(m.layout)
	var err error
	m.table, err = tables.Table(spec.Name, state.Spec{Key: row.ParseLayout("BIGINT"), Payload: seenWords})
	if err != nil {
		return nil, err
	}
	if ref, ok := m.table.Find([]uint64{0, 0}, nil); ok {
		m.tell(m.table.Peek(ref))
	}
	return m, m.table.Err()
}

// Layout is that of the output rows.
func (m *Watermark) Layout() *row.Layout { return m.layout }

// Cancels is false: what cancels here cancelled in the input.
func (m *Watermark) Cancels() bool { return false }

func (m *Watermark) seen() []uint64 {
	ref, _ := m.table.Upsert([]uint64{0, 0}, nil)
	return m.table.Payload(ref)
}

// At is the watermark: nothing before it changes any more. ok is false as long as no row has come. Any operator of the graph may ask.
func (m *Watermark) At() (t int64, ok bool) { return m.mark, m.known }

// tell makes known what the state says.
func (m *Watermark) tell(p []uint64) {
	m.mark, m.known, m.late = at(p, m.spec.Delay), p[seenAny] != 0, int64(p[seenLate])
}

func at(p []uint64, delay int64) int64 {
	t := int64(p[seenTime])
	if t < math.MinInt64+delay {
		return math.MinInt64
	}
	return t - delay
}

// Late is how many changes were dropped since the beginning.
func (m *Watermark) Late() int64 { return m.late }

// Step drops late changes and moves the watermark.
func (m *Watermark) Step(ctx context.Context, e *Epoch, in []*zset.Batch, out *zset.Batch) error {
	b, err := m.prep.run(ctx, e, in[0])
	if err != nil {
		return err
	}
	m.order = slices.Grow(m.order[:0], b.Len())
	for i := range b.Len() {
		m.order = append(m.order, i)
	}
	if m.spec.Position > 0 {
		c := cellOf(b.Layout, m.spec.Position-1)
		slices.SortStableFunc(m.order, func(i, j int) int {
			x, y := b.Row(i)[c.src], b.Row(j)[c.src]
			switch {
			case x < y:
				return -1
			case x > y:
				return 1
			}
			return 0
		})
	}
	p := m.seen()
	late, example := int64(0), -1
	for from := 0; from < len(m.order); {
		to := len(m.order)
		if m.spec.Position > 0 {
			c := cellOf(b.Layout, m.spec.Position-1)
			for to = from + 1; to < len(m.order) && b.Row(m.order[to])[c.src] == b.Row(m.order[from])[c.src]; to++ {
			}
		}
		for _, i := range m.position(p, b, m.order[from:to], out) {
			late++
			example = i
		}
		from = to
	}
	if late > 0 {
		p[seenLate] += uint64(late)
		if m.spec.Late != nil {
			m.spec.Late(late, b.Layout.Format(b.Row(example), b.Heap))
		}
	}
	m.tell(p)
	return m.table.Err()
}

// position takes the changes of one position; it gives those that are late.
func (m *Watermark) position(p []uint64, b *zset.Batch, rows []int, out *zset.Batch) []int {
	w, any := at(p, m.spec.Delay), p[seenAny] != 0
	late := rows[:0]
	for _, i := range rows {
		r := b.Row(i)
		if r[m.time.null]>>m.time.bit&1 == 0 {
			t := int64(r[m.time.src])
			if any && t < w {
				late = append(late, i)
				continue
			}
			if b.Weights[i] > 0 && (p[seenAny] == 0 || t > int64(p[seenTime])) {
				p[seenAny], p[seenTime] = 1, uint64(t)
			}
		}
		m.shown.row(m.row, r)
		out.Append(m.row, b.Heap, b.Weights[i])
	}
	return late
}

// Load takes rows as the changes of their positions.
func (m *Watermark) Load(ctx context.Context, e *Epoch, _ int, rows *zset.Batch) error {
	return m.Step(ctx, e, []*zset.Batch{rows}, m.loaded)
}

// Emit gives what Load let through; afterwards it is not kept.
func (m *Watermark) Emit(_ context.Context, _ *Epoch, out *zset.Batch) error {
	out.AppendBatch(m.loaded)
	m.loaded = zset.New(m.layout)
	return nil
}
