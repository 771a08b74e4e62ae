package dataflow

import (
	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/ivm/eval"
	"github.com/vegadb/vega-flight/ivm/plan"
	"github.com/vegadb/vega-flight/ivm/row"
)

var joinKinds = map[plan.JoinKind]JoinKind{plan.Inner: JoinInner, plan.Left: JoinLeft, plan.Full: JoinFull, plan.Semi: JoinSemi,
	plan.Anti: JoinAnti, plan.Mark: JoinMark, plan.Single: JoinSingle, plan.AsOf: JoinInner, plan.AsOfLeft: JoinLeft}

// join splits the conditions: those that equate values of the two sides become keys, the others are asked of each pair.
func (b *builder) join(n *plan.Join) (int, error) {
	left, err := b.node(n.Left)
	if err != nil {
		return 0, err
	}
	right, err := b.node(n.Right)
	if err != nil {
		return 0, err
	}
	l, r := b.layout(left), b.layout(right)
	var keys [2][]plan.Expr
	var nullSafe []bool
	var others []plan.Condition
	conditions := n.Conditions
	asof := n.Kind == plan.AsOf || n.Kind == plan.AsOfLeft
	if asof {
		conditions = conditions[:len(conditions)-1]
	}
	equal := 0
	for _, c := range conditions {
		if c.Op == plan.Equal {
			equal++
		}
	}
	// The mark of a null-aware join is decided by its other conditions; one equality alone the operator decides by a key.
	asked := n.Kind == plan.Mark && n.NullAware
	single := asked && equal == 1 && !hasOther(conditions)
	for _, c := range conditions {
		if c.Op == plan.NotDistinct || c.Op == plan.Equal && (!asked || single) {
			keys[0], keys[1] = append(keys[0], c.Left), append(keys[1], c.Right)
			nullSafe = append(nullSafe, c.Op == plan.NotDistinct)
			continue
		}
		others = append(others, c)
	}
	if single { // the compared value is the last key
		for i, safe := range nullSafe {
			if last := len(nullSafe) - 1; !safe && i != last {
				keys[0][i], keys[0][last] = keys[0][last], keys[0][i]
				keys[1][i], keys[1][last] = keys[1][last], keys[1][i]
				nullSafe[i], nullSafe[last] = true, false
			}
		}
	}
	sides := [2]JoinSide{{Layout: l}, {Layout: r}}
	for i, in := range []*row.Layout{l, r} {
		if len(keys[i]) == 0 {
			continue
		}
		if sides[i].Keys, err = b.keyProgram(in, keys[i]); err != nil {
			return 0, err
		}
	}
	if asof {
		return b.asof(n, left, right, sides, nullSafe)
	}
	spec := JoinSpec{Kind: joinKinds[n.Kind], Left: sides[0], Right: sides[1], NullSafe: nullSafe, NullAware: asked}
	if spec.Predicate, err = b.pairs(l, r, others, n.Residual); err != nil {
		return 0, err
	}
	op, err := NewJoin(b.name("join"), spec, b.o.Tables)
	if err != nil {
		return 0, err
	}
	return b.add(n, "join", op, left, right), nil
}

func hasOther(cs []plan.Condition) bool {
	for _, c := range cs {
		if c.Op != plan.Equal && c.Op != plan.NotDistinct {
			return true
		}
	}
	return false
}

// pairs is the predicate over both rows; nil when nothing is asked.
func (b *builder) pairs(l, r *row.Layout, conditions []plan.Condition, residual plan.Expr) (Program, error) {
	var all []plan.Expr
	for _, c := range conditions {
		all = append(all, &plan.Comparison{Typed: plan.Typed{Type: row.Type{Kind: row.Bool}, Pos: c.Left.Position()}, Op: c.Op,
			Left: c.Left, Right: moved(c.Right, len(l.Types))})
	}
	if residual != nil {
		all = append(all, residual)
	}
	if len(all) == 0 {
		return nil, nil
	}
	return b.compile(PairLayout(l, r), []plan.Expr{plan.AndAll(all)}, nil)
}

var asofOps = map[plan.CompareOp]AsofOp{plan.GreaterEqual: AsofGE, plan.Greater: AsofGT, plan.LessEqual: AsofLE, plan.Less: AsofLT}

func (b *builder) asof(n *plan.Join, left, right int, sides [2]JoinSide, nullSafe []bool) (int, error) {
	last := n.Conditions[len(n.Conditions)-1]
	op, ok := asofOps[last.Op]
	if !ok || n.Residual != nil {
		return 0, fault.NotYetSupported.Newf("the engine has no ASOF join of this form")
	}
	spec := AsofSpec{Kind: joinKinds[n.Kind], Left: sides[0], Right: sides[1], NullSafe: nullSafe, Op: op}
	for i, e := range []plan.Expr{last.Left, last.Right} {
		p := b.prepareLayout(sides[i].Layout)
		p.ascending(e)
		var err error
		if spec.Order[i], err = p.compile(); err != nil {
			return 0, err
		}
	}
	join, err := NewAsof(b.name("asof"), spec, b.o.Tables)
	if err != nil {
		return 0, err
	}
	return b.add(n, "asof", join, left, right), nil
}

// distinct keeps one of equal rows.
func (b *builder) distinct(n *plan.DistinctRows) (int, error) {
	in, err := b.node(n.Input)
	if err != nil {
		return 0, err
	}
	keys, err := b.rowKeys(in)
	if err != nil {
		return 0, err
	}
	op, err := NewDistinct(b.name("distinct"), DistinctSpec{Layout: b.layout(in), Keys: keys}, b.o.Tables)
	if err != nil {
		return 0, err
	}
	return b.add(n, "distinct", op, in), nil
}

// keyProgram makes rows of normal forms.
func (b *builder) keyProgram(in *row.Layout, keys []plan.Expr) (Program, error) {
	p := b.prepareLayout(in)
	for _, k := range keys {
		p.exprs = append(p.exprs, eval.KeyExpr(p.column(k))) // the two sides have as many, also where one repeats
	}
	return p.compile()
}

// rowKeys makes the normal form of whole rows; nil when they have it.
func (b *builder) rowKeys(in int) (Program, error) {
	l := b.layout(in)
	p := b.prepareLayout(l)
	for _, c := range p.columns {
		p.key(c)
	}
	if isIdentity(p.exprs, l) {
		return nil, nil
	}
	return p.compile()
}

var setKinds = map[plan.SetKind]SetKind{plan.Except: SetExcept, plan.ExceptAll: SetExceptAll, plan.Intersect: SetIntersect, plan.IntersectAll: SetIntersectAll}

func (b *builder) setOp(n *plan.SetOp) (int, error) {
	in := make([]int, len(n.In))
	for i, child := range n.In {
		var err error
		if in[i], err = b.node(child); err != nil {
			return 0, err
		}
	}
	l := b.layout(in[0])
	if n.Kind == plan.UnionAll {
		return b.add(n, "union", NewUnion(l), in...), nil
	}
	spec := SetOpSpec{Kind: setKinds[n.Kind], Layout: l, Inputs: len(in)}
	for _, i := range in {
		keys, err := b.rowKeys(i)
		if err != nil {
			return 0, err
		}
		if keys != nil {
			spec.Keys = append(spec.Keys, keys)
		}
	}
	op, err := NewSetOp(b.name("setop"), spec, b.o.Tables)
	if err != nil {
		return 0, err
	}
	return b.add(n, "setop", op, in...), nil
}
