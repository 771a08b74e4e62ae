package bind

import (
	"fmt"
	"strings"

	"github.com/vegadb/vega-flight/ivm/plan"
	"github.com/vegadb/vega-flight/ivm/row"
)

// toSQL writes a plan as SQL again, so that DuckDB can say whether it still means the query. It is written for clarity of meaning, not
// speed.
func toSQL(n plan.Node) string { return (&printer{}).node(n) }

type printer struct{}

func cols(prefix string, n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("%s.c%d", prefix, i)
	}
	return out
}

func columnList(es []string) string {
	if len(es) == 0 {
		return "1 AS nothing"
	}
	out := make([]string, len(es))
	for i, e := range es {
		out[i] = fmt.Sprintf("%s AS c%d", e, i)
	}
	return strings.Join(out, ", ")
}

func (p *printer) node(n plan.Node) string {
	in := n.Inputs()
	width := len(n.Columns())
	x := func(es []plan.Expr) []string { return p.exprs(es, cols("x", 1000)) }
	one := func(e plan.Expr) string { return p.expr(e, cols("x", 1000)) }
	from := func(i int) string { return "(" + p.node(in[i]) + ")" }
	switch n := n.(type) {
	case *plan.Scan:
		var es []string
		for _, f := range n.Fields {
			es = append(es, `"`+f.Name+`"`)
		}
		return "SELECT " + columnList(es) + " FROM lake.main." + n.Source.Name
	case *plan.Values:
		var rows []string
		for _, r := range n.Rows {
			rows = append(rows, "SELECT "+columnList(p.exprs(r, nil)))
		}
		if len(rows) == 0 {
			var es []string
			for _, c := range n.Cols {
				es = append(es, "CAST(NULL AS "+c.Type.String()+")")
			}
			return "SELECT " + columnList(es) + " WHERE false"
		}
		return strings.Join(rows, " UNION ALL ")
	case *plan.Filter:
		return "SELECT * FROM " + from(0) + " x WHERE " + one(n.Pred)
	case *plan.Temporal:
		var ps []string
		for _, b := range n.Bounds {
			ps = append(ps, one(b.Row)+" "+b.Op.String()+" "+one(b.At))
		}
		return "SELECT * FROM " + from(0) + " x WHERE " + strings.Join(ps, " AND ")
	case *plan.Project:
		return "SELECT " + columnList(x(n.Exprs)) + " FROM " + from(0) + " x"
	case *plan.Join:
		return p.join(n)
	case *plan.Aggregate:
		return p.aggregate(n)
	case *plan.DistinctRows:
		return "SELECT DISTINCT * FROM " + from(0) + " x"
	case *plan.SetOp:
		word := map[plan.SetKind]string{plan.UnionAll: " UNION ALL ", plan.Except: " EXCEPT ", plan.ExceptAll: " EXCEPT ALL ", plan.Intersect: " INTERSECT ", plan.IntersectAll: " INTERSECT ALL "}[n.Kind]
		var parts []string
		for i := range in {
			parts = append(parts, from(i))
		}
		return strings.Join(parts, word)
	case *plan.TopK:
		f := "row_number()"
		order := p.order(n.Order, cols("x", 1000))
		if n.WithTies {
			f = "rank()"
		} else {
			order = append(order, cols("x", len(n.Input.Columns()))...)
		}
		s := "SELECT x.*, " + f + " OVER (" + over(x(n.Partition), order) + ") AS place FROM " + from(0) + " x"
		keep := cols("x", len(n.Input.Columns()))
		if n.Number {
			keep = append(keep, "x.place")
		}
		s = "SELECT " + columnList(keep) + " FROM (" + s + ") x WHERE x.place > " + fmt.Sprint(n.Offset)
		if n.Limit >= 0 {
			s += fmt.Sprintf(" AND x.place <= %d", n.Limit+n.Offset)
		}
		return s
	case *plan.Window:
		es := cols("x", len(n.Input.Columns()))
		for i := range n.Funcs {
			es = append(es, p.windowFunc(n, &n.Funcs[i]))
		}
		return "SELECT " + columnList(es) + " FROM " + from(0) + " x"
	case *plan.Unnest:
		es := cols("x", len(n.Input.Columns()))
		for _, l := range n.Lists {
			es = append(es, "unnest("+one(l)+")")
		}
		return "SELECT " + columnList(es) + " FROM " + from(0) + " x"
	case *plan.Shared:
		return p.node(n.Input)
	}
	return fmt.Sprintf("SELECT error('%T of %d columns')", n, width)
}

func over(partition, order []string) string {
	s := ""
	if len(partition) > 0 {
		s = "PARTITION BY " + strings.Join(partition, ", ")
	}
	if len(order) > 0 {
		s += " ORDER BY " + strings.Join(order, ", ")
	}
	return s
}

func (p *printer) order(items []plan.OrderItem, c []string) []string {
	var out []string
	for _, o := range items {
		s := p.expr(o.Expr, c)
		if o.Desc {
			s += " DESC"
		}
		if o.NullsFirst {
			s += " NULLS FIRST"
		} else {
			s += " NULLS LAST"
		}
		out = append(out, s)
	}
	return out
}

func (p *printer) join(n *plan.Join) string {
	l, r := "("+p.node(n.Left)+") l", "("+p.node(n.Right)+") r"
	lc, rc := cols("l", len(n.Left.Columns())), cols("r", len(n.Right.Columns()))
	var chosen, asked []string
	for _, c := range n.Conditions {
		s := "(" + p.expr(c.Left, lc) + " " + c.Op.String() + " " + p.expr(c.Right, rc) + ")"
		if c.Op == plan.NotDistinct {
			chosen = append(chosen, s)
		} else {
			asked = append(asked, s)
		}
	}
	if n.Residual != nil {
		asked = append(asked, p.expr(n.Residual, append(append([]string{}, lc...), rc...)))
	}
	and := func(ps ...string) string {
		if len(ps) == 0 {
			return "true"
		}
		return strings.Join(ps, " AND ")
	}
	on := and(append(append([]string{}, chosen...), asked...)...)
	both := columnList(append(append([]string{}, lc...), rc...))
	switch n.Kind {
	case plan.Inner:
		return "SELECT " + both + " FROM " + l + " JOIN " + r + " ON " + on
	case plan.Left, plan.Single:
		return "SELECT " + both + " FROM " + l + " LEFT JOIN " + r + " ON " + on
	case plan.Full:
		return "SELECT " + both + " FROM " + l + " FULL JOIN " + r + " ON " + on
	case plan.Semi:
		return "SELECT * FROM " + l + " WHERE EXISTS (SELECT 1 FROM " + r + " WHERE " + on + ")"
	case plan.Anti:
		return "SELECT * FROM " + l + " WHERE NOT EXISTS (SELECT 1 FROM " + r + " WHERE " + on + ")"
	case plan.AsOf:
		return "SELECT " + both + " FROM " + l + " ASOF JOIN " + r + " ON " + on
	case plan.AsOfLeft:
		return "SELECT " + both + " FROM " + l + " ASOF LEFT JOIN " + r + " ON " + on
	case plan.Mark:
		mark := "EXISTS (SELECT 1 FROM " + r + " WHERE " + on + ")"
		if n.NullAware {
			mark = "CASE WHEN " + mark + " THEN true WHEN EXISTS (SELECT 1 FROM " + r + " WHERE " + and(append(append([]string{}, chosen...), "("+and(asked...)+") IS NULL")...) + ") THEN NULL ELSE false END"
		}
		return "SELECT " + columnList(append(append([]string{}, lc...), mark)) + " FROM " + l
	}
	return "join"
}

func (p *printer) aggregate(n *plan.Aggregate) string {
	c := cols("x", 1000)
	// Groups get names first: two of them may be the same expression and still be told apart by grouping sets.
	var groups, named []string
	for i, g := range p.exprs(n.Groups, c) {
		groups = append(groups, fmt.Sprintf("x.g%d", i))
		named = append(named, fmt.Sprintf(", %s AS g%d", g, i))
	}
	es := append([]string{}, groups...)
	for i := range n.Aggs {
		a := &n.Aggs[i]
		args := p.exprs(a.Args, c)
		args = append(args, erased(a.Params)...)
		s := `"` + a.Name + `"(`
		if a.Name == "count_star" {
			s = "count(*"
		}
		if a.Distinct {
			s += "DISTINCT "
		}
		s += strings.Join(args, ", ")
		if order := p.order(a.Order, c); len(order) > 0 {
			s += " ORDER BY " + strings.Join(order, ", ")
		} else if a.Internal {
			s = "min(" + args[0]
		}
		s += ")"
		if a.Filter != nil {
			s += " FILTER (WHERE " + p.expr(a.Filter, c) + ")"
		}
		es = append(es, s)
	}
	for _, call := range n.Groupings {
		var gs []string
		for _, g := range call {
			gs = append(gs, groups[g])
		}
		es = append(es, "grouping("+strings.Join(gs, ", ")+")")
	}
	s := "SELECT " + columnList(es) + " FROM (SELECT x.*" + strings.Join(named, "") + " FROM (" + p.node(n.Input) + ") x) x"
	switch {
	case n.Sets != nil:
		var sets []string
		for _, set := range n.Sets {
			var gs []string
			for _, g := range set {
				gs = append(gs, groups[g])
			}
			sets = append(sets, "("+strings.Join(gs, ", ")+")")
		}
		s += " GROUP BY GROUPING SETS (" + strings.Join(sets, ", ") + ")"
	case len(groups) > 0:
		s += " GROUP BY " + strings.Join(groups, ", ")
	}
	return s
}

// erased are the arguments that DuckDB keeps beside the others.
func erased(params []*plan.Constant) (out []string) {
	for _, c := range params {
		out = append(out, c.SQL())
	}
	return out
}

func (p *printer) windowFunc(w *plan.Window, f *plan.WindowFunc) string {
	c := cols("x", 1000)
	args := p.exprs(f.Args, c)
	if f.Aggregate {
		args = append(args, erased(f.Params)...)
	}
	for _, e := range []plan.Expr{f.Offset, f.Default} {
		if e != nil {
			args = append(args, p.expr(e, c))
		}
	}
	name := f.Name
	s := `"` + name + `"(`
	if f.Aggregate && f.Name == "count" && len(args) == 0 {
		s = "count(*"
	}
	if f.Distinct {
		s += "DISTINCT "
	}
	s += strings.Join(args, ", ")
	if order := p.order(f.ArgOrder, c); len(order) > 0 {
		s += " ORDER BY " + strings.Join(order, ", ")
	}
	if f.IgnoreNulls {
		s += " IGNORE NULLS"
	}
	s += ")"
	if f.Filter != nil {
		s += " FILTER (WHERE " + p.expr(f.Filter, c) + ")"
	}
	s += " OVER (" + over(p.exprs(w.Partition, c), p.order(w.Order, c))
	bound := func(b plan.FrameBound) string {
		switch b.Kind {
		case plan.UnboundedPreceding:
			return "UNBOUNDED PRECEDING"
		case plan.UnboundedFollowing:
			return "UNBOUNDED FOLLOWING"
		case plan.CurrentRow:
			return "CURRENT ROW"
		}
		e := b.Expr
		if f.Frame.Unit == plan.Range {
			e = e.(*plan.Function).Args[1]
		}
		return p.expr(e, c) + map[bool]string{true: " PRECEDING", false: " FOLLOWING"}[b.Kind == plan.Preceding]
	}
	switch name {
	case "row_number", "rank", "dense_rank", "percent_rank", "cume_dist", "ntile", "lag", "lead":
	default:
		s += " " + [...]string{"ROWS", "RANGE", "GROUPS"}[f.Frame.Unit] + " BETWEEN " + bound(f.Frame.Start) + " AND " + bound(f.Frame.End)
		if f.Frame.Exclude != "" {
			s += " EXCLUDE " + f.Frame.Exclude
		}
	}
	return s + ")"
}

func (p *printer) exprs(es []plan.Expr, c []string) []string {
	out := make([]string, len(es))
	for i, e := range es {
		out[i] = p.expr(e, c)
	}
	return out
}

func (p *printer) expr(e plan.Expr, c []string) string {
	sub := func(e plan.Expr) string { return p.expr(e, c) }
	join := func(es []plan.Expr, sep string) string { return strings.Join(p.exprs(es, c), sep) }
	not := map[bool]string{true: " NOT"}
	switch e := e.(type) {
	case *plan.ColumnRef:
		return c[e.Index]
	case *plan.ParamRef:
		return e.Name
	case *plan.Clock:
		return "make_timestamptz(CAST($vega_now AS BIGINT))"
	case *plan.Constant:
		return e.SQL()
	case *plan.Cast:
		if e.Try {
			return "TRY_CAST(" + sub(e.Child) + " AS " + e.Type.String() + ")"
		}
		return "CAST(" + sub(e.Child) + " AS " + e.Type.String() + ")"
	case *plan.Comparison:
		return "(" + sub(e.Left) + " " + e.Op.String() + " " + sub(e.Right) + ")"
	case *plan.Conjunction:
		return "(" + join(e.Args, map[bool]string{true: " OR ", false: " AND "}[e.Or]) + ")"
	case *plan.Not:
		return "(NOT " + sub(e.Child) + ")"
	case *plan.IsNull:
		return "(" + sub(e.Child) + " IS" + not[e.Not] + " NULL)"
	case *plan.Coalesce:
		return "coalesce(" + join(e.Args, ", ") + ")"
	case *plan.In:
		return "(" + sub(e.Child) + not[e.Not] + " IN (" + join(e.List, ", ") + "))"
	case *plan.Between:
		low, high := " >= ", " <= "
		if e.LowOpen {
			low = " > "
		}
		if e.HighOpen {
			high = " < "
		}
		return "(" + not[e.Not] + " (" + sub(e.Child) + low + sub(e.Low) + " AND " + sub(e.Child) + high + sub(e.High) + "))"
	case *plan.Case:
		s := "CASE"
		for _, w := range e.Whens {
			s += " WHEN " + sub(w.If) + " THEN " + sub(w.Then)
		}
		return s + " ELSE " + sub(e.Else) + " END"
	case *plan.Function:
		return p.function(e, c)
	}
	return fmt.Sprintf("error('%T')", e)
}

func (p *printer) function(e *plan.Function, c []string) string {
	args := p.exprs(e.Args, c)
	switch {
	case e.Name == "TRY":
		return "TRY(" + args[0] + ")"
	case e.Operator && len(args) == 2:
		return "(" + args[0] + " " + e.Name + " " + args[1] + ")"
	case e.Operator && len(args) == 1:
		return "(" + e.Name + " " + args[0] + ")"
	case e.Name == "struct_pack" || e.Name == "union_value":
		for i := range args {
			args[i] = `"` + e.Type.Names[i] + `" := ` + args[i]
		}
	case e.Name == "list_value" && len(args) == 0, e.Type.Kind == row.Map && e.Name == "map":
	}
	if e.Lambda != nil {
		args = append(args[:1:1], append([]string{"lambda " + strings.Join(e.Lambda.Params, ", ") + ": " + p.expr(e.Lambda.Body, c)}, args[1:]...)...)
	}
	return `"` + e.Name + `"(` + strings.Join(args, ", ") + ")"
}
