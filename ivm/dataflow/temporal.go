package dataflow

import (
	"context"
	"fmt"
	"slices"

	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/ivm/row"
	"github.com/vegadb/vega-flight/ivm/state"
	"github.com/vegadb/vega-flight/ivm/zset"
)

// The temporal filter. Its bounds compare a field of the row with a time that follows the logical clock, such as
// ts >= now() − INTERVAL 1 HOUR. With A the rows and T the bounds' times, which go from T to T' in a step:
//
//	d σ(A, T) = Σ over rows x of A that lie between a bound's T and T':  A(x)·([T' holds x] − [T holds x])·x
//	          + Σ over changes x:  w(x)·[T' holds x]·x
//
// The rows are kept in the order of each bound's field, so that a step of the clock costs the rows that it moves. Rows that no
// further step of the clock can let in are not kept: their deletion changes nothing either. Rows that none can put out are
// not kept if nothing else can: their deletion passes.

// TemporalSpec is a temporal filter: the rows for which all bounds hold.
type TemporalSpec struct {
	Name    string
	Input   *row.Layout // of prepared rows
	Prepare Program     // makes them; nil: the input has them
	Bounds  []Bound
	Row     []int // the output's fields
}

type temporal struct {
	spec   TemporalSpec
	layout *row.Layout
	prep   preparation
	bounds []bound
	shown  *projection
	ref    []state.Ref // of the only key, in each bound's table, during a step
	opened bool
	row    []uint64
	loaded *zset.Batch // rows that are in for ever, between Load and Emit
}

// NewTemporal makes a temporal filter.
func NewTemporal(spec TemporalSpec, tables Tables) (Operator, error) {
	t := &temporal{spec: spec, prep: newPreparation(spec.Prepare, spec.Input), shown: project(spec.Input, spec.Row...)}
	t.layout = t.shown.layout
	t.row = make([]uint64, t.layout.Words)
	t.loaded = zset.New(t.layout)
	var fields []int
	for _, b := range spec.Bounds {
		fields = append(fields, b.Field)
	}
	for i, b := range spec.Bounds {
		op, ok := orderOf(spec.Input.Types[b.Field])
		if !ok || spec.Input.Types[b.Field].Words() != 1 {
			return nil, fault.InternalError.Newf("a value of type %s does not follow the clock", spec.Input.Types[b.Field])
		}
		ops := make([]transform, 1+len(fields)+len(spec.Row))
		ops[0] = op
		for j, f := range fields {
			ops[1+j], _ = orderOf(spec.Input.Types[f])
		}
		x := bound{Bound: b, op: op, cell: cellOf(spec.Input, b.Field)}
		x.entry = projectOrdered(spec.Input, slices.Concat([]int{b.Field}, fields, spec.Row), ops)
		x.at = x.entry.layout.Off[1+i]
		x.row = make([]uint64, x.entry.layout.Words)
		table := state.Spec{Key: row.ParseLayout("BIGINT"), Entry: x.entry.layout, Order: 1}
		if i == 0 {
			table.Payload = 1 + 2*len(spec.Bounds)
		}
		var err error
		if x.table, err = tables.Table(fmt.Sprintf("%s/bound%d", spec.Name, i), table); err != nil {
			return nil, err
		}
		t.bounds = append(t.bounds, x)
	}
	fields = fields[:0]
	for i := range spec.Row {
		fields = append(fields, 1+len(spec.Bounds)+i)
	}
	if len(t.bounds) > 0 {
		t.shown = project(t.bounds[0].entry.layout, fields...)
	}
	return t, nil
}

func (t *temporal) Layout() *row.Layout { return t.layout }

// Cancels is true: a row may come and, its time being over, go.
func (t *temporal) Cancels() bool { return true }

// fate says what becomes of a row: whether it holds now, and whether the clock can still change that.
func (t *temporal) fate(word func(b *bound) uint64) (in, kept bool) {
	in = true
	for i := range t.bounds {
		b := &t.bounds[i]
		if b.holds(&b.is, word(b)) {
			kept = kept || !b.Below || !b.Monotone
			continue
		}
		if in = false; b.Monotone && !b.Below {
			return false, false // it is over
		}
		kept = true
	}
	return in, kept
}

// find finds the only key of each bound's table.
func (t *temporal) find() {
	t.ref = t.ref[:0]
	for i := range t.bounds {
		ref, _ := t.bounds[i].table.Upsert([]uint64{0, 0}, nil)
		t.ref = append(t.ref, ref)
	}
}

// advance reads the bounds' times at a clock.
func (t *temporal) advance(now int64) error {
	t.find()
	if !t.opened {
		t.opened = true
		return t.open(now)
	}
	if len(t.bounds) == 0 {
		return nil
	}
	p := t.bounds[0].table.Payload(t.ref[0])
	for i := range t.bounds {
		b := &t.bounds[i]
		var err error
		b.was = b.is
		if b.is, err = b.moment(now); err != nil {
			return err
		}
		b.is.save(p[1+2*i:])
	}
	return nil
}

// open finds the state, which has the times that it is of, or begins it.
func (t *temporal) open(now int64) error {
	if len(t.bounds) == 0 {
		return nil
	}
	p := t.bounds[0].table.Payload(t.ref[0])
	known := p[0] != 0
	p[0] = 1
	for i := range t.bounds {
		b := &t.bounds[i]
		m, err := b.moment(now)
		if err != nil {
			return err
		}
		b.was, b.is = m, m
		if known {
			b.was.restore(p[1+2*i:])
		}
		b.is.save(p[1+2*i:])
	}
	return nil
}

func (t *temporal) Step(ctx context.Context, e *Epoch, in []*zset.Batch, out *zset.Batch) error {
	b, err := t.prep.run(ctx, e, in[0])
	if err != nil {
		return err
	}
	if err := t.advance(e.Now); err != nil {
		return err
	}
	t.turn(out)
	return t.take(b, out)
}

// turn gives the rows that the clock lets in or puts out.
func (t *temporal) turn(out *zset.Batch) {
	for i := range t.bounds {
		b := &t.bounds[i]
		from, to, any := b.between()
		if !any {
			continue
		}
		moved := zset.New(b.entry.layout) // the table must not change under the cursor
		var c state.Cursor
		h := b.table.Heap()
		clear(b.row)
		b.row[b.entry.layout.Off[0]] = from
		for b.table.Seek(&c, t.ref[i], b.row, h); c.Next(); {
			r := c.Row()
			if r[b.entry.layout.Off[0]] > to {
				break
			}
			moved.Append(r, h, c.Weight())
		}
		for k, w := range moved.Weights {
			t.move(i, moved.Row(k), moved.Heap, w, out)
		}
	}
}

// move gives a row that lies between the times of bound i, unless an earlier bound has done so.
func (t *temporal) move(i int, r []uint64, h *row.Heap, w int64, out *zset.Batch) {
	was := true
	for j := range t.bounds {
		b := &t.bounds[j]
		v := r[b.at]
		if from, to, any := b.between(); j < i && any && v >= from && v <= to {
			return
		}
		was = was && b.holds(&b.was, v)
	}
	in, kept := t.fate(func(b *bound) uint64 { return r[b.at] })
	if in != was {
		t.shown.row(t.row, r)
		if was {
			out.Append(t.row, h, -w)
		} else {
			out.Append(t.row, h, w)
		}
	}
	if !kept {
		t.addEntry(r, h, -w)
	}
}

// addEntry adds to all tables a row that is an entry of one of them: they differ in the first field only.
func (t *temporal) addEntry(r []uint64, h *row.Heap, w int64) {
	for j := range t.bounds {
		b := &t.bounds[j]
		copy(b.row, r)
		b.row[b.entry.layout.Off[0]] = r[b.at]
		b.table.Add(t.ref[j], b.row, h, w)
	}
}

// take takes changes in and gives those that hold.
func (t *temporal) take(b *zset.Batch, out *zset.Batch) error {
	if len(t.bounds) == 0 {
		for i, w := range b.Weights {
			t.shown.row(t.row, b.Row(i))
			out.Append(t.row, b.Heap, w)
		}
		return nil
	}
	first := &t.bounds[0]
	below := 0
	for i, w := range b.Weights {
		r := b.Row(i)
		if t.null(r) {
			continue
		}
		in, kept := t.fate(func(b *bound) uint64 { return b.op.word(r[b.cell.src]) })
		if !in && !kept {
			continue
		}
		first.entry.row(first.row, r)
		if in {
			t.shown.row(t.row, first.row)
			out.Append(t.row, b.Heap, w)
		}
		if !kept {
			continue
		}
		before, after := first.table.Add(t.ref[0], first.row, b.Heap, w)
		if after < 0 {
			below++
		}
		if before < 0 {
			below--
		}
		for j := 1; j < len(t.bounds); j++ {
			x := &t.bounds[j]
			x.entry.row(x.row, r)
			x.table.Add(t.ref[j], x.row, b.Heap, w)
		}
	}
	for j := range t.bounds {
		if err := t.bounds[j].table.Err(); err != nil {
			return err
		}
	}
	if below != 0 {
		return t.excess(b)
	}
	return nil
}

// null says that a bound's field is NULL: the row never holds.
func (t *temporal) null(r []uint64) bool {
	for j := range t.bounds {
		if c := &t.bounds[j].cell; r[c.null]>>c.bit&1 != 0 {
			return true
		}
	}
	return false
}

func (t *temporal) excess(b *zset.Batch) error {
	first := &t.bounds[0]
	for i := range b.Weights {
		r := b.Row(i)
		if t.null(r) {
			continue
		}
		first.entry.row(first.row, r)
		if n := first.table.Weight(t.ref[0], first.row, b.Heap); n < 0 {
			return excessOf(t.spec.Row, b.Layout, r, b.Heap, n)
		}
	}
	return fault.ExcessRetraction.Newf("a row was taken back more often than it had come")
}

// Due reports whether a bound's time at a clock lies behind a row that is kept.
func (t *temporal) Due(now int64) bool {
	if !t.opened {
		return len(t.bounds) > 0
	}
	t.find()
	for i := range t.bounds {
		b := &t.bounds[i]
		m, err := b.moment(now)
		if err != nil {
			return true // the step says so
		}
		x := *b
		x.was, x.is = b.is, m
		from, to, any := x.between()
		if !any {
			continue
		}
		var c state.Cursor
		clear(b.row)
		b.row[b.entry.layout.Off[0]] = from
		if b.table.Seek(&c, t.ref[i], b.row, b.table.Heap()); c.Next() && c.Row()[b.entry.layout.Off[0]] <= to {
			return true
		}
	}
	return false
}

func (t *temporal) Load(ctx context.Context, e *Epoch, _ int, rows *zset.Batch) error {
	b, err := t.prep.run(ctx, e, rows)
	if err != nil {
		return err
	}
	if err := t.advance(e.Now); err != nil {
		return err
	}
	t.turn(t.loaded)
	return t.take(b, t.loaded)
}

func (t *temporal) Emit(_ context.Context, e *Epoch, out *zset.Batch) error {
	if err := t.advance(e.Now); err != nil {
		return err
	}
	out.AppendBatch(t.loaded)
	t.loaded = zset.New(t.layout)
	t.turn(out)
	return nil
}
