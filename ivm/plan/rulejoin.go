package plan

import (
	"slices"
	"strings"
)

// pushIntoJoin puts the parts of a filter above a join into its sides or its condition.
func pushIntoJoin(j *Join, parts []Expr) Node {
	width := len(j.Left.Columns())
	if n := markFilter(j, parts, width); n != nil {
		return n
	}
	var left, right, both, stay []Expr
	for _, p := range parts {
		s := sides(p, width)
		if j.Kind == Semi || j.Kind == Anti {
			s &= 1
		}
		switch {
		case isVolatile(p):
			stay = append(stay, p)
		case s <= 1 && j.Kind != Full && (s == 1 || j.Kind == Inner):
			left = append(left, p)
		case s == 2 && j.Kind == Inner:
			right = append(right, mapRefs(p, func(i int) int { return i - width }))
		case s == 3 && j.Kind == Inner && !hasClock(p):
			both = append(both, p)
		default:
			stay = append(stay, p)
		}
	}
	if len(stay) == len(parts) {
		return nil
	}
	c := *j
	if len(left) > 0 {
		c.Left = simplify(&Filter{j.Left, AndAll(left)})
	}
	if len(right) > 0 {
		c.Right = simplify(&Filter{j.Right, AndAll(right)})
	}
	if len(both) > 0 {
		c.Residual = AndAll(append(Conjuncts(j.Residual), both...))
		splitConditions(&c, width)
	}
	out := simplify(&c)
	if len(stay) > 0 {
		return &Filter{out, AndAll(stay)}
	}
	return out
}

// markFilter makes a semi or anti join of a mark join whose mark is filtered on.
func markFilter(j *Join, parts []Expr, width int) Node {
	if j.Kind != Mark {
		return nil
	}
	for k, p := range parts {
		kind, value := Semi, true
		if not, ok := p.(*Not); ok && !j.NullAware {
			kind, value, p = Anti, false, not.Child
		}
		if r, ok := p.(*ColumnRef); !ok || r.Index != width {
			continue
		}
		c := *j
		c.Kind, c.NullAware = kind, false
		cols := j.Left.Columns()
		var out Node = &Project{simplify(&c), append(allRefs(cols), Bool(value)), append(names(cols), "mark")}
		if rest := slices.Delete(slices.Clone(parts), k, k+1); len(rest) > 0 {
			out = &Filter{out, AndAll(rest)}
		}
		return out
	}
	return nil
}

// simplifyJoin puts conditions in order, and conditions of one side into a filter there where that is the same.
func simplifyJoin(n *Join) Node {
	if e := emptyJoin(n); e != nil {
		return e
	}
	width := len(n.Left.Columns())
	c := *n
	if !n.NullAware && n.Kind != AsOf && n.Kind != AsOfLeft {
		parts, never := predicate(n.Residual)
		if never && n.Kind == Inner {
			return &Values{Cols: n.Columns(), Pos: n.Pos}
		}
		var rest, left, right, above []Expr
		for _, p := range parts {
			switch s := sides(p, width); {
			case never:
			case hasClock(p) && n.Kind == Inner && s == 3:
				above = append(above, p)
			case s == 1 && (n.Kind == Inner || n.Kind == Semi):
				left = append(left, p)
			case s == 2 && n.Kind != Full:
				right = append(right, mapRefs(p, func(i int) int { return i - width }))
			default:
				rest = append(rest, p)
			}
		}
		if !never && len(left)+len(right)+len(above) > 0 {
			if len(left) > 0 {
				c.Left = simplify(&Filter{n.Left, AndAll(left)})
			}
			if len(right) > 0 {
				c.Right = simplify(&Filter{n.Right, AndAll(right)})
			}
			if c.Residual = AndAll(rest); len(above) > 0 {
				return &Filter{&c, AndAll(above)}
			}
			return &c
		}
		if pred := AndAll(parts); !never && text(pred) != text(n.Residual) {
			c.Residual = pred
			return &c
		}
	}
	if n.Kind == AsOf || n.Kind == AsOfLeft {
		return n
	}
	c.Conditions = slices.Clone(n.Conditions)
	slices.SortStableFunc(c.Conditions, func(a, b Condition) int {
		if x, y := a.Op == Equal || a.Op == NotDistinct, b.Op == Equal || b.Op == NotDistinct; x != y {
			if x {
				return -1
			}
			return 1
		}
		return strings.Compare(conditionText(a), conditionText(b))
	})
	c.Conditions = slices.CompactFunc(c.Conditions, func(a, b Condition) bool { return conditionText(a) == conditionText(b) })
	if len(c.Conditions) != len(n.Conditions) {
		return &c
	}
	for i := range c.Conditions {
		if conditionText(c.Conditions[i]) != conditionText(n.Conditions[i]) {
			return &c
		}
	}
	return n
}

func text(e Expr) string {
	if e == nil {
		return ""
	}
	return ExprText(e)
}

func conditionText(c Condition) string {
	return ExprText(c.Left) + " " + c.Op.String() + " " + ExprText(c.Right)
}

// emptyJoin is what a join with nothing on a side gives, where that is simple.
func emptyJoin(n *Join) Node {
	none := func(in Node) bool { v, ok := in.(*Values); return ok && len(v.Rows) == 0 }
	l, r := none(n.Left), none(n.Right)
	switch {
	case l && n.Kind != Full, r && (n.Kind == Inner || n.Kind == Semi || n.Kind == AsOf):
		return &Values{Cols: n.Columns(), Pos: n.Pos}
	case r && n.Kind == Anti:
		return n.Left
	case r && n.Kind == Mark:
		cols := n.Left.Columns()
		return &Project{n.Left, append(allRefs(cols), Bool(false)), append(names(cols), "mark")}
	case r && (n.Kind == Left || n.Kind == Single || n.Kind == AsOfLeft):
		cols := n.Columns()
		es := allRefs(cols)
		for i := len(n.Left.Columns()); i < len(es); i++ {
			es[i] = &Constant{Typed{cols[i].Type, NoPosition}, nil}
		}
		return &Project{n.Left, es, names(cols)}
	}
	// A cross join with the one row of no columns is the other side.
	if n.Kind == Inner && len(n.Conditions) == 0 && n.Residual == nil {
		if one(n.Right) {
			return n.Left
		}
		if one(n.Left) {
			return n.Right
		}
	}
	return nil
}

func one(n Node) bool {
	v, ok := n.(*Values)
	return ok && len(v.Rows) == 1 && len(v.Cols) == 0
}
