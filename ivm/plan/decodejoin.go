package plan

import (
	"fmt"
	"strings"
)

var joinKinds = map[string]JoinKind{
	"INNER": Inner, "LEFT": Left, "RIGHT": Left, "OUTER": Full, "FULL": Full, "SEMI": Semi, "ANTI": Anti, "MARK": Mark, "SINGLE": Single,
	"RIGHT_SEMI": Semi, "RIGHT_ANTI": Anti,
}

// join reads a join whose sides do not know each other.
func (d *decoder) join(t *tree) (Node, error) {
	l, r, err := d.two(t)
	if err != nil {
		return nil, err
	}
	return d.joined(t, l, r)
}

func (d *decoder) joined(t *tree, l, r Node) (Node, error) {
	kind, ok := joinKinds[t.str("join_type")]
	if !ok {
		return nil, &unsupported{UnknownOperator, NoPosition, "the join " + strings.ToLower(t.str("join_type")) + " is not known", ""}
	}
	j := &Join{Kind: kind, Left: l, Right: r, Pos: NoPosition}
	outer := false
	if t.str("type") == "LOGICAL_ASOF_JOIN" {
		var err error
		if outer, err = j.asOfKind(t.str("join_type")); err != nil {
			return nil, err
		}
	}
	width := len(l.Columns())
	items := t.get("conditions").list()
	for i := range items {
		c := &items[i]
		op, ok := compareOps[c.str("comparison")]
		if !ok {
			if whole := d.optional(c.get("expression"), nil); whole != nil { // a part that is no comparison of the sides
				j.Residual = AndAll(append(Conjuncts(j.Residual), whole))
				continue
			}
			return nil, unknownExpression("join condition "+c.str("comparison"), NoPosition)
		}
		j.Conditions = append(j.Conditions, Condition{d.expr(c.get("left"), nil), d.expr(c.get("right"), nil), op})
	}
	for _, key := range []string{"condition", "predicate"} {
		if e := d.optional(t.get(key), nil); e != nil {
			j.Residual = AndAll(append(Conjuncts(j.Residual), Conjuncts(e)...))
		}
	}
	if j.Kind == Mark && len(items) > 0 {
		for _, c := range j.Conditions {
			j.NullAware = j.NullAware || c.Op != NotDistinct
		}
		if j.NullAware && j.Residual != nil {
			return nil, &unsupported{UnknownOperator, NoPosition, "a null-aware join with another condition is not known", ""}
		}
	}
	if err := d.wellFormed(j); err != nil {
		return nil, err
	}
	splitConditions(j, width)
	if j.asOf() && inequalities(j) != 1 {
		return nil, &unsupported{UnknownOperator, NoPosition, "an ASOF join by other than one inequality is not known", ""}
	}
	if outer {
		n, err := nobodys(j)
		if err != nil {
			return nil, err
		}
		return d.outer(t, n, len(l.Columns()))
	}
	return d.projected(t, j)
}

// outer takes the columns that the join keeps from one that was put together.
func (d *decoder) outer(t *tree, n Node, left int) (Node, error) {
	width := len(n.Columns())
	which := kept(t.get("left_projection_map"), left)
	for _, i := range kept(t.get("right_projection_map"), width-left) {
		which = append(which, left+i)
	}
	if len(which) == width && ascending(which) {
		return n, nil
	}
	return pick(n, which)
}

// projected exchanges the sides of right joins and takes the columns that the join keeps.
func (d *decoder) projected(t *tree, j *Join) (Node, error) {
	left, right := j.Left.Columns(), j.Right.Columns()
	keepLeft, keepRight := kept(t.get("left_projection_map"), len(left)), kept(t.get("right_projection_map"), len(right))
	if j.Kind == Mark {
		keepRight = []int{0}
	}
	var which []int
	switch t.str("join_type") {
	case "RIGHT":
		n := swapped(j, Left)
		for _, i := range keepLeft {
			which = append(which, len(right)+i)
		}
		which = append(which, keepRight...)
		return pick(n, which)
	case "RIGHT_SEMI", "RIGHT_ANTI":
		return pick(swapped(j, j.Kind), keepRight)
	}
	which = append(which, keepLeft...)
	if j.Kind != Semi && j.Kind != Anti {
		for _, i := range keepRight {
			which = append(which, len(left)+i)
		}
	}
	if len(which) == len(j.Columns()) && ascending(which) {
		return j, nil
	}
	return pick(j, which)
}

func kept(t *tree, n int) []int {
	if which := t.ints(); len(which) > 0 {
		return which
	}
	return upTo(n)
}

func upTo(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

func ascending(which []int) bool {
	for i, w := range which {
		if w != i {
			return false
		}
	}
	return true
}

// swapped is the join with its sides exchanged, as another kind.
func swapped(j *Join, kind JoinKind) *Join {
	left, right := len(j.Left.Columns()), len(j.Right.Columns())
	out := &Join{Kind: kind, Left: j.Right, Right: j.Left, NullAware: j.NullAware, Pos: j.Pos}
	for _, c := range j.Conditions {
		out.Conditions = append(out.Conditions, Condition{c.Right, c.Left, c.Op.Flip()})
	}
	out.Residual = mapRefs(j.Residual, func(i int) int {
		if i < left {
			return i + right
		}
		return i - left
	})
	return out
}

// mapRefs gives column refs other positions.
func mapRefs(e Expr, to func(int) int) Expr {
	return Rewrite(e, func(x Expr) Expr {
		if r, ok := x.(*ColumnRef); ok {
			if i := to(r.Index); i != r.Index {
				return &ColumnRef{r.Typed, i, r.Name}
			}
		}
		return x
	})
}

// splitConditions makes conditions of those parts of the residual that compare one side with the other, and puts equalities first.
func splitConditions(j *Join, width int) {
	if j.NullAware {
		sortConditions(j)
		return
	}
	var rest []Expr
	for _, p := range Conjuncts(j.Residual) {
		c, ok := p.(*Comparison)
		if !ok || c.Op == NotEqual || c.Op == Distinct || j.asOf() && c.Op != Equal && c.Op != NotDistinct {
			rest = append(rest, p)
			continue
		}
		ls, rs := sides(c.Left, width), sides(c.Right, width)
		switch {
		case ls == 1 && rs == 2:
			j.Conditions = append(j.Conditions, Condition{c.Left, mapRefs(c.Right, func(i int) int { return i - width }), c.Op})
		case ls == 2 && rs == 1:
			j.Conditions = append(j.Conditions, Condition{c.Right, mapRefs(c.Left, func(i int) int { return i - width }), c.Op.Flip()})
		default:
			rest = append(rest, p)
		}
	}
	// What only excludes pairs is no use for finding them.
	var keep []Condition
	for _, c := range j.Conditions {
		if c.Op == NotEqual || c.Op == Distinct {
			rest = append(rest, compare(c.Op, c.Left, mapRefs(c.Right, func(i int) int { return i + width }), NoPosition))
			continue
		}
		keep = append(keep, c)
	}
	j.Conditions, j.Residual = keep, AndAll(rest)
	sortConditions(j)
}

func sortConditions(j *Join) {
	var first, last []Condition
	for _, c := range j.Conditions {
		if c.Op == Equal || c.Op == NotDistinct {
			first = append(first, c)
		} else {
			last = append(last, c)
		}
	}
	j.Conditions = append(first, last...)
}

// sides says whose columns an expression reads: 1 the left's, 2 the right's, 3 both, 0 none.
func sides(e Expr, width int) (out int) {
	Walk(e, func(x Expr) bool {
		if r, ok := x.(*ColumnRef); ok {
			if r.Index < width {
				out |= 1
			} else {
				out |= 2
			}
		}
		return true
	})
	return out
}

func (d *decoder) cross(t *tree) (Node, error) {
	l, r, err := d.two(t)
	if err != nil {
		return nil, err
	}
	return &Join{Kind: Inner, Left: l, Right: r, Pos: NoPosition}, nil
}

// outerSide is the name of what a correlated subquery stands in.
const outerSide = "outer"

// delimJoin reads a join whose inner side was correlated: it reads, by DELIM_GETs, the distinct values of some columns of
// the outer side.
func (d *decoder) delimJoin(t *tree) (Node, error) {
	kids := t.get("children").list()
	if len(kids) != 2 {
		return nil, fmt.Errorf("a correlated join has %d inputs", len(kids))
	}
	outerAt, innerAt := 0, 1
	if t.bool("delim_flipped") {
		outerAt, innerAt = 1, 0
	}
	outer := newShared(outerSide, d.node(&kids[outerAt]))
	scope := &delimited{outer: outer, columns: d.exprs(t.get("duplicate_eliminated_columns"), nil)}
	for _, e := range scope.columns {
		if err := refsWithin(e, outer.Columns()); err != nil {
			return nil, err
		}
	}
	d.delim = append(d.delim, scope)
	inner := d.node(&kids[innerAt])
	d.delim = d.delim[:len(d.delim)-1]
	var side Node = outer
	if !scope.used {
		side = outer.Input
	}
	l, r := side, inner
	if innerAt == 0 {
		l, r = r, l
	}
	n, err := d.joined(t, l, r)
	if err != nil || !scope.used {
		return n, err
	}
	if out := byValue(n, outer, scope.columns); out != nil {
		return out, nil
	}
	return n, nil
}

func (d *decoder) delimGet(t *tree) (Node, error) {
	if len(d.delim) == 0 {
		return nil, fmt.Errorf("a correlation without an outer query")
	}
	scope := d.delim[len(d.delim)-1]
	if len(t.get("chunk_types").list()) != len(scope.columns) {
		return nil, fmt.Errorf("a correlation of %d columns instead of %d", len(t.get("chunk_types").list()), len(scope.columns))
	}
	scope.used = true
	p := &Project{Input: scope.outer, Exprs: scope.columns}
	cols := scope.outer.Columns()
	for _, e := range scope.columns {
		name := "outer"
		if r, ok := e.(*ColumnRef); ok && r.Index >= 0 && r.Index < len(cols) {
			name = cols[r.Index].Name
		}
		p.Names = append(p.Names, name)
	}
	return &DistinctRows{p, NoPosition}, nil
}
