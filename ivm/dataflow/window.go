package dataflow

import (
	"context"
	"slices"

	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/ivm/row"
	"github.com/vegadb/vega-flight/ivm/state"
	"github.com/vegadb/vega-flight/ivm/zset"
)

// Window functions. With ω(P) the rows of partition P with their functions:
//
//	d ω(A) = Σ over partitions P that dA touches:  ω(P + dP) − ω(P)
//
// A touched partition is computed as it was and as it is, from its kept rows, and what both begin and end with is left out:
// before the first row that changes nothing changes, but for what looks ahead. A row that is there twice gets the functions of two rows. Peers that ORDER BY does not tell apart are numbered by the whole row.
// Functions that are not computed here are the evaluator's (window_foreign.go).

// WindowSpec is window functions over one PARTITION BY and ORDER BY.
type WindowSpec struct {
	Name      string
	Input     *row.Layout // of prepared rows
	Prepare   Program     // makes them; nil: the input has them
	Partition []int       // normalised fields; none: all rows are one partition
	Order     []int       // order-row fields
	Row       []int       // fields that the output begins with
	Functions []WindowFunction
	Evaluator GroupEvaluator // of the evaluated functions, in their order
	Kept      []int          // fields of the rows that it is given
	Repeats   bool           // as in TopKSpec
}

// WindowFunction is one of them: row_number, rank, dense_rank, lag(x) and lead(x), or an evaluated one.
type WindowFunction struct {
	Name      string
	Args      []int
	Offset    int64 // of lag and lead; may be negative
	Default   int   // 1 + the field that stands for a row that is not there; 0: NULL
	Result    row.Type
	Evaluated bool
}

type window struct {
	spec    WindowSpec
	layout  *row.Layout
	prep    preparation
	p       *partitions
	places  map[int]int // of prepared fields in an entry
	foreign *windowForeign
	cursor  state.Cursor
	rows    [][]uint64 // entries of a partition, one for each copy
	ahead   int        // how many rows behind it a row's functions look at
	shown   *projection
	others  []*projection // of lag and lead: the argument
	instead []*projection // and the default, or nil
	row     []uint64
	was, is *zset.Batch
}

// NewWindow makes window functions.
func NewWindow(spec WindowSpec, tables Tables) (Operator, error) {
	w := &window{spec: spec, prep: newPreparation(spec.Prepare, spec.Input), places: map[int]int{}}
	var kept []int
	keep := func(fields ...int) {
		for _, f := range fields {
			if _, ok := w.places[f]; !ok {
				w.places[f] = len(spec.Order) + len(kept)
				kept = append(kept, f)
			}
		}
	}
	keep(spec.Row...)
	var types []row.Type
	for _, f := range spec.Row {
		types = append(types, spec.Input.Types[f])
	}
	evaluated := 0
	for _, f := range spec.Functions {
		types = append(types, f.Result)
		if f.Evaluated {
			evaluated++
			continue
		}
		keep(f.Args...)
		if f.Default > 0 {
			keep(f.Default - 1)
		}
	}
	if evaluated > 0 {
		keep(spec.Kept...)
	}
	w.layout = row.NewLayout(types...)
	w.was, w.is = zset.New(w.layout), zset.New(w.layout)
	w.p = newPartitions(spec.Input, spec.Partition, spec.Order, kept)
	w.p.says = spec.Row
	w.p.setOrder(len(spec.Order))
	w.place()
	var err error
	if w.p.table, err = tables.Table(spec.Name, w.p.spec(len(spec.Order), spec.Repeats)); err != nil {
		return nil, err
	}
	if evaluated > 0 {
		if spec.Evaluator == nil {
			return nil, fault.InternalError.Newf("the windows %q have functions that need an evaluator", spec.Name)
		}
		w.foreign, err = newWindowForeign(w, tables)
	}
	return w, err
}

// place finds where the output's fields are kept.
func (w *window) place() {
	entry := w.p.entry.layout
	var at, fields []int
	for i, f := range w.spec.Row {
		at, fields = append(at, i), append(fields, w.places[f])
	}
	w.shown = placed(w.layout, entry, at, fields)
	w.row = make([]uint64, w.layout.Words)
	w.others, w.instead = make([]*projection, len(w.spec.Functions)), make([]*projection, len(w.spec.Functions))
	for i := range w.spec.Functions {
		f, at := &w.spec.Functions[i], []int{len(w.spec.Row) + i}
		if f.Evaluated || len(f.Args) == 0 {
			continue
		}
		w.others[i] = placed(w.layout, entry, at, []int{w.places[f.Args[0]]})
		if f.Default > 0 {
			w.instead[i] = placed(w.layout, entry, at, []int{w.places[f.Default-1]})
		}
		w.ahead = max(w.ahead, int(min(f.distance(), 1<<30)))
	}
}

// distance is how many rows further lag or lead looks.
func (f *WindowFunction) distance() int64 {
	if f.Name == "lag" {
		return -f.Offset
	}
	return f.Offset
}

func (w *window) Layout() *row.Layout { return w.layout }

// Cancels is true: rows between the first and the last that differ may be equal.
func (w *window) Cancels() bool { return true }

func (w *window) Step(ctx context.Context, e *Epoch, in []*zset.Batch, out *zset.Batch) error {
	b, err := w.prep.run(ctx, e, in[0])
	if err != nil {
		return err
	}
	w.p.open(b)
	for s, ref := range w.p.touched {
		below, first := 0, 0
		changed := w.p.of(s)
		if w.foreign == nil {
			first = w.first(ref, changed)
			w.was.Reset()
			if err := w.compute(ref, first, w.was); err != nil {
				return err
			}
		}
		for _, i := range changed {
			below += w.p.add(ref, b.Weights[i])
		}
		if below != 0 {
			return w.p.check(ref, changed, b)
		}
		if w.foreign == nil {
			w.is.Reset()
			if err := w.compute(ref, first, w.is); err != nil {
				return err
			}
			difference(w.was, w.is, out)
			w.p.drop(ref)
		}
	}
	if w.foreign != nil {
		return w.foreign.step(ctx, e, w.p.touched, out)
	}
	return w.p.table.Err()
}

// difference appends is − was to out, without what both begin and end with.
func difference(was, is, out *zset.Batch) {
	n, m, l := was.Len(), is.Len(), was.Layout
	from := 0
	for from < min(n, m) && l.Equal(was.Row(from), was.Heap, is.Row(from), is.Heap) {
		from++
	}
	for n > from && m > from && l.Equal(was.Row(n-1), was.Heap, is.Row(m-1), is.Heap) {
		n--
		m--
	}
	for i := from; i < n; i++ {
		out.Append(was.Row(i), was.Heap, -1)
	}
	for i := from; i < m; i++ {
		out.Append(is.Row(i), is.Heap, 1)
	}
}

// first is how many entries of a partition come before all that change: their rows change only as far as they look ahead.
func (w *window) first(ref state.Ref, changed []int32) int {
	n := w.p.table.Len(ref)
	for _, i := range changed {
		n = min(n, w.p.table.Rank(ref, w.p.rows.Row(int(i)), w.p.rows.Heap))
	}
	return n
}

// says are the fields of an entry that are a row's own.
func (w *window) says() []int {
	out := make([]int, len(w.spec.Row))
	for i, f := range w.spec.Row {
		out[i] = w.places[f]
	}
	return out
}

// expand lists the entries of a partition, each as often as it is there, and says at which row entry number first begins.
func (w *window) expand(ref state.Ref, first int) (from int, err error) {
	w.rows = w.rows[:0]
	c := &w.cursor
	k := 0
	for w.p.table.Scan(c, ref); c.Next(); k++ {
		n := c.Weight()
		if n < 0 {
			return 0, excessOf(w.says(), w.p.entry.layout, c.Row(), w.p.table.Heap(), n)
		}
		if k == first {
			from = len(w.rows)
		}
		for range n {
			w.rows = append(w.rows, c.Row())
		}
	}
	if k <= first {
		from = len(w.rows)
	}
	return from, nil
}

// compute appends the rows of a partition to out, from those on that look at entry number first or behind it.
func (w *window) compute(ref state.Ref, first int, out *zset.Batch) error {
	from, err := w.expand(ref, first)
	if err != nil {
		return err
	}
	from -= w.ahead
	var rank, dense uint64
	h := w.p.table.Heap()
	for i, r := range w.rows {
		if i == 0 || !w.p.peers(w.rows[i-1], r) {
			rank = uint64(i) + 1
			dense++
		}
		if i < from {
			continue
		}
		w.shown.row(w.row, r)
		for j := range w.spec.Functions {
			f := &w.spec.Functions[j]
			if f.Evaluated {
				continue // window_foreign.go
			}
			k := len(w.spec.Row) + j
			switch f.Name {
			case "row_number":
				w.layout.Set(w.row, k, uint64(i)+1)
			case "rank":
				w.layout.Set(w.row, k, rank)
			case "dense_rank":
				w.layout.Set(w.row, k, dense)
			case "lag", "lead":
				d := f.distance()
				switch at := int64(i) + d; {
				case at >= 0 && at < int64(len(w.rows)) && at-d == int64(i):
					w.others[j].onto(w.row, w.rows[at])
				case w.instead[j] != nil:
					w.instead[j].onto(w.row, r)
				default:
					w.layout.SetNull(w.row, k)
				}
			default:
				return fault.InternalError.Newf("the window function %s is not known", f.Name)
			}
		}
		out.Append(w.row, h, 1)
	}
	return nil
}

func (w *window) Load(ctx context.Context, e *Epoch, _ int, rows *zset.Batch) error {
	b, err := w.prep.run(ctx, e, rows)
	if err == nil {
		w.p.load(b)
	}
	return err
}

func (w *window) Emit(ctx context.Context, e *Epoch, out *zset.Batch) error {
	packed(w.p.table)
	var all []state.Ref
	w.p.table.Each(func(ref state.Ref) bool {
		all = append(all, ref)
		return true
	})
	if w.foreign != nil {
		for some := range slices.Chunk(all, emitted) {
			if err := w.foreign.step(ctx, e, some, out); err != nil {
				return err
			}
		}
		return nil
	}
	for _, ref := range all {
		if err := w.compute(ref, 0, out); err != nil {
			return err
		}
		w.p.drop(ref)
	}
	return w.p.table.Err()
}
