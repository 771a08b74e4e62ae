package plan

import (
	"fmt"
	"slices"
)

// describe writes what decides a node's family: all of it but the columns that might be left out.
func (s *sharing) describe(n Node, in []part) *described {
	d := &described{key: meaning{alone: func() int { s.unequal++; return s.unequal }}}
	x := &d.key
	x.text(fmt.Sprintf("%T", n))
	x.int(len(in))
	for _, p := range in {
		x.int(p.of.id)
		d.fixed = d.fixed || p.of.fixed
	}
	x.at = func(i int) int { return in[0].columns[i] }
	all := func(input int) {
		for _, c := range in[input].columns {
			d.pass(input, c)
		}
	}
	switch n := n.(type) {
	case *Scan:
		x.int(s.source(n.Source))
		d.fixed = n.Source.Watermark != ""
		for _, f := range n.Fields {
			d.made(func(x *meaning) { x.int(int(f.ID)); x.text(f.Name); x.typ(f.Type) })
		}
	case *Filter:
		x.expr(n.Pred)
		all(0)
	case *Temporal:
		for _, b := range n.Bounds {
			x.expr(b.Row)
			x.int(int(b.Op))
			x.expr(b.At)
			x.bool(b.Monotone)
		}
		all(0)
	case *Project:
		for _, e := range n.Exprs {
			d.made(func(x *meaning) { x.expr(e) })
		}
	case *Join:
		s.describeJoin(n, in, d)
	case *Aggregate:
		x.exprs(n.Groups)
		x.bool(n.Sets != nil)
		x.int(len(n.Sets))
		for _, set := range n.Sets {
			x.ints(set)
		}
		for i := range n.Groups {
			d.own(fmt.Sprint("group ", i))
		}
		for i := range n.Aggs {
			d.made(func(x *meaning) { x.text("agg"); x.agg(&n.Aggs[i]) })
		}
		for _, g := range n.Groupings {
			d.made(func(x *meaning) { x.text("grouping"); x.ints(g) })
		}
	case *DistinctRows:
		x.ints(sorted(in[0].columns))
		all(0)
	case *SetOp:
		s.describeSetOp(n, in, d)
	case *TopK:
		x.exprs(n.Partition)
		x.order(n.Order)
		x.int(int(n.Limit))
		x.int(int(n.Offset))
		x.bool(n.WithTies)
		if all(0); n.Number {
			d.own("place")
		}
	case *Window:
		x.exprs(n.Partition)
		x.order(n.Order)
		all(0)
		for i := range n.Funcs {
			d.made(func(x *meaning) { x.window(&n.Funcs[i]) })
		}
	case *Unnest:
		x.exprs(n.Lists)
		all(0)
		for i := range n.Lists {
			d.own(fmt.Sprint("element ", i))
		}
	case *Values:
		for _, r := range n.Rows {
			x.exprs(r)
		}
		x.int(len(n.Cols))
		for i, c := range n.Cols {
			x.typ(c.Type)
			d.own(fmt.Sprint(i))
		}
	default:
		x.int(x.alone())
		for i := range n.Columns() {
			d.own(fmt.Sprint(i))
		}
	}
	return d
}

func (s *sharing) describeJoin(n *Join, in []part, d *described) {
	x := &d.key
	width := len(in[0].columns)
	x.int(int(n.Kind))
	x.bool(n.NullAware)
	x.int(len(n.Conditions))
	for _, c := range n.Conditions {
		x.int(int(c.Op))
		x.at = func(i int) int { return in[0].columns[i] }
		x.expr(c.Left)
		x.at = func(i int) int { return in[1].columns[i] }
		x.expr(c.Right)
	}
	x.at = func(i int) int {
		if i < width {
			return 2 * in[0].columns[i]
		}
		return 2*in[1].columns[i-width] + 1
	}
	x.expr(n.Residual)
	for _, c := range in[0].columns {
		d.pass(0, c)
	}
	switch n.Kind {
	case Semi, Anti:
	case Mark:
		d.own("mark")
	default:
		for _, c := range in[1].columns {
			d.pass(1, c)
		}
	}
}

// describeSetOp: only UNION ALL may leave columns out.
func (s *sharing) describeSetOp(n *SetOp, in []part, d *described) {
	d.key.int(int(n.Kind))
	for c := range in[0].columns {
		what := ""
		for _, p := range in {
			what += fmt.Sprint(p.columns[c], " ")
		}
		d.own(what)
	}
	if n.Kind != UnionAll {
		d.key.texts(d.columns)
	}
}

// source is a source's number.
func (s *sharing) source(of *Source) int {
	at := slices.Index(s.sources, of)
	if at < 0 {
		at, s.sources = len(s.sources), append(s.sources, of)
	}
	return at
}

func sorted(list []int) []int {
	out := slices.Clone(list)
	slices.Sort(out)
	return slices.Compact(out)
}
