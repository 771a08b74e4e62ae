package plan

import (
	"fmt"
	"strings"
)

// Text is the plan as lines, inputs indented below their node. A [Shared] node is spelled out where it is used first.
func (p *Plan) Text() string {
	var b strings.Builder
	seen := map[Node]int{}
	var write func(n Node, depth int)
	write = func(n Node, depth int) {
		b.WriteString(strings.Repeat("  ", depth))
		id, again := seen[n]
		_, shared := n.(*Shared)
		if shared && !again {
			id = len(seen) + 1
			seen[n] = id
		}
		op, detail := describeNode(n)
		b.WriteString(op)
		if shared {
			fmt.Fprintf(&b, " $%d", id)
			detail = ""
		}
		if detail != "" {
			b.WriteString(" " + detail)
		}
		b.WriteByte('\n')
		if again {
			return
		}
		for _, in := range n.Inputs() {
			write(in, depth+1)
		}
	}
	write(p.Root, 0)
	return b.String()
}

// describeNode is a node's operator and what it does, for people.
func describeNode(n Node) (op, detail string) {
	var b strings.Builder
	in := []Column(nil)
	if kids := n.Inputs(); len(kids) > 0 {
		in = kids[0].Columns()
	}
	text := func(e Expr) string {
		var b strings.Builder
		exprText(&b, e, in)
		return b.String()
	}
	texts := func(es []Expr) string {
		parts := make([]string, len(es))
		for i, e := range es {
			parts[i] = text(e)
		}
		return strings.Join(parts, ", ")
	}
	order := func(items []OrderItem) string {
		parts := make([]string, len(items))
		for i, o := range items {
			parts[i] = text(o.Expr)
			if o.Desc {
				parts[i] += " DESC"
			}
			if o.NullsFirst {
				parts[i] += " NULLS FIRST"
			}
		}
		return strings.Join(parts, ", ")
	}
	switch n := n.(type) {
	case *Scan:
		var cols []string
		for _, f := range n.Fields {
			cols = append(cols, f.Name)
		}
		return "scan", n.Source.String() + " (" + strings.Join(cols, ", ") + ")"
	case *Values:
		rows := make([]string, 0, len(n.Rows))
		for i, r := range n.Rows {
			if i == 20 {
				rows = append(rows, fmt.Sprintf("… %d rows", len(n.Rows)))
				break
			}
			rows = append(rows, "("+texts(r)+")")
		}
		return "values", "[" + strings.Join(rows, ", ") + "]"
	case *Filter:
		return "filter", text(n.Pred)
	case *Temporal:
		for i, c := range n.Bounds {
			if i > 0 {
				b.WriteString(" AND ")
			}
			b.WriteString(text(c.Row) + " " + c.Op.String() + " " + ExprText(c.At))
		}
		return "temporal", b.String()
	case *Project:
		parts := make([]string, len(n.Exprs))
		for i, e := range n.Exprs {
			parts[i] = text(e)
			if r, ok := e.(*ColumnRef); !ok || r.Index >= len(in) || in[r.Index].Name != n.Names[i] {
				parts[i] += " AS " + n.Names[i]
			}
		}
		return "project", strings.Join(parts, ", ")
	case *Join:
		return "join", joinText(n)
	case *Aggregate:
		b.WriteString("groups=[" + texts(n.Groups) + "]")
		if n.Sets != nil {
			fmt.Fprintf(&b, " sets=%v", n.Sets)
		}
		b.WriteString(" aggs=[")
		for i, a := range n.Aggs {
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString(aggText(&a, texts, text, order))
		}
		b.WriteByte(']')
		if len(n.Groupings) > 0 {
			fmt.Fprintf(&b, " grouping=%v", n.Groupings)
		}
		return "aggregate", b.String()
	case *DistinctRows:
		return "distinct", ""
	case *SetOp:
		return n.Kind.String(), ""
	case *TopK:
		if len(n.Partition) > 0 {
			b.WriteString("partition=[" + texts(n.Partition) + "] ")
		}
		if len(n.Order) > 0 {
			b.WriteString("order=[" + order(n.Order) + "] ")
		}
		if n.Limit >= 0 {
			fmt.Fprintf(&b, "limit=%d", n.Limit)
		}
		if n.Offset > 0 {
			fmt.Fprintf(&b, " offset=%d", n.Offset)
		}
		if n.WithTies {
			b.WriteString(" with ties")
		}
		if n.Number {
			b.WriteString(" numbered")
		}
		return "topk", strings.TrimSpace(b.String())
	case *Window:
		b.WriteString("partition=[" + texts(n.Partition) + "] order=[" + order(n.Order) + "] functions=[")
		for i, f := range n.Funcs {
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString(windowText(&f, texts, text, order))
		}
		return "window", b.String() + "]"
	case *Unnest:
		return "unnest", texts(n.Lists)
	case *Shared:
		return "shared", n.Name
	case *Unsupported:
		var codes []string
		for _, r := range n.Reasons {
			codes = append(codes, string(r.Code))
		}
		return "unsupported", n.Type + " [" + strings.Join(codes, ", ") + "]"
	}
	return fmt.Sprintf("%T", n), ""
}

func joinText(n *Join) string {
	left, right := n.Left.Columns(), n.Right.Columns()
	var parts []string
	for _, c := range n.Conditions {
		var b strings.Builder
		exprText(&b, c.Left, left)
		b.WriteString(" " + c.Op.String() + " ")
		exprText(&b, c.Right, right)
		parts = append(parts, b.String())
	}
	s := n.Kind.String()
	if n.Kind == Inner && len(parts) == 0 && n.Residual == nil {
		return "cross"
	}
	if n.NullAware {
		s += " null-aware"
	}
	if len(parts) > 0 {
		s += " on [" + strings.Join(parts, ", ") + "]"
	}
	if n.Residual != nil {
		var b strings.Builder
		exprText(&b, n.Residual, append(left[:len(left):len(left)], right...))
		s += " residual " + b.String()
	}
	return s
}

func aggText(a *Agg, texts func([]Expr) string, text func(Expr) string, order func([]OrderItem) string) string {
	s := a.Name + "("
	if a.Distinct {
		s += "DISTINCT "
	}
	s += texts(a.Args) + paramsText(a.Params)
	if len(a.Order) > 0 {
		s += " ORDER BY " + order(a.Order)
	}
	s += ")"
	if a.Data != "" {
		s += a.Data
	}
	if a.Filter != nil {
		s += " FILTER " + text(a.Filter)
	}
	return s
}

func paramsText(params []*Constant) (s string) {
	for _, c := range params {
		s += ", " + c.short()
	}
	return s
}

func windowText(f *WindowFunc, texts func([]Expr) string, text func(Expr) string, order func([]OrderItem) string) string {
	s := f.Name + "("
	if f.Distinct {
		s += "DISTINCT "
	}
	s += texts(f.Args) + paramsText(f.Params)
	for _, e := range []Expr{f.Offset, f.Default} {
		if e != nil {
			s += ", " + text(e)
		}
	}
	if len(f.ArgOrder) > 0 {
		s += " ORDER BY " + order(f.ArgOrder)
	}
	s += ")"
	if f.IgnoreNulls {
		s += " IGNORE NULLS"
	}
	if f.Filter != nil {
		s += " FILTER " + text(f.Filter)
	}
	if ignoresFrame[f.Name] {
		return s
	}
	bound := func(b FrameBound) string {
		switch b.Kind {
		case UnboundedPreceding:
			return "start"
		case UnboundedFollowing:
			return "end"
		case CurrentRow:
			return "current"
		case Preceding:
			return text(b.Expr) + " preceding"
		}
		return text(b.Expr) + " following"
	}
	s += " " + [...]string{"rows", "range", "groups"}[f.Frame.Unit] + " " + bound(f.Frame.Start) + ".." + bound(f.Frame.End)
	if f.Frame.Exclude != "" {
		s += " exclude " + strings.ToLower(f.Frame.Exclude)
	}
	return s
}
