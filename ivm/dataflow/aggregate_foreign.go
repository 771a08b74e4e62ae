package dataflow

import (
	"context"
	"errors"

	"github.com/vegadb/vega-flight/ivm/row"
	"github.com/vegadb/vega-flight/ivm/state"
	"github.com/vegadb/vega-flight/ivm/zset"
)

// foreign is the functions of an aggregation that only DuckDB knows: the rows of each group are kept, those of touched groups
// are evaluated anew, and the results are kept too, since what was shown is what must be taken back, bit by bit.
type foreign struct {
	evaluator GroupEvaluator
	kept      *multiset
	count     int
	results   *state.Table // key; one entry: the result fields, then the error's text or NULL
	layout    *row.Layout
	refs      []state.Ref
	rows      *zset.Batch
	of        []int32
	out       *zset.Batch
	entry     *zset.Batch
	bad       map[int]error
}

func newForeign(g *grouping) *foreign {
	return &foreign{evaluator: g.spec.Evaluator, bad: map[int]error{}}
}

// value is the next of the functions.
func (f *foreign) value() value {
	f.count++
	return &foreignValue{f, f.count - 1}
}

func (f *foreign) tables(name string, g *grouping, tables Tables) error {
	types := append([]row.Type(nil), f.evaluator.Layout().Types...)
	f.layout = row.NewLayout(append(types, row.Type{Kind: row.Varchar})...)
	f.rows, f.out, f.entry = zset.New(f.kept.entry.layout), zset.New(f.evaluator.Layout()), zset.New(f.layout)
	var err error
	f.results, err = tables.Table(name+"/results", state.Spec{Key: g.key.layout, Entry: f.layout})
	return err
}

func (f *foreign) open(g *grouping) { f.refs = f.results.UpsertAll(&g.touched, f.refs) }

func (f *foreign) forget(s int) { f.results.Remove(f.refs[s]) }

// evaluate computes the results of the touched groups that are there.
func (f *foreign) evaluate(ctx context.Context, g *grouping, e *Epoch) error {
	f.rows.Reset()
	f.out.Reset()
	clear(f.bad)
	f.of = f.of[:0]
	n := 0
	var c state.Cursor
	for s := range g.groups {
		if g.acc[s*g.size] == 0 && !g.global {
			continue
		}
		f.kept.table.Scan(&c, f.kept.refs[s])
		for c.Next() {
			f.rows.Append(c.Row(), f.kept.table.Heap(), c.Weight())
			f.of = append(f.of, int32(n))
		}
		n++
	}
	err := f.evaluator.Evaluate(ctx, f.rows, f.of, n, f.out, func(group int, err error) { f.bad[group] = err })
	if err != nil {
		return err
	}
	n = 0
	last := len(f.layout.Types) - 1
	for s := range g.groups {
		f.results.Clear(f.refs[s])
		if g.acc[s*g.size] == 0 && !g.global {
			continue
		}
		f.entry.Reset()
		r := f.entry.AppendRow(1)
		if err := f.bad[n]; err != nil {
			for i := range last {
				f.layout.SetNull(r, i)
			}
			f.layout.SetBytes(r, last, []byte(err.Error()), f.entry.Heap)
		} else {
			for i := range last {
				f.layout.CopyField(r, i, f.entry.Heap, f.out.Layout, f.out.Row(n), i, f.out.Heap)
			}
			f.layout.SetNull(r, last)
		}
		f.results.Add(f.refs[s], r, f.entry.Heap, 1)
		n++
	}
	return nil
}

// foreignValue is one of the functions.
type foreignValue struct {
	f  *foreign
	at int
}

func (v *foreignValue) show(c *group, i int) error {
	f := v.f
	r, _ := f.results.First(f.refs[c.slot])
	if r == nil {
		return c.null(i)
	}
	if last := len(f.layout.Types) - 1; !f.layout.IsNull(r, last) {
		return errors.New(string(f.layout.Bytes(r, last, f.results.Heap(), c.small[:])))
	}
	c.layout.CopyField(c.dst, i, c.heap, f.layout, r, v.at, f.results.Heap())
	return nil
}
