package plan

// subqueries undoes the shapes that DuckDB makes of uncorrelated subqueries: of EXISTS a count of a LIMIT 1, of a scalar one
// first() beside a count that must not exceed 1.
func subqueries(n Node) Node {
	switch n := n.(type) {
	case *Join:
		if n.Kind != Inner {
			return n
		}
		if out := existsJoin(n); out != nil {
			return out
		}
		if out := scalarJoin(n); out != nil {
			return out
		}
		if sw := swapped(n, Inner); true {
			if out := scalarJoin(sw); out != nil {
				right, left := len(n.Right.Columns()), len(n.Left.Columns())
				which := make([]int, 0, left+right)
				for i := range left {
					which = append(which, right+i)
				}
				which = append(which, upTo(right)...)
				if p, err := pick(out, which); err == nil {
					return p
				}
			}
		}
	}
	return n
}

// existsJoin undoes a cross product with whether there is a row.
func existsJoin(n *Join) Node {
	if len(n.Conditions) > 0 || n.Residual != nil {
		return nil
	}
	p, ok := n.Right.(*Project)
	if !ok {
		return nil
	}
	cols := n.Left.Columns()
	isOne := func(e Expr) (value, ok bool) {
		value = true
		if not, is := e.(*Not); is {
			value, e = false, not.Child
		}
		c, is := e.(*Comparison)
		if !is || c.Op != Equal && c.Op != NotEqual {
			return false, false
		}
		if c.Op == NotEqual {
			value = !value
		}
		r, isRef := c.Left.(*ColumnRef)
		k, isConst := c.Right.(*Constant)
		return value, isRef && isConst && r.Index == 0 && k.Value == int64(1)
	}
	if f, filtered := p.Input.(*Filter); filtered {
		value, ok := isOne(f.Pred)
		x := probe(f.Input)
		if !ok || x == nil {
			return nil
		}
		for _, e := range p.Exprs {
			if _, constant := e.(*Constant); !constant {
				return nil
			}
		}
		kind := Semi
		if !value {
			kind = Anti
		}
		return &Project{&Join{Kind: kind, Left: n.Left, Right: x, Pos: n.Pos}, append(allRefs(cols), p.Exprs...), append(names(cols), p.Names...)}
	}
	x := probe(p.Input)
	if x == nil {
		return nil
	}
	es := allRefs(cols)
	for _, e := range p.Exprs {
		value, ok := isOne(e)
		if !ok {
			return nil
		}
		var mark Expr = &ColumnRef{Typed{boolean, NoPosition}, len(cols), "mark"}
		if !value {
			mark = &Not{Typed{boolean, NoPosition}, mark}
		}
		es = append(es, mark)
	}
	return &Project{&Join{Kind: Mark, Left: n.Left, Right: x, Pos: n.Pos}, es, append(names(cols), p.Names...)}
}

// probe is the subquery below count(*) of LIMIT 1.
func probe(n Node) Node {
	a, ok := n.(*Aggregate)
	if !ok || len(a.Groups) > 0 || len(a.Aggs) != 1 || a.Aggs[0].Name != "count_star" || a.Aggs[0].Filter != nil {
		return nil
	}
	t, ok := a.Input.(*TopK)
	if !ok || t.Limit != 1 || t.Offset != 0 || len(t.Partition) > 0 || t.WithTies {
		return nil
	}
	return t.Input
}

// scalarJoin undoes a join with the value of a scalar subquery, which is always one row.
func scalarJoin(n *Join) Node {
	scalar := scalarValue(n.Right)
	if scalar == nil {
		return nil
	}
	if oneRow(scalar) {
		c := *n
		c.Right = scalar
		return &c
	}
	var out Node = &Join{Kind: Single, Left: n.Left, Right: scalar, Pos: n.Pos}
	width := len(n.Left.Columns())
	pred := Conjuncts(n.Residual)
	for _, c := range n.Conditions {
		pred = append(pred, compare(c.Op, c.Left, mapRefs(c.Right, func(i int) int { return i + width }), NoPosition))
	}
	if e := AndAll(pred); e != nil {
		out = &Filter{out, e}
	}
	return out
}

// oneRow says that a node gives exactly one row.
func oneRow(n Node) bool {
	switch n := n.(type) {
	case *Project:
		return oneRow(n.Input)
	case *Shared:
		return oneRow(n.Input)
	case *Aggregate:
		return len(n.Groups) == 0 && n.Sets == nil
	case *Values:
		return len(n.Rows) == 1
	case *Join:
		return n.Kind == Inner && len(n.Conditions) == 0 && n.Residual == nil && oneRow(n.Left) && oneRow(n.Right)
	}
	return false
}

// scalarAlone undoes a scalar subquery that stands beside nothing.
func scalarAlone(n Node) Node {
	scalar := scalarValue(n)
	if scalar == nil {
		return n
	}
	if oneRow(scalar) {
		return scalar
	}
	return &Join{Kind: Single, Left: &Values{Rows: [][]Expr{{}}, Pos: NoPosition}, Right: scalar, Pos: NoPosition}
}

// scalarValue is the subquery below what makes one row of it: its first value beside a count that must not exceed 1.
func scalarValue(n Node) *Project {
	p, ok := n.(*Project)
	if !ok || len(p.Exprs) == 0 {
		return nil
	}
	a, ok := p.Input.(*Aggregate)
	if !ok || len(a.Groups) > 0 || len(a.Aggs) < 2 {
		return nil
	}
	count := len(a.Aggs) - 1
	if a.Aggs[count].Name != "count_star" {
		return nil
	}
	var values []Expr
	for _, e := range p.Exprs {
		c, ok := e.(*Case)
		if !ok || len(c.Whens) != 1 {
			return nil
		}
		cmp, ok := c.Whens[0].If.(*Comparison)
		if !ok || cmp.Op != Greater {
			return nil
		}
		r, ok1 := cmp.Left.(*ColumnRef)
		f, ok2 := c.Whens[0].Then.(*Function)
		v, ok3 := c.Else.(*ColumnRef)
		if !ok1 || !ok2 || !ok3 || r.Index != count || f.Name != "error" || v.Index >= count || a.Aggs[v.Index].Name != "first" || len(a.Aggs[v.Index].Args) != 1 {
			return nil
		}
		values = append(values, a.Aggs[v.Index].Args[0])
	}
	return &Project{a.Input, values, p.Names}
}
