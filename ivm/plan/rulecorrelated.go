package plan

// uncorrelate undoes a correlated join: its inner side joins the distinct values of the outer side's columns (D) with
// something of its own (X), and the outer side is joined to that by the same columns. As each outer row meets exactly one row of
// D, it may be joined to X at once. Only where the inner side is rows of that join, row by row; an aggregate of them is another thing.
//
// need are the columns of the join that somebody wants.
func uncorrelate(j *Join, need []bool) *Project {
	outer, ok := j.Left.(*Shared)
	if !ok || j.NullAware || j.Residual != nil || j.Kind == Full || j.Kind == AsOf || j.Kind == AsOfLeft {
		return nil
	}
	inner, rowExprs, preds := below(j.Right)
	if inner == nil {
		return nil
	}
	// The inner join's columns as expressions over outer ++ X.
	width := len(outer.Columns())
	var columns []Expr
	var x Node
	xAt, dAt := 0, 0
	li, ri := len(inner.Left.Columns()), len(inner.Right.Columns())
	d := distinctOf(inner.Right, outer)
	if d != nil {
		x, xAt, dAt = inner.Left, 0, li
	} else if d = distinctOf(inner.Left, outer); d != nil {
		x, xAt, dAt = inner.Right, li, 0
	} else {
		return nil
	}
	columns = make([]Expr, li+ri)
	xCols := x.Columns()
	for i, c := range xCols {
		columns[xAt+i] = &ColumnRef{Typed{c.Type, NoPosition}, width + i, c.Name}
	}
	for i, e := range d.Exprs {
		columns[dAt+i] = e
	}
	// Every correlated column must be asked for again; then D's row is the outer row's.
	asked := map[int]bool{}
	var rest []Condition
	for _, c := range j.Conditions {
		r, isRef := c.Right.(*ColumnRef)
		if isRef && c.Op == NotDistinct {
			k := correlation(inner, rowExprs[r.Index], dAt, len(d.Exprs))
			if k >= 0 && Same(c.Left, d.Exprs[k]) {
				asked[k] = true
				continue
			}
		}
		rest = append(rest, c)
	}
	if len(asked) != len(d.Exprs) {
		return nil
	}
	out := &Join{Kind: j.Kind, Left: outer, Right: x, Pos: j.Pos}
	var residual []Expr
	for _, c := range inner.Conditions {
		left := substitute(c.Left, columns[:li])
		right := substitute(c.Right, columns[li:])
		residual = append(residual, compare(c.Op, left, right, NoPosition))
	}
	for _, p := range append(Conjuncts(inner.Residual), preds...) {
		residual = append(residual, substitute(p, columns))
	}
	for _, c := range rest {
		residual = append(residual, compare(c.Op, c.Left, substitute(substitute(c.Right, rowExprs), columns), NoPosition))
	}
	out.Residual = AndAll(residual)
	cols := j.Columns()
	p := &Project{Input: out, Exprs: allRefs(outer.Columns()), Names: names(cols)}
	switch j.Kind {
	case Semi, Anti:
	case Mark:
		p.Exprs = append(p.Exprs, &ColumnRef{Typed{boolean, NoPosition}, width, "mark"})
	default:
		for i, e := range rowExprs {
			moved := substitute(e, columns)
			if _, own := moved.(*ColumnRef); j.Kind.padsRight() && (!own || sides(moved, width) != 2) {
				// It would have to be NULL in a padded row.
				if need[width+i] {
					return nil
				}
				moved = &Constant{Typed{e.Result(), NoPosition}, nil}
			}
			p.Exprs = append(p.Exprs, moved)
		}
	}
	splitConditions(out, width)
	return p
}

// correlation is which of D's columns, n of them from at on, an expression over the inner join's row is: itself, or through
// an equality of that join. -1 is none.
func correlation(j *Join, e Expr, at, n int) int {
	within := func(e Expr) int {
		if r, ok := e.(*ColumnRef); ok && r.Index >= at && r.Index < at+n {
			return r.Index - at
		}
		return -1
	}
	if k := within(e); k >= 0 {
		return k
	}
	width := len(j.Left.Columns())
	for _, c := range j.Conditions {
		if c.Op != Equal && c.Op != NotDistinct {
			continue
		}
		right := mapRefs(c.Right, func(i int) int { return i + width })
		if k := within(right); k >= 0 && Same(e, c.Left) {
			return k
		}
		if k := within(c.Left); k >= 0 && Same(e, right) {
			return k
		}
	}
	return -1
}

// below finds the inner join under projections and filters, with the node's columns and the filters' predicates as expressions over it.
func below(n Node) (j *Join, columns, preds []Expr) {
	switch n := n.(type) {
	case *Join:
		if n.Kind != Inner {
			return nil, nil, nil
		}
		return n, allRefs(n.Columns()), nil
	case *Project:
		j, columns, preds = below(n.Input)
		if j == nil {
			return nil, nil, nil
		}
		out := make([]Expr, len(n.Exprs))
		for i, e := range n.Exprs {
			out[i] = substitute(e, columns)
		}
		return j, out, preds
	case *Filter:
		j, columns, preds = below(n.Input)
		if j == nil {
			return nil, nil, nil
		}
		for _, p := range Conjuncts(n.Pred) {
			preds = append(preds, substitute(p, columns))
		}
		return j, columns, preds
	}
	return nil, nil, nil
}

// distinctOf is the projection of the outer side whose distinct rows the node gives.
func distinctOf(n Node, outer *Shared) *Project {
	d, ok := n.(*DistinctRows)
	if !ok {
		return nil
	}
	if p, ok := d.Input.(*Project); ok && p.Input == Node(outer) {
		return p
	}
	if d.Input == Node(outer) {
		cols := outer.Columns()
		return &Project{outer, allRefs(cols), names(cols)}
	}
	return nil
}
