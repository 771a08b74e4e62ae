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
	if j.Kind == Left && slices.ContainsFunc(parts, func(p Expr) bool { return rejectsPadding(p, width) }) {
		c := *j
		c.Kind = Inner
		return &Filter{simplify(&c), AndAll(parts)}
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

// rejectsPadding says that the predicate is not true when all columns from width on are NULL.
func rejectsPadding(p Expr, width int) bool {
	switch p := p.(type) {
	case *Comparison:
		return p.Op != Distinct && p.Op != NotDistinct && (nullWith(p.Left, width) || nullWith(p.Right, width))
	case *IsNull:
		return p.Not && nullWith(p.Child, width)
	case *In:
		return nullWith(p.Child, width)
	case *Not:
		if c, ok := p.Child.(*Comparison); ok {
			return rejectsPadding(c, width)
		}
	case *Conjunction:
		for _, a := range p.Args {
			if rejectsPadding(a, width) != p.Or {
				return !p.Or
			}
		}
		return p.Or
	}
	return false
}

// nullWith says that the expression is NULL when all columns from width on are.
func nullWith(e Expr, width int) bool {
	switch e := e.(type) {
	case *ColumnRef:
		return e.Index >= width
	case *Cast:
		return nullWith(e.Child, width)
	case *Function:
		return e.Operator && e.Name != "TRY" && slices.ContainsFunc(e.Args, func(a Expr) bool { return nullWith(a, width) })
	}
	return false
}

// oneEach says that a left row meets at most one right row: the right side's groups are all asked for.
func oneEach(n *Join) bool {
	in := n.Right
	at := map[int]bool{}
	for _, c := range n.Conditions {
		if r, ok := c.Right.(*ColumnRef); ok && (c.Op == Equal || c.Op == NotDistinct) {
			at[r.Index] = true
		}
	}
	for {
		p, ok := in.(*Project)
		if !ok {
			break
		}
		below := map[int]bool{}
		for i := range at {
			if r, ok := p.Exprs[i].(*ColumnRef); ok {
				below[r.Index] = true
			}
		}
		in, at = p.Input, below
	}
	if f, ok := in.(*Filter); ok {
		in = f.Input
	}
	switch in := in.(type) {
	case *Aggregate:
		for i := range in.Groups {
			if !at[i] {
				return false
			}
		}
		return in.Sets == nil
	case *DistinctRows:
		return len(at) == len(in.Columns())
	}
	return false
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
	if eq := equalities(n); eq != nil {
		return eq
	}
	if n.Kind == Single && oneEach(n) {
		c.Kind = Left
		return &c
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

// equalities makes = of IS NOT DISTINCT FROM where one side is never NULL, and takes out filters for what = asks anyway: a right row
// whose key is NULL meets nothing.
func equalities(n *Join) *Join {
	if n.NullAware || n.Kind == Full {
		return nil
	}
	c := *n
	c.Conditions = slices.Clone(n.Conditions)
	changed := false
	for i, cond := range c.Conditions {
		if cond.Op == NotDistinct && (neverNull(n.Left, cond.Left) || neverNull(n.Right, cond.Right)) {
			c.Conditions[i].Op, changed = Equal, true
		}
	}
	for _, cond := range c.Conditions {
		if cond.Op == NotDistinct || cond.Op == Distinct {
			continue
		}
		if in := dropNotNull(c.Right, cond.Right); in != nil {
			c.Right, changed = in, true
		}
		if n.Kind == Inner || n.Kind == Semi {
			if in := dropNotNull(c.Left, cond.Left); in != nil {
				c.Left, changed = in, true
			}
		}
	}
	if !changed {
		return nil
	}
	return &c
}

// neverNull says that an expression over a node's row is not NULL, because a filter or a join has seen to it.
func neverNull(n Node, e Expr) bool {
	r, ok := e.(*ColumnRef)
	if !ok {
		k, ok := e.(*Constant)
		return ok && k.Value != nil
	}
	switch n := n.(type) {
	case *Filter:
		for _, p := range Conjuncts(n.Pred) {
			switch p := p.(type) {
			case *IsNull:
				if p.Not && Same(p.Child, e) {
					return true
				}
			case *Comparison:
				if p.Op != Distinct && p.Op != NotDistinct && (Same(p.Left, e) || Same(p.Right, e)) {
					return true
				}
			case *In:
				if Same(p.Child, e) && !p.Not {
					return true
				}
			}
		}
		return neverNull(n.Input, e)
	case *Project:
		return neverNull(n.Input, n.Exprs[r.Index])
	case *Shared:
		return neverNull(n.Input, e)
	case *DistinctRows:
		return neverNull(n.Input, e)
	case *Temporal:
		return neverNull(n.Input, e)
	case *TopK:
		return r.Index < len(n.Input.Columns()) && neverNull(n.Input, e)
	case *Aggregate:
		return n.Sets == nil && r.Index < len(n.Groups) && neverNull(n.Input, n.Groups[r.Index]) || r.Index >= len(n.Groups) &&
			r.Index < len(n.Groups)+len(n.Aggs) && (n.Aggs[r.Index-len(n.Groups)].Name == "count" || n.Aggs[r.Index-len(n.Groups)].Name == "count_star")
	case *Join:
		width := len(n.Left.Columns())
		right := &ColumnRef{r.Typed, r.Index - width, r.Name}
		if n.Kind == Inner || n.Kind == Semi {
			for _, c := range n.Conditions {
				if c.Op != NotDistinct && c.Op != Distinct && (r.Index < width && Same(c.Left, e) || r.Index >= width && Same(c.Right, right)) {
					return true
				}
			}
		}
		if r.Index < width {
			return n.Kind != Full && neverNull(n.Left, e)
		}
		return n.Kind == Inner && neverNull(n.Right, right)
	}
	return false
}

// dropNotNull is the node without the filter that an expression over its row is not NULL; nil when there is none.
func dropNotNull(n Node, e Expr) Node {
	switch n := n.(type) {
	case *Filter:
		var rest []Expr
		for _, p := range Conjuncts(n.Pred) {
			if is, ok := p.(*IsNull); !ok || !is.Not || !Same(is.Child, e) {
				rest = append(rest, p)
			}
		}
		switch {
		case len(rest) == len(Conjuncts(n.Pred)):
			return nil
		case len(rest) == 0:
			return n.Input
		}
		return &Filter{n.Input, AndAll(rest)}
	case *Project:
		r, ok := e.(*ColumnRef)
		if !ok {
			return nil
		}
		if in := dropNotNull(n.Input, n.Exprs[r.Index]); in != nil {
			return &Project{in, n.Exprs, n.Names}
		}
	case *Aggregate:
		r, ok := e.(*ColumnRef)
		if !ok || n.Sets != nil || r.Index >= len(n.Groups) {
			return nil
		}
		if in := dropNotNull(n.Input, n.Groups[r.Index]); in != nil {
			return n.with([]Node{in})
		}
	}
	return nil
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
