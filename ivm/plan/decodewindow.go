package plan

import (
	"fmt"
	"strings"
)

// window reads window functions; those with other partitions or orders go into nodes of their own, one over the other.
func (d *decoder) window(t *tree) (Node, error) {
	in, err := d.child(t)
	if err != nil {
		return nil, err
	}
	type group struct {
		node  *Window
		place [][]int // of its functions among all; equal ones are evaluated once
	}
	var groups []*group
	items := t.get("expressions").list()
	for i := range items {
		f, partition, order, err := d.windowFunc(&items[i])
		if err != nil {
			return nil, err
		}
		var g *group
		for _, have := range groups {
			if sameExprs(have.node.Partition, partition) && sameOrder(have.node.Order, order) {
				g = have
			}
		}
		if g == nil {
			g = &group{node: &Window{Partition: partition, Order: order, Pos: f.Pos}}
			groups = append(groups, g)
		}
		text, again := windowFuncText(&f), false
		for k := range g.node.Funcs {
			if !again && windowFuncText(&g.node.Funcs[k]) == text {
				g.place[k], again = append(g.place[k], i), true
			}
		}
		if !again {
			g.node.Funcs, g.place = append(g.node.Funcs, f), append(g.place, []int{i})
		}
	}
	width := len(in.Columns())
	which := append(upTo(width), make([]int, len(items))...)
	at := width
	for _, g := range groups {
		g.node.Input = in
		in = g.node
		for _, places := range g.place {
			for _, p := range places {
				which[width+p] = at
			}
			at++
		}
	}
	if ascending(which) && at == len(which) {
		return in, nil
	}
	return pick(in, which)
}

// windowFuncText tells functions of one window apart.
func windowFuncText(f *WindowFunc) string {
	text := func(e Expr) string { return ExprText(e) }
	texts := func(es []Expr) (s string) {
		for _, e := range es {
			s += ExprText(e) + ","
		}
		return s
	}
	order := func(items []OrderItem) (s string) {
		for _, o := range items {
			s += fmt.Sprint(ExprText(o.Expr), o.Desc, o.NullsFirst, ",")
		}
		return s
	}
	return f.Schema + "." + windowText(f, texts, text, order) + f.Data + f.Type.String()
}

var frameBounds = map[string]struct {
	kind BoundKind
	unit FrameUnit
}{
	"UNBOUNDED_PRECEDING": {UnboundedPreceding, Rows}, "UNBOUNDED_FOLLOWING": {UnboundedFollowing, Rows},
	"CURRENT_ROW_ROWS": {CurrentRow, Rows}, "CURRENT_ROW_RANGE": {CurrentRow, Range}, "CURRENT_ROW_GROUPS": {CurrentRow, Groups},
	"EXPR_PRECEDING_ROWS": {Preceding, Rows}, "EXPR_PRECEDING_RANGE": {Preceding, Range}, "EXPR_PRECEDING_GROUPS": {Preceding, Groups},
	"EXPR_FOLLOWING_ROWS": {Following, Rows}, "EXPR_FOLLOWING_RANGE": {Following, Range}, "EXPR_FOLLOWING_GROUPS": {Following, Groups},
}

var excludes = map[string]string{"NO_OTHER": "", "": "", "CURRENT_ROW": "CURRENT ROW", "GROUP": "GROUP", "TIES": "TIES"}

func (d *decoder) windowFunc(t *tree) (f WindowFunc, partition []Expr, order []OrderItem, err error) {
	pos := position(t)
	typ := t.str("type")
	if t.str("expression_class") != "BOUND_WINDOW" || !strings.HasPrefix(typ, "WINDOW_") {
		return f, nil, nil, unknownExpression(t.str("expression_class")+" "+typ, pos)
	}
	f = WindowFunc{
		Name: strings.ToLower(strings.TrimPrefix(typ, "WINDOW_")), Aggregate: typ == "WINDOW_AGGREGATE",
		Args: d.exprs(t.get("children"), nil), Distinct: t.bool("distinct"), IgnoreNulls: t.bool("ignore_nulls"),
		Filter: d.optional(t.get("filters"), nil), Offset: d.optional(t.get("offset_expr"), nil), Default: d.optional(t.get("default_expr"), nil),
		ArgOrder: d.order(t.get("arg_orders")), ArgTypes: d.argTypes(t), Pos: pos, Column: t.str("alias"),
	}
	if f.Aggregate {
		f.Name = t.str("name")
		if s := t.str("schema_name"); s != "main" {
			f.Schema = s
		}
		f.Params, f.Data = d.params(f.Name, t.get("function_data"))
	}
	if f.Name == "" {
		return f, nil, nil, unknownExpression(typ, pos)
	}
	if f.Name == "rank_dense" {
		f.Name = "dense_rank"
	}
	if f.Column == "" {
		f.Column = f.Name
	}
	if f.Type, err = d.typeOf(t.get("return_type")); err != nil {
		return f, nil, nil, err
	}
	start, ok1 := frameBounds[t.str("start")]
	end, ok2 := frameBounds[t.str("end")]
	exclude, ok3 := excludes[t.str("exclude_clause")]
	if !ok1 || !ok2 || !ok3 {
		return f, nil, nil, unknownExpression("frame from "+t.str("start")+" to "+t.str("end")+" "+t.str("exclude_clause"), pos)
	}
	f.Frame = Frame{max(start.unit, end.unit), FrameBound{start.kind, d.optional(t.get("start_expr"), nil)}, FrameBound{end.kind, d.optional(t.get("end_expr"), nil)}, exclude}
	for _, b := range []FrameBound{f.Frame.Start, f.Frame.End} {
		if (b.Kind == Preceding || b.Kind == Following) && b.Expr == nil {
			return f, nil, nil, unknownExpression("a frame without its size", pos)
		}
	}
	return f, d.exprs(t.get("partitions"), nil), d.order(t.get("orders")), nil
}

// ignoresFrame are functions of the place in the partition alone.
var ignoresFrame = map[string]bool{"row_number": true, "rank": true, "dense_rank": true, "percent_rank": true, "cume_dist": true,
	"ntile": true, "lag": true, "lead": true}

func sameExprs(a, b []Expr) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !Same(a[i], b[i]) {
			return false
		}
	}
	return true
}

func sameOrder(a, b []OrderItem) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].Desc != b[i].Desc || a[i].NullsFirst != b[i].NullsFirst || !Same(a[i].Expr, b[i].Expr) {
			return false
		}
	}
	return true
}

// Same says that two expressions are the same one, wherever they stand in the text.
func Same(a, b Expr) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return a.Result().Equal(b.Result()) && ExprText(a) == ExprText(b)
}
