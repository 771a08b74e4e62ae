package dataflow

import (
	"cmp"
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
// changes. Only rows that come, are not late and are there after their position move it, and of those none at infinity.

// WatermarkSpec is a watermark.
type WatermarkSpec struct {
	Name     string
	Source   string
	Input    *row.Layout
	Time     int // field of one word: microseconds, or whatever Delay is in
	Position int // field of one word that numbers the source's positions, as they come
	Delay    int64
	Tick     int64          // microseconds in a unit of Time, or the negative of its units in one; 0 is 1
	Infinite int64          // the time that is no time, and its negative; 0: none is
	Row      []int          // the output's fields
	Late     func(Lateness) // told once for each position with late changes; may be nil
	Keep     bool           // late changes are kept until somebody takes them
}

// Lateness is late changes of one position.
type Lateness struct {
	Source   string
	Position uint64
	Changes  int64
	Row      string // of those with the earliest time
	Behind   int64  // how far its time is behind the watermark, in microseconds
}

// Watermark drops late changes.
type Watermark struct {
	spec   WatermarkSpec
	layout *row.Layout
	shown  *projection
	time   cell
	at     cell         // of the position
	table  *state.Table // one key, no entries; payload: see the seen… words
	row    []uint64
	order  []int
	newer  []int
	loaded *zset.Batch
	mark   int64 // what is in the payload, for others to ask
	known  bool
	late   int64
	newest int64
	input  int         // of the graph
	drops  *zset.Batch // late changes, if they are kept
}

const (
	seenAny      = iota // whether a row has come
	seenTime            // the greatest time
	seenLate            // late changes
	seenPosition        // 1 + the newest position
	seenFloor           // the watermark before it
	seenFloored         // whether there was one
	seenWords
)

// NewWatermark makes a watermark.
func NewWatermark(spec WatermarkSpec, tables Tables) (*Watermark, error) {
	m := &Watermark{spec: spec, shown: project(spec.Input, spec.Row...)}
	m.layout, m.time, m.at = m.shown.layout, cellOf(spec.Input, spec.Time), cellOf(spec.Input, spec.Position)
	m.row, m.loaded, m.drops = make([]uint64, m.layout.Words), zset.New(m.layout), zset.New(spec.Input)
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

// Cancels is true: changes of several positions may.
func (m *Watermark) Cancels() bool { return true }

// At is the watermark: nothing before it changes any more. ok is false as long as no row has come. Any operator of the graph may ask.
func (m *Watermark) At() (t int64, ok bool) { return m.mark, m.known }

// Late is how many changes were dropped since the beginning.
func (m *Watermark) Late() int64 { return m.late }

// tell makes known what the state says.
func (m *Watermark) tell(p []uint64) {
	m.mark, m.known, m.late, m.newest = behind(p, m.spec.Delay), p[seenAny] != 0, int64(p[seenLate]), int64(p[seenTime])
}

func behind(p []uint64, delay int64) int64 {
	t := int64(p[seenTime])
	if t < math.MinInt64+delay {
		return math.MinInt64
	}
	return t - delay
}

// Step drops late changes and moves the watermark.
func (m *Watermark) Step(_ context.Context, _ *Epoch, in []*zset.Batch, out *zset.Batch) error {
	b := in[0]
	m.order = slices.Grow(m.order[:0], b.Len())
	for i := range b.Len() {
		m.order = append(m.order, i)
	}
	position := func(i int) uint64 { return b.Row(i)[m.at.src] }
	slices.SortStableFunc(m.order, func(i, j int) int { return cmp.Compare(position(i), position(j)) })
	ref, _ := m.table.Upsert([]uint64{0, 0}, nil)
	p := m.table.Payload(ref)
	for from := 0; from < len(m.order); {
		now := position(m.order[from])
		to := from + 1
		for to < len(m.order) && position(m.order[to]) == now {
			to++
		}
		if p[seenPosition] != now+1 { // else it goes on: a load comes in pieces
			p[seenPosition], p[seenFloor], p[seenFloored] = now+1, uint64(behind(p, m.spec.Delay)), p[seenAny]
		}
		m.position(p, b, m.order[from:to], out)
		from = to
	}
	m.tell(p)
	return m.table.Err()
}

// position takes the changes of one position.
func (m *Watermark) position(p []uint64, b *zset.Batch, rows []int, out *zset.Batch) {
	floor, floored := int64(p[seenFloor]), p[seenFloored] != 0
	late, first := int64(0), -1
	newer, passing := m.newer[:0], false
	time := func(i int) int64 { return int64(b.Row(i)[m.time.src]) }
	for _, i := range rows {
		r := b.Row(i)
		if r[m.time.null]>>m.time.bit&1 == 0 {
			t := time(i)
			if floored && t < floor {
				late += max(b.Weights[i], -b.Weights[i])
				if m.spec.Keep {
					m.drops.Append(r, b.Heap, b.Weights[i])
				}
				if first < 0 || t < time(first) {
					first = i
				}
				continue
			}
			if (p[seenAny] == 0 || t > int64(p[seenTime])) && (m.spec.Infinite == 0 || t != m.spec.Infinite && t != -m.spec.Infinite) {
				newer = append(newer, i)
				passing = passing || b.Weights[i] < 0
			}
		}
		m.shown.row(m.row, r)
		out.Append(m.row, b.Heap, b.Weights[i])
	}
	m.newer = newer
	if passing {
		newer = staying(b, newer, time)
	}
	for _, i := range newer {
		if t := time(i); b.Weights[i] > 0 && (p[seenAny] == 0 || t > int64(p[seenTime])) {
			p[seenAny], p[seenTime] = 1, uint64(t)
		}
	}
	if late == 0 {
		return
	}
	p[seenLate] += uint64(late)
	if m.spec.Late != nil {
		m.spec.Late(Lateness{m.spec.Source, p[seenPosition] - 1, late, b.Layout.Format(b.Row(first), b.Heap), m.lag(floor, time(first))})
	}
}

// staying is those of a position's rows, all newer than any before, that are there after it: a row of its own that a commit takes back never was.
// So what goes of these came with it, and the sum at each time is of rows that stay.
func staying(b *zset.Batch, rows []int, time func(i int) int64) (out []int) {
	sums := map[int64]int64{}
	for _, i := range rows {
		sums[time(i)] += b.Weights[i]
	}
	for _, i := range rows {
		if sums[time(i)] > 0 {
			out = append(out, i)
		}
	}
	return out
}

// Dropped gives the late changes that were dropped since it was asked last.
func (m *Watermark) Dropped() *zset.Batch {
	if m.drops.Len() == 0 {
		return nil
	}
	return m.drops.Take()
}

// resume takes the watermark, whose input has been loaded, to where it was at that position before.
func (m *Watermark) resume(at Mark, position int64) {
	ref, _ := m.table.Upsert([]uint64{0, 0}, nil)
	p := m.table.Payload(ref)
	clear(p)
	p[seenTime], p[seenLate], p[seenPosition] = uint64(at.Newest), uint64(at.Late), uint64(position+1)
	if at.Known {
		p[seenAny] = 1
	}
	p[seenFloor], p[seenFloored] = uint64(behind(p, m.spec.Delay)), p[seenAny]
	m.tell(p)
}

// lag is a span between times in microseconds.
func (m *Watermark) lag(floor, t int64) int64 {
	d := floor - t
	switch tick := m.spec.Tick; {
	case d < 0: // beyond what a word holds
		return math.MaxInt64
	case tick > 1 && d > math.MaxInt64/tick:
		return math.MaxInt64
	case tick > 1:
		return d * tick
	case tick < 0: // so many units in a microsecond
		return d / -tick
	}
	return d
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
