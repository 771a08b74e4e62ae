package plan

import (
	"slices"
	"strings"
)

// DuckDB makes list_sort(list(x), …) of list(x ORDER BY x), and one list of several that are ordered in several ways. Here each
// order is an aggregate of its own again, whose list needs no sorting.

// sortedLists gives aggregates back the order that a projection above them asks for. Between the two may be filters and windows.
func sortedLists(p *Project) *Project {
	var between []Node
	n := p.Input
	for {
		switch n.(type) {
		case *Filter, *Window:
			between = append(between, n)
			n = n.Inputs()[0]
			continue
		}
		break
	}
	a, ok := n.(*Aggregate)
	if !ok || !slices.ContainsFunc(a.Aggs, Agg.unorderedList) {
		return p
	}
	s := &sortedList{a: a, first: len(a.Groups), end: len(a.Groups) + len(a.Aggs)}
	exprs := make([][]Expr, len(between)+1)
	for i, n := range append(between, p) {
		exprs[i] = s.find(n.exprs())
	}
	if len(s.more) == 0 {
		return p
	}
	wider := *a
	wider.Aggs = append(slices.Clone(a.Aggs), s.more...)
	var out Node = &wider
	for i := len(between) - 1; i >= 0; i-- {
		out = between[i].with([]Node{out}).withExprs(s.moved(exprs[i]))
	}
	return &Project{out, s.moved(exprs[len(between)]), p.Names}
}

func (a Agg) unorderedList() bool {
	return (a.Name == "list" || a.Name == "array_agg") && len(a.Args) == 1 && len(a.Order) == 0
}

// sortedList is the aggregates that are added. Until all are known their columns are numbered from behind, and then what is behind
// the aggregates moves.
type sortedList struct {
	a          *Aggregate
	first, end int
	more       []Agg
}

// find puts the columns of ordered aggregates, as -1, -2 and so on, in place of sorted lists.
func (s *sortedList) find(es []Expr) []Expr {
	out := make([]Expr, len(es))
	for i, e := range es {
		out[i] = Rewrite(e, func(x Expr) Expr {
			f, ok := x.(*Function)
			if !ok || f.Name != "list_sort" && f.Name != "array_sort" || f.Schema != "" {
				return x
			}
			c, ok := f.Args[0].(*ColumnRef)
			if !ok || c.Index < s.first || c.Index >= s.end {
				return x
			}
			agg := s.a.Aggs[c.Index-s.first]
			item, ok := sortItem(f.Args[1:])
			if !ok || !agg.unorderedList() {
				return x
			}
			item.Expr = agg.Args[0]
			if c, ok := item.Expr.(*ColumnRef); ok { // elements are sorted as they are, whatever their collation
				item.Expr = &ColumnRef{Typed{plainCollation(c.Type), c.Pos}, c.Index, c.Name}
			} else if item.Expr.Result().Collation != "" {
				return x
			}
			agg.Args, agg.Order = []Expr{item.Expr}, []OrderItem{item}
			at := slices.IndexFunc(s.more, func(b Agg) bool {
				return b.Distinct == agg.Distinct && Same(b.Args[0], agg.Args[0]) && Same(b.Filter, agg.Filter) && sameOrder(b.Order, agg.Order)
			})
			if at < 0 {
				at = len(s.more)
				s.more = append(s.more, agg)
			}
			return &ColumnRef{f.Typed, -1 - at, agg.Column}
		})
	}
	return out
}

func (s *sortedList) moved(es []Expr) []Expr {
	out := make([]Expr, len(es))
	for i, e := range es {
		out[i] = mapRefs(e, func(i int) int {
			switch {
			case i < 0:
				return s.end - 1 - i
			case i >= s.end:
				return i + len(s.more)
			}
			return i
		})
	}
	return out
}

// sortItem reads the constants behind a list that is sorted.
func sortItem(args []Expr) (o OrderItem, ok bool) {
	for i, e := range args {
		c, constant := e.(*Constant)
		if !constant {
			return o, false
		}
		word, text := c.Value.(string)
		if !text {
			return o, false
		}
		switch word = strings.ToUpper(word); {
		case word == "ORDER_DEFAULT", i == 0 && (word == "ASC" || word == "ASCENDING"), i == 1 && word == "NULLS LAST":
		case i == 0 && (word == "DESC" || word == "DESCENDING"):
			o.Desc = true
		case i == 1 && word == "NULLS FIRST":
			o.NullsFirst = true
		default:
			return o, false
		}
	}
	return o, true
}
