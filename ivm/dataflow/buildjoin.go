package dataflow

import (
	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/ivm/eval"
	"github.com/vegadb/vega-flight/ivm/plan"
	"github.com/vegadb/vega-flight/ivm/row"
)

var joinKinds = map[plan.JoinKind]JoinKind{plan.Inner: JoinInner, plan.Left: JoinLeft, plan.Full: JoinFull, plan.Semi: JoinSemi,
	plan.Anti: JoinAnti, plan.Mark: JoinMark, plan.Single: JoinSingle, plan.AsOf: JoinInner, plan.AsOfLeft: JoinLeft}

// join splits the conditions: those that equate values of the two sides become keys, the others are asked of each pair. output
// are the columns that it gives; nil is all. sums says of which sides only sums are asked for.
func (b *builder) join(n *plan.Join, output []int, sums [2]bool) (int, error) {
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
	// The mark of a null-aware join is decided by its other conditions; equalities alone the operator decides by keys.
	asked := n.Kind == plan.Mark && n.NullAware
	single := asked && !hasOther(conditions) && (equal == 1 || equal > 1 && equal == len(conditions))
	for _, c := range conditions {
		if c.Op == plan.NotDistinct || c.Op == plan.Equal && (!asked || single) {
			keys[0], keys[1] = append(keys[0], c.Left), append(keys[1], c.Right)
			nullSafe = append(nullSafe, c.Op == plan.NotDistinct)
			continue
		}
		others = append(others, c)
	}
	if single && equal == 1 { // the compared value is the last key
		for i, safe := range nullSafe {
			if last := len(nullSafe) - 1; !safe && i != last {
				keys[0][i], keys[0][last] = keys[0][last], keys[0][i]
				keys[1][i], keys[1][last] = keys[1][last], keys[1][i]
				nullSafe[i], nullSafe[last] = true, false
			}
		}
	}
	routes := [][]plan.Expr{keys[0], keys[1]}
	sides := func() (out [2]JoinSide, err error) {
		for i, in := range []*row.Layout{l, r} {
			out[i].Layout = in
			if len(keys[i]) == 0 {
				continue
			}
			if out[i].Keys, err = b.keyProgram(in, keys[i]); err != nil {
				return out, err
			}
		}
		return out, nil
	}
	if asof {
		return b.asof(n, left, right, routes, sides, nullSafe, output)
	}
	if single { // rows without equal values meet as well, if what chooses the group is equal
		n := len(keys[0]) - equal
		routes = [][]plan.Expr{keys[0][:n], keys[1][:n]}
	}
	return b.sharded(n, "join", []int{left, right}, routes, func(name string, t Tables) (Operator, error) {
		spec := JoinSpec{Kind: joinKinds[n.Kind], NullSafe: nullSafe, NullAware: asked, Compared: equal, Output: output, Sums: sums}
		both, err := sides()
		if err != nil {
			return nil, err
		}
		for i, in := range []plan.Node{n.Left, n.Right} {
			if sums[i] {
				spec.summaries[i] = b.joinSummary(in, keys[i], both[i], summedOf(i, len(l.Types), len(r.Types), output))
			}
		}
		spec.Left, spec.Right = both[0], both[1]
		if spec.Predicate, err = b.pairs(l, r, others, n.Residual); err != nil {
			return nil, err
		}
		if i := b.plan.Info(n); i != nil && spec.Predicate != nil {
			for k, in := range []*row.Layout{l, r} {
				if spec.Closings[k], err = b.closing(i.Closings[k], in); err != nil {
					return nil, err
				}
			}
		} else if i != nil && i.KeyClosing != nil { // without others, every condition is a key
			if spec.KeyClosing.Floor, err = b.least(i.KeyClosing.Floors); err != nil {
				return nil, err
			}
			spec.KeyClosing.Field = i.KeyClosing.Condition
		}
		return NewJoin(name, spec, t)
	})
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

func (b *builder) asof(n *plan.Join, left, right int, routes [][]plan.Expr, sides func() ([2]JoinSide, error), nullSafe []bool, output []int) (int, error) {
	last := n.Conditions[len(n.Conditions)-1]
	op, ok := asofOps[last.Op]
	if !ok || n.Residual != nil {
		return 0, fault.NotYetSupported.Newf("the engine has no ASOF join with a further condition").WithHint("filter its result instead")
	}
	return b.sharded(n, "asof", []int{left, right}, routes, func(name string, t Tables) (Operator, error) {
		both, err := sides()
		if err != nil {
			return nil, err
		}
		spec := AsofSpec{Kind: joinKinds[n.Kind], Left: both[0], Right: both[1], NullSafe: nullSafe, Op: op, Output: output}
		for i, e := range []plan.Expr{last.Left, last.Right} {
			p := b.prepareLayout(both[i].Layout)
			p.ascending(e)
			if spec.Order[i], err = p.compile(); err != nil {
				return nil, err
			}
		}
		return NewAsof(name, spec, t)
	})
}

// distinct keeps one of equal rows.
func (b *builder) distinct(n *plan.DistinctRows) (int, error) {
	in, err := b.node(n.Input)
	if err != nil {
		return 0, err
	}
	return b.sharded(n, "distinct", []int{in}, [][]plan.Expr{columnsOf(n)}, func(name string, t Tables) (Operator, error) {
		if w, err := b.windows(n); w != nil || err != nil { // groups without functions, which can be let go
			if err != nil {
				return nil, err
			}
			p, spec := b.prepare(in), AggregateSpec{Name: name, Windows: w}
			for _, c := range columnsOf(n) {
				spec.Groups = append(spec.Groups, Group{Key: p.key(c), Shown: p.show(c)})
			}
			if spec.Input, spec.Prepare, err = p.program(); err != nil {
				return nil, err
			}
			return NewAggregate(spec, t)
		}
		keys, err := b.rowKeys(in)
		if err != nil {
			return nil, err
		}
		return NewDistinct(name, DistinctSpec{Layout: b.layout(in), Keys: keys}, t)
	})
}

// keyProgram makes rows of normal forms.
func (b *builder) keyProgram(in *row.Layout, keys []plan.Expr) (Program, error) {
	return b.keyRows(in, keys).compile()
}

// keyLayout is that of what keyProgram makes.
func (b *builder) keyLayout(in *row.Layout, keys []plan.Expr) *row.Layout {
	return b.keyRows(in, keys).layout()
}

func (b *builder) keyRows(in *row.Layout, keys []plan.Expr) *prepared {
	p := b.prepareLayout(in)
	for _, k := range keys {
		p.exprs = append(p.exprs, eval.KeyExpr(p.column(k))) // the two sides have as many, also where one repeats
	}
	return p
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
	routes := make([][]plan.Expr, len(in))
	for i := range in {
		routes[i] = columnsOf(n)
	}
	return b.sharded(n, "setop", in, routes, func(name string, t Tables) (Operator, error) {
		spec := SetOpSpec{Kind: setKinds[n.Kind], Layout: l, Inputs: len(in)}
		for _, i := range in {
			keys, err := b.rowKeys(i)
			if err != nil {
				return nil, err
			}
			if keys != nil {
				spec.Keys = append(spec.Keys, keys)
			}
		}
		return NewSetOp(name, spec, t)
	})
}
