package dataflow

import (
	"maps"
	"slices"

	"github.com/vegadb/vega-flight/ivm/plan"
)

// ofJoin computes exprs of a join's rows that pred is true for. The join gives the columns that are needed, which keeps its state
// small, and when they are all that is wanted nothing else has to be done.
func (b *builder) ofJoin(n plan.Node, j *plan.Join, exprs []plan.Expr, pred plan.Expr) (int, error) {
	needed, columns := map[int]bool{}, make([]int, 0, len(exprs))
	for _, e := range append(exprs[:len(exprs):len(exprs)], pred) {
		if e == nil {
			continue
		}
		if c, ok := e.(*plan.ColumnRef); ok {
			columns = append(columns, c.Index)
		}
		plan.Walk(e, func(x plan.Expr) bool {
			if c, ok := x.(*plan.ColumnRef); ok {
				needed[c.Index] = true
			}
			return true
		})
	}
	if pred == nil && len(columns) == len(exprs) {
		return b.join(j, columns)
	}
	output := slices.AppendSeq(make([]int, 0, len(needed)), maps.Keys(needed)) // not nil, which would be all
	slices.Sort(output)
	in, err := b.join(j, output)
	if err != nil {
		return 0, err
	}
	at := func(e plan.Expr) plan.Expr {
		return plan.Rewrite(e, func(x plan.Expr) plan.Expr {
			if c, ok := x.(*plan.ColumnRef); ok {
				d := *c
				d.Index, _ = slices.BinarySearch(output, c.Index)
				return &d
			}
			return x
		})
	}
	cut := make([]plan.Expr, len(exprs))
	for i, e := range exprs {
		cut[i] = at(e)
	}
	if pred != nil {
		pred = at(pred)
	}
	return b.program(n, in, cut, pred)
}
