package dataflow

import (
	"maps"
	"slices"

	"github.com/vegadb/vega-flight/ivm/plan"
)

// ofJoin computes exprs of a join's rows that pred is true for. The join gives the columns that are needed, which keeps its state
// small, and when they are all that is wanted nothing else has to be done.
func (b *builder) ofJoin(n plan.Node, j *plan.Join, exprs []plan.Expr, pred plan.Expr) (int, error) {
	columns := make([]int, 0, len(exprs))
	for _, e := range exprs {
		if c, ok := e.(*plan.ColumnRef); ok {
			columns = append(columns, c.Index)
		}
	}
	if pred == nil && len(columns) == len(exprs) {
		return b.join(j, columns, [2]bool{})
	}
	output := columnsIn(append(exprs[:len(exprs):len(exprs)], pred))
	in, err := b.join(j, output, [2]bool{})
	if err != nil {
		return 0, err
	}
	move := among(output)
	if pred != nil {
		pred = move(pred)
	}
	return b.program(n, in, rewritten(exprs, move), pred)
}

// columnsIn are the columns that expressions, nil ones among them, read.
func columnsIn(exprs []plan.Expr) []int {
	needed := map[int]bool{}
	for _, e := range exprs {
		if e == nil {
			continue
		}
		plan.Walk(e, func(x plan.Expr) bool {
			if c, ok := x.(*plan.ColumnRef); ok {
				needed[c.Index] = true
			}
			return true
		})
	}
	output := slices.AppendSeq(make([]int, 0, len(needed)), maps.Keys(needed)) // not nil, which would be all
	slices.Sort(output)
	return output
}

// among makes expressions over all columns ones over some.
func among(columns []int) func(plan.Expr) plan.Expr {
	return func(e plan.Expr) plan.Expr {
		return plan.Rewrite(e, func(x plan.Expr) plan.Expr {
			if c, ok := x.(*plan.ColumnRef); ok {
				d := *c
				d.Index, _ = slices.BinarySearch(columns, c.Index)
				return &d
			}
			return x
		})
	}
}

// columnsRead builds a node, and of a join, or of the rows of one that a filter lets through, only the columns that are read. move makes
// expressions ones over those; it is nil where all columns are there.
func (b *builder) columnsRead(n plan.Node, read []plan.Expr) (in int, move func(plan.Expr) plan.Expr, err error) {
	j, pred := n, plan.Expr(nil)
	if f, ok := n.(*plan.Filter); ok {
		j, pred = f.Input, f.Pred
	}
	join, ok := j.(*plan.Join)
	_, done := b.done[n]
	_, joined := b.done[j]
	columns := columnsIn(read)
	if all := n.Columns(); !ok || done || joined || len(columns) == len(all) {
		in, err = b.node(n)
		return in, nil, err
	}
	all := columnsOf(n)
	exprs := make([]plan.Expr, len(columns))
	for i, c := range columns {
		exprs[i] = all[c]
	}
	in, err = b.ofJoin(n, join, exprs, pred)
	return in, among(columns), err
}
