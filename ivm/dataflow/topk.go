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

// Top-k of each partition, and ORDER BY … LIMIT, which is one partition. With top_n(P) the first n copies of partition P in
// order, the content is top_{offset+limit}(P) − top_offset(P), and the change of top_n is
//
//	d top_n(P) = Σ w(x)·x          for changes x before the old boundary
//	           + Σ P'(x)·x         for x of the new P' from the old boundary to before the new one
//	           − Σ P'(x)·x         for x of P' from the new boundary to before the old one
//	           + t'·b' − t·b
//
// where the boundary b is the entry that copy n+1 is in, and t ≤ P(b) the copies of it that are in. So a change behind the
// boundary costs one comparison, and one before it costs the rows that it shifts over the boundary, however large P is. Ties
// are broken by the whole row. With ties wanted (rank() <= n), the boundary moves on to the next order row. Where places are
// shown, a change before the boundary costs the rows of the top, since their places change (topk_number.go).

// TopKSpec is a top-k.
type TopKSpec struct {
	Name          string
	Input         *row.Layout // of prepared rows
	Prepare       Program     // makes them; nil: the input has them
	Partition     []int       // normalised fields; none: all rows are one partition
	Order         []int       // order-row fields
	Row           []int       // the output's fields
	Limit, Offset int64       // Limit < 0: none
	Repeats       bool        // rows are made of few other rows, many of each: long values come again and again
	Ties          bool        // all rows whose order row is that of the last one, too
	Number        bool        // the output ends with the row's place in its partition, from 1; with Ties its rank
}

type topK struct {
	spec   TopKSpec
	layout *row.Layout
	prep   preparation
	p      *partitions
	shown  *projection // of an entry, to the output row
	keyed  *projection // of a partition's key: those fields of the output are not in the entry
	key    []uint64
	ends   []end
	cursor state.Cursor
	row    []uint64
	below  int
	number *numbers // nil: places are not shown
}

// NewTopK makes a top-k.
func NewTopK(spec TopKSpec, tables Tables) (Operator, error) {
	t := &topK{spec: spec, prep: newPreparation(spec.Prepare, spec.Input)}
	t.place()
	t.p.setOrder(len(spec.Order))
	if spec.Number {
		t.number = newNumbers(t)
		t.layout = t.number.was.Layout
	}
	t.row = make([]uint64, t.layout.Words)
	top := int64(math.MaxInt64)
	if spec.Limit >= 0 && spec.Limit <= math.MaxInt64-spec.Offset {
		top = spec.Limit + spec.Offset
	}
	t.ends = append(t.ends, end{n: top, sign: 1})
	if spec.Offset > 0 {
		t.ends = append(t.ends, end{n: spec.Offset, sign: -1})
	}
	for i := range t.ends {
		e := &t.ends[i]
		e.was.entry, e.is.entry = make([]uint64, t.p.entry.layout.Words), make([]uint64, t.p.entry.layout.Words)
	}
	var err error
	t.p.table, err = tables.Table(spec.Name, t.p.spec(len(spec.Order), spec.Repeats))
	return t, err
}

// place finds where the output's fields are kept: those of a partition's key need not be in every entry.
func (t *topK) place() {
	spec := &t.spec
	key := project(spec.Input, spec.Partition...).layout
	var kept, fromEntry, atEntry, fromKey, atKey []int
	types := make([]row.Type, len(spec.Row))
	for i, f := range spec.Row {
		types[i] = spec.Input.Types[f]
		if k := slices.Index(spec.Partition, f); k >= 0 && key.Fixed() && !spec.Number {
			fromKey, atKey = append(fromKey, k), append(atKey, i)
			continue
		}
		fromEntry, atEntry = append(fromEntry, len(spec.Order)+len(kept)), append(atEntry, i)
		kept = append(kept, f)
	}
	t.p = newPartitions(spec.Input, spec.Partition, spec.Order, kept)
	t.p.says = spec.Row
	t.layout = row.NewLayout(types...)
	t.shown = placed(t.layout, t.p.entry.layout, atEntry, fromEntry)
	t.keyed = placed(t.layout, t.p.key.layout, atKey, fromKey)
}

// setOrder says how many fields of an entry are its order row.
func (p *partitions) setOrder(n int) {
	p.order = p.entry.layout.Words
	if n < len(p.entry.layout.Off) {
		p.order = p.entry.layout.Off[n]
	}
}

func (t *topK) Layout() *row.Layout { return t.layout }

// Cancels is true: a row that goes and a row that comes in its place are given apart.
func (t *topK) Cancels() bool { return true }

func (t *topK) Step(ctx context.Context, e *Epoch, in []*zset.Batch, out *zset.Batch) error {
	b, err := t.prep.run(ctx, e, in[0])
	if err != nil {
		return err
	}
	t.p.open(b)
	for s, ref := range t.p.touched {
		changed := t.p.of(s)
		if s%state.Window == 0 && len(t.p.touched) > 1 {
			t.p.table.Warm(t.p.touched[s:min(s+state.Window, len(t.p.touched))], nil)
		}
		t.before(ref)
		t.key = t.p.table.Key(ref)
		if t.number != nil {
			if err := t.number.step(ref, changed, b, out); err != nil {
				return err
			}
			continue
		}
		near := false
		for _, i := range changed {
			w := b.Weights[i]
			x := t.p.next()
			for k := range t.ends {
				d := &t.ends[k]
				order := d.was.order(t.p.entry.layout, x, b.Heap)
				if order < 0 {
					t.give(out, x, b.Heap, d.sign*w)
				}
				near = near || order <= 0
			}
			t.below += t.p.add(ref, w)
		}
		if t.below != 0 {
			return t.p.check(ref, changed, b)
		}
		if near {
			t.after(ref, out)
			t.p.drop(ref)
		}
	}
	return t.p.table.Err()
}

// give appends an entry's row.
func (t *topK) give(out *zset.Batch, entry []uint64, h *row.Heap, w int64) {
	if w != 0 {
		t.shown.row(t.row, entry)
		t.keyed.onto(t.row, t.key)
		out.Append(t.row, h, w)
	}
}

func (t *topK) Load(ctx context.Context, e *Epoch, _ int, rows *zset.Batch) error {
	b, err := t.prep.run(ctx, e, rows)
	if err == nil {
		t.p.load(b)
	}
	return err
}

func (t *topK) Emit(_ context.Context, _ *Epoch, out *zset.Batch) error {
	l, table := t.p.entry.layout, t.p.table
	packed(table)
	var err error
	table.Each(func(ref state.Ref) bool {
		t.key = table.Key(ref)
		if t.number != nil {
			t.find(ref, t.ends[0].n, &t.ends[0].is)
			t.number.list(ref, out)
			t.p.drop(ref)
			return true
		}
		for k := range t.ends {
			d := &t.ends[k]
			t.find(ref, d.n, &d.is)
			if d.is.there {
				t.give(out, d.is.entry, &d.is.heap, d.sign*d.is.taken)
			}
			c := &t.cursor
			for table.Scan(c, ref); c.Next(); {
				x := c.Row()
				if w := c.Weight(); w < 0 {
					t.shown.row(t.row, x)
					t.keyed.onto(t.row, t.key)
					err = excess(t.layout, t.row, table.Heap(), w)
					return false
				}
				if d.is.there && !d.is.after(l, x, table.Heap()) {
					break
				}
				t.give(out, x, table.Heap(), d.sign*c.Weight())
			}
		}
		t.p.drop(ref)
		return true
	})
	return cmp.Or(table.Err(), err)
}
