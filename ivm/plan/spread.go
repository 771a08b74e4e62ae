package plan

import (
	"slices"

	"github.com/vegadb/vega-flight/ivm/row"
)

// spread is where a column is: the number is all the columns that it stands for.
type spread struct {
	number bool
	at     []int
}

type spreading struct {
	node Node
	at   []spread
}

// valued puts values in the place of a number in all that reads a window.
type valued struct {
	window  *Window
	input   Node  // of the window, with all that is needed
	columns []int // of it
	done    map[Node]spreading
	failed  bool
}

func unspread(n Node) spreading {
	out := spreading{node: n}
	for i := range n.Columns() {
		out.at = append(out.at, spread{at: []int{i}})
	}
	return out
}

func (v *valued) spread(n Node) spreading {
	if out, ok := v.done[n]; ok {
		return out
	}
	if n == Node(v.window) {
		out := unspread(v.window.Input)
		out.node, out.at = v.input, append(out.at, spread{true, v.columns})
		v.done[n] = out
		return out
	}
	var in []spreading
	changed := false
	for _, c := range n.Inputs() {
		s := v.spread(c)
		changed = changed || s.node != c
		in = append(in, s)
	}
	out := unspread(n)
	if changed && !v.failed {
		out = v.over(n, in)
	}
	v.done[n] = out
	return out
}

// moved is an expression that does not read the number.
func (v *valued) moved(e Expr, at []spread) Expr {
	return mapRefs(e, func(i int) int {
		v.failed = v.failed || at[i].number
		return at[i].at[0]
	})
}

func (v *valued) movedAll(es []Expr, at []spread) []Expr {
	out := make([]Expr, len(es))
	for i, e := range es {
		out[i] = v.moved(e, at)
	}
	return out
}

// list spreads expressions that stand side by side, each column once.
func (v *valued) list(es []Expr, in spreading) (out []Expr, at []spread) {
	cols := in.node.Columns()
	column := func(i int) int {
		for k, e := range out {
			if r, ok := e.(*ColumnRef); ok && r.Index == i {
				return k
			}
		}
		out = append(out, ref(cols, i))
		return len(out) - 1
	}
	for _, e := range es {
		r, ok := e.(*ColumnRef)
		if !ok {
			out = append(out, v.moved(e, in.at))
			at = append(at, spread{at: []int{len(out) - 1}})
			continue
		}
		s := spread{number: in.at[r.Index].number}
		for _, i := range in.at[r.Index].at {
			s.at = append(s.at, column(i))
		}
		at = append(at, s)
	}
	return out, at
}

// over is a node over inputs that were changed.
func (v *valued) over(n Node, in []spreading) spreading {
	switch n := n.(type) {
	case *Shared:
		return spreading{newShared(n.Name, in[0].node), in[0].at}
	case *DistinctRows:
		return spreading{&DistinctRows{in[0].node, n.Pos}, in[0].at}
	case *Filter, *Temporal, *Unnest:
		return v.behind(n, n.withExprs(v.movedAll(n.exprs(), in[0].at)).with([]Node{in[0].node}), in[0])
	case *TopK:
		c := *n
		c.Input, c.Order = in[0].node, v.order(n.Order, in[0].at)
		c.Partition, _ = v.list(n.Partition, in[0])
		return v.behind(n, &c, in[0])
	case *Window:
		c := *(n.withExprs(v.unpartitioned(n, in[0].at)).(*Window))
		c.Input = in[0].node
		c.Partition, _ = v.list(n.Partition, in[0])
		return v.behind(n, &c, in[0])
	case *Project:
		es, at := v.list(n.Exprs, in[0])
		return spreading{&Project{in[0].node, es, named(es, at, n.Names)}, at}
	case *Join:
		return v.join(n, in[0], in[1])
	case *SetOp:
		return v.setOp(n, in)
	case *Aggregate:
		return v.aggregate(n, in[0])
	}
	v.failed = true
	return unspread(n)
}

// named are the names of expressions that were spread.
func named(es []Expr, at []spread, old []string) []string {
	out := make([]string, len(es))
	for i, e := range es {
		if r, ok := e.(*ColumnRef); ok {
			out[i] = r.Name
		}
	}
	for i, s := range at {
		if !s.number {
			out[s.at[0]] = old[i]
		}
	}
	return out
}

// behind is a node whose own columns stand behind those of its input.
func (v *valued) behind(old, n Node, in spreading) spreading {
	at := slices.Clone(in.at)
	width := len(in.node.Columns())
	for i := range len(old.Columns()) - len(at) {
		at = append(at, spread{at: []int{width + i}})
	}
	return spreading{n, at}
}

func (v *valued) order(items []OrderItem, at []spread) []OrderItem {
	out := slices.Clone(items)
	for i := range out {
		out[i].Expr = v.moved(out[i].Expr, at)
	}
	return out
}

// unpartitioned are a window's expressions, with nothing done to its partition.
func (v *valued) unpartitioned(n *Window, at []spread) []Expr {
	es := n.exprs()
	for i := len(n.Partition); i < len(es); i++ {
		es[i] = v.moved(es[i], at)
	}
	return es
}

func (v *valued) join(n *Join, l, r spreading) spreading {
	c, old, width := *n, len(l.at), len(l.node.Columns())
	c.Left, c.Right, c.Conditions = l.node, r.node, nil
	for _, cond := range n.Conditions {
		a, isLeft := number(cond.Left, l)
		b, isRight := number(cond.Right, r)
		if !isLeft || !isRight {
			c.Conditions = append(c.Conditions, Condition{v.moved(cond.Left, l.at), v.moved(cond.Right, r.at), cond.Op})
			continue
		}
		v.failed = v.failed || cond.Op != NotDistinct && cond.Op != Equal
		for i := range a {
			c.Conditions = append(c.Conditions, Condition{a[i], b[i], NotDistinct}) // numbers are never NULL, values are
		}
	}
	at := slices.Clone(l.at)
	for _, s := range r.at {
		moved := spread{number: s.number}
		for _, i := range s.at {
			moved.at = append(moved.at, width+i)
		}
		at = append(at, moved)
	}
	c.Residual = v.moved(n.Residual, at)
	switch n.Kind {
	case Semi, Anti:
		at = at[:old]
	case Mark:
		at = append(at[:old:old], spread{at: []int{width}})
	}
	sortConditions(&c)
	return spreading{&c, at}
}

// number are the columns that an expression stands for if it is the number.
func number(e Expr, in spreading) ([]Expr, bool) {
	r, ok := e.(*ColumnRef)
	if !ok || !in.at[r.Index].number {
		return nil, false
	}
	cols := in.node.Columns()
	var out []Expr
	for _, i := range in.at[r.Index].at {
		out = append(out, ref(cols, i))
	}
	return out, true
}

// setOp gives all inputs the same columns in the same order.
func (v *valued) setOp(n *SetOp, in []spreading) spreading {
	parts := make([]*Project, len(in))
	for k, s := range in {
		parts[k] = &Project{Input: s.node}
	}
	var at []spread
	var have [][]int // which column of each input each is
	for c := range in[0].at {
		out := spread{number: in[0].at[c].number}
		for i := range in[0].at[c].at {
			var from []int
			for _, s := range in {
				if s.at[c].number != out.number || i >= len(s.at[c].at) {
					v.failed = true
					return unspread(n)
				}
				from = append(from, s.at[c].at[i])
			}
			place := slices.IndexFunc(have, func(h []int) bool { return slices.Equal(h, from) })
			if place < 0 {
				place, have = len(have), append(have, from)
				for k, p := range parts {
					e := ref(in[k].node.Columns(), from[k])
					p.Exprs, p.Names = append(p.Exprs, e), append(p.Names, e.Name)
				}
			}
			out.at = append(out.at, place)
		}
		at = append(at, out)
	}
	union := &SetOp{Kind: n.Kind, Pos: n.Pos}
	for _, p := range parts {
		union.In = append(union.In, p)
	}
	return spreading{union, at}
}

func (v *valued) aggregate(n *Aggregate, in spreading) spreading {
	c := *n
	groups, at := v.list(n.Groups, in)
	c.Input, c.Groups, c.Names, c.Aggs = in.node, groups, named(groups, at, n.Names), nil
	v.failed = v.failed || n.Sets != nil || len(n.Groupings) > 0
	for _, a := range n.Aggs {
		s := spread{}
		if len(a.Args) == 1 && a.Name == "first" && a.Filter == nil && len(a.Order) == 0 {
			var values []Expr
			values, s.number = number(a.Args[0], in)
			for _, e := range values {
				if g := slices.IndexFunc(groups, func(g Expr) bool { return Same(g, e) }); g >= 0 {
					s.at = append(s.at, g)
					continue
				}
				one := a
				one.Args, one.ArgTypes, one.Type = []Expr{e}, []row.Type{e.Result()}, e.Result()
				s.at, c.Aggs = append(s.at, len(groups)+len(c.Aggs)), append(c.Aggs, one)
			}
		}
		if !s.number {
			one := Aggregate{Aggs: []Agg{a}}
			s.at, c.Aggs = []int{len(groups) + len(c.Aggs)}, append(c.Aggs, one.withExprs(v.movedAll(one.exprs(), in.at)).(*Aggregate).Aggs[0])
		}
		at = append(at, s)
	}
	return spreading{&c, at}
}
