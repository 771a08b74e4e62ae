package dataflow

import (
	"fmt"
	"slices"
	"strings"

	"github.com/vegadb/vega-flight/ivm/eval"
	"github.com/vegadb/vega-flight/ivm/plan"
	"github.com/vegadb/vega-flight/ivm/row"
)

// joinOfSums builds the input of an aggregation that wants only sums of one side of a join, whose rows need not be kept then; over is nil
// where that is not so. of are the types of what its functions add up, where the join gives sums of them.
func (b *builder) joinOfSums(n *plan.Aggregate) (in int, over *plan.Aggregate, of []row.Type, err error) {
	o, sums := n.JoinSums()
	if sums == [2]bool{} {
		return 0, nil, nil, nil
	}
	if _, done := b.done[n.Input]; done {
		return 0, nil, nil, nil
	}
	columns := columnsIn(readBy(o))
	if in, err = b.join(n.Input.(*plan.Join), columns, sums); err != nil {
		return 0, nil, nil, err
	}
	over = overColumns(o, among(columns))
	types := b.layout(in).Types
	of = make([]row.Type, len(over.Aggs))
	for i := range over.Aggs {
		a := &over.Aggs[i]
		if c := a.Summed(); c != nil && !types[c.Index].Equal(c.Type) {
			of[i] = c.Type
			a.Args = []plan.Expr{columnRef(c.Index, types[c.Index])}
		}
	}
	return in, over, of, nil
}

// summedOf are the fields of a join's side that the output has.
func summedOf(side, left, right int, output []int) (fields []int) {
	first, n := 0, left
	if side == 1 {
		first, n = left, right
	}
	for f := range n {
		if slices.Contains(output, first+f) {
			fields = append(fields, f)
		}
	}
	return fields
}

// joinSummary is the query for the numbers of each key of a join's side; nil where there is none, or where it might mean something else.
func (b *builder) joinSummary(n plan.Node, keys []plan.Expr, side JoinSide, fields []int) *Summary {
	columns, preds := b.overSource(n)
	if columns == nil || side.Keys == nil {
		return nil
	}
	var out, by, where []string
	var types []row.Type
	sure, values := true, []string{one()}
	for i, e := range keys {
		t := side.Keys.Layout().Types[i]
		if e = plan.Substitute(e, columns); !plain(e, true) || !exactKey(t) || !e.Result().Equal(t) {
			return nil
		}
		out, types, by = append(out, eval.Deparse(e)), append(types, t), append(by, fmt.Sprint(i+1))
		sure = sure && (isColumn(e) || plain(e, false))
	}
	out, types = append(out, "count(*)"), append(types, countType)
	for _, f := range fields {
		e := columns[f]
		if !plain(e, true) {
			return nil
		}
		wide, _ := wideType(e.Result())
		sql := eval.Deparse(e)
		out = append(out, "count("+sql+")", "CAST(sum("+sql+") AS "+wide.String()+")")
		types = append(types, countType, wide)
		values = append(values, one("("+sql+") IS NOT NULL"), "CAST("+sql+" AS "+wide.String()+")")
		sure = sure && (isColumn(e) || plain(e, false))
	}
	for _, e := range preds {
		if !plain(e, len(preds) == 1) {
			return nil
		}
		where = append(where, "("+eval.Deparse(e)+")")
		sure = sure && plain(e, false)
	}
	s := &Summary{SQL: "SELECT " + strings.Join(out, ", ") + " FROM " + From, Layout: row.NewLayout(types...)}
	if len(where) > 0 {
		s.SQL += " WHERE " + strings.Join(where, " AND ")
	}
	s.SQL += " GROUP BY " + strings.Join(by, ", ")
	if sure && len(keys) > 0 {
		s.ungrouped(out[:len(keys)], values, strings.Join(where, " AND "))
	}
	return s
}
