package dataflow

import (
	"cmp"
	"context"
	"errors"

	"github.com/vegadb/vega-flight/ivm/row"
	"github.com/vegadb/vega-flight/ivm/state"
	"github.com/vegadb/vega-flight/ivm/zset"
)

// windowForeign is window functions of which some are computed by an evaluator. What was given of a partition is kept, so
// that exactly that is taken back; all touched partitions are one call.
type windowForeign struct {
	w       *window
	given   *state.Table // by partition, the output's rows
	failed  *state.Table // by partition, the text of its error
	rows    *zset.Batch
	of      []int32
	results *zset.Batch
	bad     map[int]error
	text    *zset.Batch
	kept    []int // places in an entry
	diff    *zset.Batch
}

func newWindowForeign(w *window, tables Tables) (*windowForeign, error) {
	f := &windowForeign{w: w, bad: map[int]error{}, text: zset.New(row.ParseLayout("VARCHAR")), diff: zset.New(w.layout)}
	types := make([]row.Type, len(w.spec.Kept))
	for i, k := range w.spec.Kept {
		f.kept = append(f.kept, w.places[k])
		types[i] = w.spec.Input.Types[k]
	}
	f.rows, f.results = zset.New(row.NewLayout(types...)), zset.New(w.spec.Evaluator.Layout())
	var err error
	if f.given, err = tables.Table(w.spec.Name+"/given", state.Spec{Key: w.p.key.layout, Entry: w.layout}); err != nil {
		return nil, err
	}
	f.failed, err = tables.Table(w.spec.Name+"/failed", state.Spec{Key: w.p.key.layout, Entry: f.text.Layout})
	return f, err
}

// step computes partitions and gives what differs from what was given of them.
func (f *windowForeign) step(ctx context.Context, e *Epoch, touched []state.Ref, out *zset.Batch) error {
	w := f.w
	table := w.p.table
	f.rows.Reset()
	f.results.Reset()
	f.of = f.of[:0]
	clear(f.bad)
	for s, ref := range touched {
		if _, err := w.expand(ref, 0); err != nil {
			return err
		}
		for _, r := range w.rows {
			dst := f.rows.AppendRow(1)
			for i, at := range f.kept {
				f.rows.Layout.CopyField(dst, i, f.rows.Heap, w.p.entry.layout, r, at, table.Heap())
			}
			f.of = append(f.of, int32(s))
		}
	}
	if f.rows.Len() > 0 {
		err := w.spec.Evaluator.Evaluate(ctx, f.rows, f.of, len(touched), f.results, func(g int, err error) { f.bad[g] = err })
		if err != nil {
			return err
		}
	}
	at := 0
	for s, ref := range touched {
		if _, err := w.expand(ref, 0); err != nil {
			return err
		}
		from := at
		at += len(w.rows)
		if err := f.replace(e, ref, f.bad[s], from, out); err != nil {
			return err
		}
		w.p.drop(ref)
	}
	return cmp.Or(table.Err(), f.given.Err(), f.failed.Err())
}

// replace gives the difference of a partition.
func (f *windowForeign) replace(e *Epoch, ref state.Ref, bad error, from int, out *zset.Batch) error {
	w := f.w
	key, heap := w.p.table.Key(ref), w.p.table.Heap()
	given, _ := f.given.Upsert(key, heap)
	f.diff.Reset()
	c := &w.cursor
	for f.given.Scan(c, given); c.Next(); {
		f.diff.Append(c.Row(), f.given.Heap(), -c.Weight())
	}
	if f.failed.Keys() > 0 {
		if r, ok := f.failed.Find(key, heap); ok {
			x, _ := f.failed.First(r)
			e.FailGroup(w.p.key.layout.Format(key, heap), errors.New(string(f.text.Layout.Bytes(x, 0, f.failed.Heap(), nil))), -1)
			f.failed.Remove(r)
		}
	}
	if bad != nil {
		e.FailGroup(w.p.key.layout.Format(key, heap), bad, 1)
		r, _ := f.failed.Upsert(key, heap)
		f.text.Reset()
		x := f.text.AppendRow(1)
		f.text.Layout.SetBytes(x, 0, []byte(bad.Error()), f.text.Heap)
		f.failed.Add(r, x, f.text.Heap, 1)
	} else if err := f.fill(ref, from); err != nil {
		return err
	}
	f.diff.Consolidate()
	for i, n := range f.diff.Weights {
		f.given.Add(given, f.diff.Row(i), f.diff.Heap, n)
		out.Append(f.diff.Row(i), f.diff.Heap, n)
	}
	if f.given.Len(given) == 0 {
		f.given.Remove(given)
	}
	return nil
}

// fill appends the rows of a partition, whose results begin at from, to diff.
func (f *windowForeign) fill(ref state.Ref, from int) error {
	w := f.w
	n := f.diff.Len()
	if err := w.compute(ref, 0, f.diff); err != nil {
		return err
	}
	for i := n; i < f.diff.Len(); i++ {
		dst, src, k := f.diff.Row(i), f.results.Row(from+i-n), 0
		for j := range w.spec.Functions {
			if w.spec.Functions[j].Evaluated {
				w.layout.CopyField(dst, len(w.spec.Row)+j, f.diff.Heap, f.results.Layout, src, k, f.results.Heap)
				k++
			}
		}
	}
	return nil
}
