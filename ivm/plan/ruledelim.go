package plan

import (
	"slices"

	"github.com/vegadb/vega-flight/ivm/row"
)

// Where a correlated subquery reads nested values of the outer side, DuckDB numbers the outer rows, in the order that they happen to have, and
// finds a row's result again by its number. Rows with equal values have equal results, and nested values have keys here: so the values
// stand in the place of the number, as they do where none of them is nested.

// byValue is a correlated join without the number of the outer rows; nil when the number means something else to it.
//
// Equal values may be told apart: zeros of two signs, a month and 30 days. Where the values are only looked for in other rows, DuckDB goes on
// with what it finds there, and so do the rules here; else their texts are looked at as well.
func byValue(join Node, outer *Shared, asked []Expr) Node {
	w, columns := numbered(outer.Input, asked)
	if w == nil {
		return nil
	}
	in := w.Input.Columns()
	if !slices.ContainsFunc(columns, func(c int) bool { return alikes(in[c].Type) }) {
		return withoutNumber(join, w, w.Input, columns)
	}
	if out := withoutNumber(join, w, w.Input, columns); out == nil || looked(out) {
		return out
	}
	p := &Project{w.Input, allRefs(in), names(in)}
	for _, c := range slices.Clone(columns) {
		if alikes(in[c].Type) {
			columns = append(columns, len(p.Exprs))
			p.Exprs, p.Names = append(p.Exprs, &Cast{Typed{row.Type{Kind: row.Varchar}, NoPosition}, false, ref(in, c)}), append(p.Names, in[c].Name)
		}
	}
	return withoutNumber(join, w, p, columns)
}

// withoutNumber puts columns of an input in the place of the window's number.
func withoutNumber(join Node, w *Window, in Node, columns []int) Node {
	v := &valued{window: w, input: in, columns: columns, done: map[Node]spreading{}}
	s := v.spread(join)
	if v.failed {
		return nil
	}
	p, cols := &Project{Input: s.node}, s.node.Columns()
	for i, c := range join.Columns() {
		var e Expr
		if s.at[i].number {
			e = &Refused{Typed{c.Type, NoPosition}, Reason{NoTotalOrder, NoPosition, "rows are numbered in no order", ""}}
		} else {
			e = ref(cols, s.at[i].at[0])
		}
		p.Exprs, p.Names = append(p.Exprs, e), append(p.Names, c.Name)
	}
	return p
}

// looked says that the values of the outer rows are only looked for: nothing else is computed of them by themselves.
func looked(n Node) bool {
	for s, count := range uses(prune(n)) {
		if s.Name == outerSide && count > 1 {
			return false
		}
	}
	return true
}

// numbered finds the window that numbers the outer rows, below filters and projections, and which of its input's columns are asked for
// beside the number.
func numbered(n Node, asked []Expr) (w *Window, columns []int) {
	at := make([]int, len(asked))
	for i, e := range asked {
		r, ok := e.(*ColumnRef)
		if !ok {
			return nil, nil
		}
		at[i] = r.Index
	}
	for {
		switch in := n.(type) {
		case *Filter:
			n = in.Input
			continue
		case *Project:
			for i := range at {
				r, ok := in.Exprs[at[i]].(*ColumnRef)
				if !ok {
					return nil, nil
				}
				at[i] = r.Index
			}
			n = in.Input
			continue
		case *Window:
			if len(in.Funcs) != 1 || in.Funcs[0].Name != "row_number" || in.Funcs[0].Column != "delim_index" || len(in.Partition)+len(in.Order) > 0 {
				return nil, nil
			}
			width, numbers := len(in.Input.Columns()), 0
			for _, c := range at {
				if c == width {
					numbers++
				} else {
					columns = append(columns, c)
				}
			}
			if numbers == 0 || len(columns) == 0 {
				return nil, nil
			}
			return in, columns
		}
		return nil, nil
	}
}

// alikes says that DuckDB calls values of the type equal that are not the same: zeros of two signs, a month and 30 days.
func alikes(t row.Type) bool {
	switch t.Kind {
	case row.Float, row.Double, row.Interval, row.TimeTZ:
		return true
	}
	return t.Collation != "" || slices.ContainsFunc(t.Children, alikes)
}
