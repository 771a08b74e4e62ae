package plan

// uncorrelate undoes a correlated join: its inner side joins the distinct values of the outer side's columns (D) with
// something of its own (X), and the outer side is joined to that by the same columns. As each outer row meets exactly one row of
// D, it may be joined to X at once. Only where the inner side is rows of that join, row by row; an aggregate of them is another thing.
//
// need are the columns of the join that somebody wants.
func uncorrelate(j *Join, need []bool) *Project {
	outer, ok := j.Left.(*Shared)
	if !ok || j.Residual != nil || j.Kind == Full || j.Kind == AsOf || j.Kind == AsOfLeft {
		return nil
	}
	if less := withoutReducer(j, outer); less != nil {
		cols := less.Columns()
		return &Project{less, allRefs(cols), names(cols)}
	}
	if j.NullAware {
		return nil
	}
	inner, rowExprs, preds := below(j.Right)
	if inner == nil {
		return nil
	}
	if inner.Kind == Left {
		return uncorrelateLeft(j, outer, inner, rowExprs, preds)
	}
	// The inner join's columns as expressions over outer ++ X.
	width := len(outer.Columns())
	var columns []Expr
	var x Node
	var xAt, dAt int
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
		left := Substitute(c.Left, columns[:li])
		right := Substitute(c.Right, columns[li:])
		residual = append(residual, compare(c.Op, left, right, NoPosition))
	}
	for _, p := range append(Conjuncts(inner.Residual), preds...) {
		residual = append(residual, Substitute(p, columns))
	}
	for _, c := range rest {
		residual = append(residual, compare(c.Op, c.Left, Substitute(Substitute(c.Right, rowExprs), columns), NoPosition))
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
			moved := Substitute(e, columns)
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
		if n.Kind != Inner && n.Kind != Left {
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
			out[i] = Substitute(e, columns)
		}
		return j, out, preds
	case *Filter:
		j, columns, preds = below(n.Input)
		if j == nil {
			return nil, nil, nil
		}
		for _, p := range Conjuncts(n.Pred) {
			preds = append(preds, Substitute(p, columns))
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

// uncorrelateLeft undoes a correlated join whose inner side is D, each row of it with what it meets of A or with NULLs. Each outer row
// meets exactly one row of D, so it may be left-joined to A at once.
func uncorrelateLeft(j *Join, outer *Shared, inner *Join, rowExprs, preds []Expr) *Project {
	if j.Kind != Left && j.Kind != Single && j.Kind != Inner || len(preds) > 0 {
		return nil
	}
	d := distinctOf(inner.Left, outer)
	if d == nil {
		return nil
	}
	asked := map[int]bool{}
	for _, c := range j.Conditions {
		r, isRef := c.Right.(*ColumnRef)
		if !isRef || c.Op != NotDistinct {
			return nil
		}
		in, ok := rowExprs[r.Index].(*ColumnRef)
		if !ok || in.Index >= len(d.Exprs) || !Same(c.Left, d.Exprs[in.Index]) {
			return nil
		}
		asked[in.Index] = true
	}
	if len(asked) != len(d.Exprs) {
		return nil
	}
	width := len(outer.Columns())
	columns := append([]Expr{}, d.Exprs...)
	for i, c := range inner.Right.Columns() {
		columns = append(columns, &ColumnRef{Typed{c.Type, NoPosition}, width + i, c.Name})
	}
	out := &Join{Kind: Left, Left: outer, Right: inner.Right, Pos: j.Pos}
	if j.Kind == Single {
		out.Kind = Single
	}
	for _, c := range inner.Conditions {
		out.Conditions = append(out.Conditions, Condition{Substitute(c.Left, d.Exprs), c.Right, c.Op})
	}
	out.Residual = Substitute(inner.Residual, columns)
	p := &Project{Input: out, Exprs: allRefs(outer.Columns()), Names: names(j.Columns())}
	for _, e := range rowExprs {
		p.Exprs = append(p.Exprs, Substitute(e, columns))
	}
	return p
}

// withoutReducer takes out an inner join with D that only leaves rows away which the outer side would not meet anyway: D's columns are
// equal to columns of the other side, whatever lies above keeps rows of different values apart, and the outer side asks for
// those values. nil when there is none.
func withoutReducer(j *Join, outer *Shared) *Join {
	var asked []int // the right side's columns that the outer side asks for, by D's columns
	right, ok := reduced(j.Right, outer)
	if !ok {
		return nil
	}
	d := right.d
	asked = gone(len(d.Exprs))
	for _, c := range j.Conditions {
		r, isRef := c.Right.(*ColumnRef)
		if !isRef || c.Op != NotDistinct {
			continue
		}
		if k := right.carries[r.Index]; k >= 0 && Same(c.Left, d.Exprs[k]) {
			asked[k] = r.Index
		}
	}
	for _, at := range asked {
		if at < 0 {
			return nil
		}
	}
	c := *j
	c.Right = right.node
	return &c
}

// reducedNode is a node without the join with D below it.
type reducedNode struct {
	node    Node
	d       *Project
	carries []int // which of D's columns each output column is, or -1
}

func reduced(n Node, outer *Shared) (reducedNode, bool) {
	none := reducedNode{}
	switch n := n.(type) {
	case *Join:
		return reducerJoin(n, outer)
	case *Filter:
		in, ok := reduced(n.Input, outer)
		if !ok {
			return none, false
		}
		in.node = &Filter{in.node, n.Pred}
		return in, true
	case *Project:
		in, ok := reduced(n.Input, outer)
		if !ok {
			return none, false
		}
		carries := gone(len(n.Exprs))
		for i, e := range n.Exprs {
			if r, isRef := e.(*ColumnRef); isRef {
				carries[i] = in.carries[r.Index]
			}
		}
		return reducedNode{&Project{in.node, n.Exprs, n.Names}, in.d, carries}, true
	case *Aggregate:
		in, ok := reduced(n.Input, outer)
		if !ok || n.Sets != nil || !apart(n.Groups, in) {
			return none, false
		}
		carries := gone(len(n.Columns()))
		for i, g := range n.Groups {
			if r, isRef := g.(*ColumnRef); isRef {
				carries[i] = in.carries[r.Index]
			}
		}
		return reducedNode{n.with([]Node{in.node}), in.d, carries}, true
	case *TopK:
		in, ok := reduced(n.Input, outer)
		if !ok || !apart(n.Partition, in) {
			return none, false
		}
		return reducedNode{n.with([]Node{in.node}), in.d, append(in.carries[:len(in.carries):len(in.carries)], gone(len(n.Columns())-len(in.carries))...)}, true
	case *Window:
		in, ok := reduced(n.Input, outer)
		if !ok || !apart(n.Partition, in) {
			return none, false
		}
		return reducedNode{n.with([]Node{in.node}), in.d, append(in.carries[:len(in.carries):len(in.carries)], gone(len(n.Funcs))...)}, true
	}
	return none, false
}

// apart says that rows which differ in D's columns do not come together.
func apart(by []Expr, in reducedNode) bool {
	have := map[int]bool{}
	for _, e := range by {
		if r, ok := e.(*ColumnRef); ok && in.carries[r.Index] >= 0 {
			have[in.carries[r.Index]] = true
		}
	}
	return len(have) == len(in.d.Exprs)
}

// reducerJoin is the join with D itself: the other side, with its own columns in the place of D's.
func reducerJoin(n *Join, outer *Shared) (reducedNode, bool) {
	if n.Kind != Inner || n.Residual != nil {
		return reducedNode{}, false
	}
	x, d, left := n.Left, distinctOf(n.Right, outer), true
	if d == nil {
		if d, x, left = distinctOf(n.Left, outer), n.Right, false; d == nil {
			return reducedNode{}, false
		}
	}
	equal := make([]Expr, len(d.Exprs)) // over x
	var filters []Expr
	for _, c := range n.Conditions {
		mine, its := c.Left, c.Right
		if !left {
			mine, its = c.Right, c.Left
		}
		r, isRef := its.(*ColumnRef)
		if !isRef || c.Op != Equal && c.Op != NotDistinct || equal[r.Index] != nil {
			return reducedNode{}, false
		}
		if equal[r.Index] = mine; c.Op == Equal {
			filters = append(filters, &IsNull{Typed{boolean, NoPosition}, true, mine})
		}
	}
	for _, e := range equal {
		if e == nil {
			return reducedNode{}, false
		}
	}
	xCols := x.Columns()
	in := x
	if len(filters) > 0 {
		in = &Filter{x, AndAll(filters)}
	}
	p := &Project{Input: in}
	carries := gone(len(n.Columns()))
	mine, its := 0, len(xCols)
	if !left {
		mine, its = len(d.Exprs), 0
	}
	p.Exprs, p.Names = make([]Expr, len(carries)), make([]string, len(carries))
	for i, c := range xCols {
		p.Exprs[mine+i], p.Names[mine+i] = ref(xCols, i), c.Name
	}
	for k, e := range equal {
		p.Exprs[its+k], p.Names[its+k], carries[its+k] = e, d.Names[k], k
		for i := range xCols {
			if Same(p.Exprs[mine+i], e) {
				carries[mine+i] = k
			}
		}
	}
	return reducedNode{p, d, carries}, true
}
