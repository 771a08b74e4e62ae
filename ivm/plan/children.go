package plan

// What each node's inputs and expressions are, and the same node over others. Expressions that are nil stay nil.

// Inputs of a scan are none.
func (n *Scan) Inputs() []Node { return nil }

// Position is where it stands in the text.
func (n *Scan) Position() int           { return n.Pos }
func (n *Scan) with([]Node) Node        { return n }
func (n *Scan) exprs() []Expr           { return nil }
func (n *Scan) withExprs([]Expr) Node   { return n }
func (n *Values) with([]Node) Node      { return n }
func (n *Values) withExprs([]Expr) Node { return n }

// Inputs of constants are none.
func (n *Values) Inputs() []Node { return nil }

// Position is where it stands in the text.
func (n *Values) Position() int { return n.Pos }
func (n *Values) exprs() []Expr {
	var out []Expr
	for _, r := range n.Rows {
		out = append(out, r...)
	}
	return out
}

// Inputs is one.
func (n *Filter) Inputs() []Node { return []Node{n.Input} }

// Position is the predicate's.
func (n *Filter) Position() int              { return n.Pred.Position() }
func (n *Filter) with(in []Node) Node        { return &Filter{in[0], n.Pred} }
func (n *Filter) exprs() []Expr              { return []Expr{n.Pred} }
func (n *Filter) withExprs(es []Expr) Node   { return &Filter{n.Input, es[0]} }
func (n *Temporal) with(in []Node) Node      { c := *n; c.Input = in[0]; return &c }
func (n *Temporal) withExprs(es []Expr) Node { return n.bounds(es) }

// Inputs is one.
func (n *Temporal) Inputs() []Node { return []Node{n.Input} }

// Position is where it stands in the text.
func (n *Temporal) Position() int { return n.Pos }
func (n *Temporal) exprs() []Expr {
	var out []Expr
	for _, b := range n.Bounds {
		out = append(out, b.Row)
	}
	return out
}

func (n *Temporal) bounds(es []Expr) Node {
	c := *n
	c.Bounds = append([]ClockBound{}, n.Bounds...)
	for i := range c.Bounds {
		c.Bounds[i].Row = es[i]
	}
	return &c
}

// Inputs is one.
func (n *Project) Inputs() []Node { return []Node{n.Input} }

// Position is the first expression's that has one.
func (n *Project) Position() int {
	for _, e := range n.Exprs {
		if p := e.Position(); p != NoPosition {
			return p
		}
	}
	return NoPosition
}
func (n *Project) with(in []Node) Node      { return &Project{in[0], n.Exprs, n.Names} }
func (n *Project) exprs() []Expr            { return n.Exprs }
func (n *Project) withExprs(es []Expr) Node { return &Project{n.Input, es, n.Names} }

// Inputs are two.
func (n *Join) Inputs() []Node { return []Node{n.Left, n.Right} }

// Position is where it stands in the text.
func (n *Join) Position() int       { return n.Pos }
func (n *Join) with(in []Node) Node { c := *n; c.Left, c.Right = in[0], in[1]; return &c }
func (n *Join) exprs() []Expr {
	var out []Expr
	for _, c := range n.Conditions {
		out = append(out, c.Left, c.Right)
	}
	return append(out, n.Residual)
}
func (n *Join) withExprs(es []Expr) Node {
	c := *n
	c.Conditions = append([]Condition{}, n.Conditions...)
	for i := range c.Conditions {
		c.Conditions[i].Left, c.Conditions[i].Right = es[2*i], es[2*i+1]
	}
	c.Residual = es[len(es)-1]
	return &c
}

// Inputs is one.
func (n *Aggregate) Inputs() []Node { return []Node{n.Input} }

// Position is where it stands in the text.
func (n *Aggregate) Position() int       { return n.Pos }
func (n *Aggregate) with(in []Node) Node { c := *n; c.Input = in[0]; return &c }
func (n *Aggregate) exprs() []Expr {
	out := append([]Expr{}, n.Groups...)
	for _, a := range n.Aggs {
		out = append(out, a.Args...)
		out = append(out, a.Filter)
		out = appendOrder(out, a.Order)
	}
	return out
}
func (n *Aggregate) withExprs(es []Expr) Node {
	c, q := *n, queue(es)
	c.Groups = q.take(len(n.Groups))
	c.Aggs = append([]Agg{}, n.Aggs...)
	for i := range c.Aggs {
		a := &c.Aggs[i]
		a.Args = q.take(len(a.Args))
		a.Filter = q.take(1)[0]
		a.Order = q.order(a.Order)
	}
	return &c
}

// queue hands out expressions in order.
type queue []Expr

func (q *queue) take(n int) []Expr {
	out := (*q)[:n:n]
	*q = (*q)[n:]
	return out
}

func (q *queue) order(items []OrderItem) []OrderItem {
	out := append([]OrderItem{}, items...)
	for i := range out {
		out[i].Expr = q.take(1)[0]
	}
	return out
}

func appendOrder(es []Expr, items []OrderItem) []Expr {
	for _, o := range items {
		es = append(es, o.Expr)
	}
	return es
}

// Inputs is one.
func (n *DistinctRows) Inputs() []Node { return []Node{n.Input} }

// Position is where it stands in the text.
func (n *DistinctRows) Position() int         { return n.Pos }
func (n *DistinctRows) with(in []Node) Node   { return &DistinctRows{in[0], n.Pos} }
func (n *DistinctRows) exprs() []Expr         { return nil }
func (n *DistinctRows) withExprs([]Expr) Node { return n }

// Inputs are two, or more for UNION ALL.
func (n *SetOp) Inputs() []Node { return n.In }

// Position is where it stands in the text.
func (n *SetOp) Position() int         { return n.Pos }
func (n *SetOp) with(in []Node) Node   { return &SetOp{n.Kind, in, n.Pos} }
func (n *SetOp) exprs() []Expr         { return nil }
func (n *SetOp) withExprs([]Expr) Node { return n }

// Inputs is one.
func (n *TopK) Inputs() []Node { return []Node{n.Input} }

// Position is where it stands in the text.
func (n *TopK) Position() int       { return n.Pos }
func (n *TopK) with(in []Node) Node { c := *n; c.Input = in[0]; return &c }
func (n *TopK) exprs() []Expr       { return appendOrder(append([]Expr{}, n.Partition...), n.Order) }
func (n *TopK) withExprs(es []Expr) Node {
	c, q := *n, queue(es)
	c.Partition = q.take(len(n.Partition))
	c.Order = q.order(n.Order)
	return &c
}

// Inputs is one.
func (n *Window) Inputs() []Node { return []Node{n.Input} }

// Position is where it stands in the text.
func (n *Window) Position() int       { return n.Pos }
func (n *Window) with(in []Node) Node { c := *n; c.Input = in[0]; return &c }
func (n *Window) exprs() []Expr {
	out := appendOrder(append([]Expr{}, n.Partition...), n.Order)
	for _, f := range n.Funcs {
		out = append(out, f.Args...)
		out = append(out, f.Filter, f.Offset, f.Default, f.Frame.Start.Expr, f.Frame.End.Expr)
		out = appendOrder(out, f.ArgOrder)
	}
	return out
}
func (n *Window) withExprs(es []Expr) Node {
	c, q := *n, queue(es)
	c.Partition = q.take(len(n.Partition))
	c.Order = q.order(n.Order)
	c.Funcs = append([]WindowFunc{}, n.Funcs...)
	for i := range c.Funcs {
		f := &c.Funcs[i]
		f.Args = q.take(len(f.Args))
		five := q.take(5)
		f.Filter, f.Offset, f.Default, f.Frame.Start.Expr, f.Frame.End.Expr = five[0], five[1], five[2], five[3], five[4]
		f.ArgOrder = q.order(f.ArgOrder)
	}
	return &c
}

// Inputs is one.
func (n *Unnest) Inputs() []Node { return []Node{n.Input} }

// Position is where it stands in the text.
func (n *Unnest) Position() int            { return n.Pos }
func (n *Unnest) with(in []Node) Node      { c := *n; c.Input = in[0]; return &c }
func (n *Unnest) exprs() []Expr            { return n.Lists }
func (n *Unnest) withExprs(es []Expr) Node { c := *n; c.Lists = es; return &c }

// Inputs is one.
func (n *Shared) Inputs() []Node { return []Node{n.Input} }

// Position is the input's.
func (n *Shared) Position() int         { return n.Input.Position() }
func (n *Shared) with(in []Node) Node   { return newShared(n.Name, in[0]) }
func (n *Shared) exprs() []Expr         { return nil }
func (n *Shared) withExprs([]Expr) Node { return n }

// Inputs are what was read below it.
func (n *Unsupported) Inputs() []Node { return n.In }

// Position is where it stands in the text.
func (n *Unsupported) Position() int         { return n.Pos }
func (n *Unsupported) with(in []Node) Node   { c := *n; c.In = in; return &c }
func (n *Unsupported) exprs() []Expr         { return nil }
func (n *Unsupported) withExprs([]Expr) Node { return n }
