package plan

// asOf says that the join takes the nearest partner only.
func (n *Join) asOf() bool { return n.Kind == AsOf || n.Kind == AsOfLeft }

// inequalities is how many conditions order the sides.
func inequalities(n *Join) (count int) {
	for _, c := range n.Conditions {
		if c.Op != Equal && c.Op != NotDistinct {
			count++
		}
	}
	return count
}

// oneSided moves those parts of the condition that one side decides to that side, where it is the same.
func oneSided(j *Join) *Join {
	c, width := *j, len(j.Left.Columns())
	var rest []Expr
	for _, p := range Conjuncts(j.Residual) {
		switch s := sides(p, width); {
		case s == 2:
			c.Right = &Filter{c.Right, mapRefs(p, func(i int) int { return i - width })}
		case s == 1 && j.Kind == AsOf:
			c.Left = &Filter{c.Left, p}
		default:
			rest = append(rest, p)
		}
	}
	c.Residual = AndAll(rest)
	return &c
}

// nearest takes apart an ASOF join with a condition that is asked of pairs: the nearest partner is the nearest of those that the
// condition allows, so all pairs of different left rows are made, the first of each left row is kept, and joined with
// the left rows again.
func nearest(n Node) Node {
	j, ok := n.(*Join)
	if !ok || !j.asOf() || j.Residual == nil {
		return n
	}
	if j = oneSided(j); j.Residual == nil {
		return j
	}
	last := j.Conditions[len(j.Conditions)-1]
	left, right := j.Left.Columns(), j.Right.Columns()
	var outer Node = newShared("outer", j.Left)
	pairs := &Join{Kind: Inner, Left: &DistinctRows{outer, j.Pos}, Right: j.Right, Conditions: j.Conditions, Residual: j.Residual, Pos: j.Pos}
	by := OrderItem{Expr: mapRefs(last.Right, func(i int) int { return i + len(left) }), Desc: last.Op == Greater || last.Op == GreaterEqual}
	first := &TopK{Input: pairs, Partition: allRefs(left), Order: []OrderItem{by}, Limit: 1, Pos: j.Pos}
	again := &Join{Kind: Inner, Left: outer, Right: first, Pos: j.Pos}
	if j.Kind == AsOfLeft {
		again.Kind = Left
	}
	for i := range left {
		again.Conditions = append(again.Conditions, Condition{ref(left, i), ref(left, i), NotDistinct})
	}
	out := &Project{Input: again}
	cols := again.Columns()
	for i := range len(left) + len(right) {
		at := i
		if i >= len(left) {
			at += len(left)
		}
		out.Exprs, out.Names = append(out.Exprs, ref(cols, at)), append(out.Names, cols[at].Name)
	}
	return out
}
