package plan

// normalize brings plans that mean the same into the same form, as far as the rules beside this file go. The order of joins stays
// as it was written, but for cross products that another order avoids: both sides of a join keep state, so only the size of what lies between
// would change, and nothing is known of sizes.
func normalize(n Node) Node {
	n = prune(n) // also takes correlated joins apart, which are known by the outer side that they share
	n = inlineShared(n)
	n = transform(transform(n, subqueries), scalarAlone)
	for range 4 { // each round makes at most the next rule's work
		n = transform(n, simplify)
		n = prune(n)
		n = inlineShared(n)
	}
	n = inlineShared(prune(transform(n, nearest)))
	n = transform(connect(transform(n, simplify)), simplify)
	n = transform(n, clockFilters)
	return share(transform(n, simplify))
}

// overInputs is the node over what f makes of its inputs.
func overInputs(n Node, f func(Node) Node) Node {
	in := n.Inputs()
	out := make([]Node, len(in))
	changed := false
	for i, c := range in {
		out[i] = f(c)
		changed = changed || out[i] != c
	}
	if changed {
		return n.with(out)
	}
	return n
}

// transform makes the node that f makes of each, inputs first. A Shared node is made once.
func transform(n Node, f func(Node) Node) Node {
	done := map[*Shared]Node{}
	var walk func(n Node) Node
	walk = func(n Node) Node {
		s, shared := n.(*Shared)
		if shared {
			if out, ok := done[s]; ok {
				return out
			}
		}
		n = overInputs(n, walk)
		if n = f(n); shared {
			done[s] = n
		}
		return n
	}
	return walk(n)
}

// uses counts how often each Shared node is an input.
func uses(n Node) map[*Shared]int {
	count := map[*Shared]int{}
	var walk func(n Node)
	walk = func(n Node) {
		if s, ok := n.(*Shared); ok {
			if count[s]++; count[s] > 1 {
				return
			}
		}
		for _, c := range n.Inputs() {
			walk(c)
		}
	}
	walk(n)
	return count
}

// inlineShared puts what is used once where it is used, and what is cheap everywhere.
func inlineShared(n Node) Node {
	count := uses(n)
	// The walk makes new Shared nodes for those whose inputs change, so they are found by their old pointers first.
	done := map[*Shared]Node{}
	var walk func(n Node) Node
	walk = func(n Node) Node {
		if s, ok := n.(*Shared); ok {
			if out, ok := done[s]; ok {
				return out
			}
			in := walk(s.Input)
			var out Node = s
			switch _, inner := in.(*Shared); {
			case count[s] < 2 || inner || trivial(in):
				out = in
			case in != s.Input:
				out = newShared(s.Name, in)
			}
			done[s] = out
			return out
		}
		return overInputs(n, walk)
	}
	return walk(n)
}

// trivial says that a node costs nothing to be there twice.
func trivial(n Node) bool {
	switch n := n.(type) {
	case *Values:
		return true
	case *Scan:
		return true
	case *Project:
		_, scan := n.Input.(*Scan)
		return scan && onlyRefs(n.Exprs)
	}
	return false
}

func onlyRefs(es []Expr) bool {
	for _, e := range es {
		if _, ok := e.(*ColumnRef); !ok {
			return false
		}
	}
	return true
}

// simplify is one node's rules; its inputs have been through them.
func simplify(n Node) Node {
	for range 100 {
		next := simplifyOnce(n)
		if next == n {
			return n
		}
		n = next
	}
	return n
}

func simplifyOnce(n Node) Node {
	if out := lift(n); out != nil {
		return out
	}
	switch n := n.(type) {
	case *Project:
		return simplifyProject(n)
	case *Filter:
		return simplifyFilter(n)
	case *Join:
		return simplifyJoin(n)
	case *Aggregate:
		return simplifyAggregate(n)
	case *DistinctRows:
		return simplifyDistinct(n)
	case *SetOp:
		return simplifySetOp(n)
	case *TopK:
		return simplifyTopK(n)
	case *Shared:
		if inner, ok := n.Input.(*Shared); ok {
			return inner
		}
	}
	return n
}

func simplifyProject(n *Project) Node {
	switch in := n.Input.(type) {
	case *Project:
		if es, ok := compose(n.Exprs, in.Exprs); ok {
			return &Project{in.Input, es, n.Names}
		}
	case *Values:
		if len(in.Rows) == 0 {
			return &Values{Cols: n.Columns(), Pos: in.Pos}
		}
	}
	cols := n.Input.Columns()
	if len(n.Exprs) != len(cols) {
		return n
	}
	for i, e := range n.Exprs {
		if r, ok := e.(*ColumnRef); !ok || r.Index != i {
			return n
		}
	}
	return n.Input
}

// compose puts the inner expressions in place of the outer ones' columns, unless work would be done twice.
func compose(outer, inner []Expr) ([]Expr, bool) {
	count := make([]int, len(inner))
	for _, e := range outer {
		Walk(e, func(x Expr) bool {
			if r, ok := x.(*ColumnRef); ok {
				count[r.Index]++
			}
			return true
		})
	}
	for i, e := range inner {
		if count[i] > 1 && !cheap(e) {
			return nil, false
		}
	}
	out := make([]Expr, len(outer))
	for i, e := range outer {
		out[i] = Substitute(e, inner)
	}
	return out, true
}

// cheap are expressions that may stand in several places.
func cheap(e Expr) bool {
	switch e := e.(type) {
	case *ColumnRef, *Constant, *Clock, *Refused:
		return true
	case *Cast:
		return cheap(e.Child)
	case *Function:
		return (e.Name == "struct_extract" || e.Name == "struct_extract_at") && cheap(e.Args[0])
	}
	return false
}

// Substitute puts expressions in the place of columns.
func Substitute(e Expr, by []Expr) Expr {
	return Rewrite(e, func(x Expr) Expr {
		if r, ok := x.(*ColumnRef); ok {
			return by[r.Index]
		}
		return x
	})
}

func simplifyAggregate(n *Aggregate) Node {
	if len(n.Aggs) == 0 && n.Sets == nil && len(n.Groupings) == 0 && len(n.Groups) > 0 {
		return &DistinctRows{&Project{n.Input, n.Groups, n.Names}, n.Pos}
	}
	if len(n.Aggs) == 0 && len(n.Groups) == 0 && n.Sets == nil && len(n.Groupings) == 0 {
		return &Values{Rows: [][]Expr{{}}, Pos: n.Pos} // one row, of which nothing is asked
	}
	return mergeProject(n, n.Input)
}

// mergeProject lets a node that only evaluates expressions read through a projection.
func mergeProject(n Node, in Node) Node {
	p, ok := in.(*Project)
	if !ok {
		return n
	}
	es := n.exprs()
	var flat []Expr
	for _, e := range es {
		if e != nil {
			flat = append(flat, e)
		}
	}
	out, ok := compose(flat, p.Exprs)
	if !ok {
		return n
	}
	next := make([]Expr, len(es))
	for i, e := range es {
		if e != nil {
			next[i], out = out[0], out[1:]
		}
	}
	return n.withExprs(next).with([]Node{p.Input})
}

func simplifyDistinct(n *DistinctRows) Node {
	switch in := n.Input.(type) {
	case *DistinctRows:
		return in
	case *SetOp:
		if in.Kind == Except || in.Kind == Intersect {
			return in
		}
		// Duplicates inside a branch are no use to what follows.
		if in.Kind == UnionAll {
			parts := make([]Node, len(in.In))
			changed := false
			for i, c := range in.In {
				d, ok := c.(*DistinctRows)
				if parts[i] = c; ok {
					parts[i], changed = d.Input, true
				}
			}
			if changed {
				return &DistinctRows{simplifySetOp(&SetOp{UnionAll, parts, in.Pos}), n.Pos}
			}
		}
	}
	return n
}

func simplifySetOp(n *SetOp) Node {
	if n.Kind != UnionAll {
		return n
	}
	var flat []Node
	changed := false
	for _, c := range n.In {
		if u, ok := c.(*SetOp); ok && u.Kind == UnionAll {
			flat, changed = append(flat, u.In...), true
			continue
		}
		if v, ok := c.(*Values); ok && len(v.Rows) == 0 {
			changed = true
			continue
		}
		flat = append(flat, c)
	}
	switch {
	case len(flat) == 0:
		return n.In[0]
	case len(flat) == 1:
		return flat[0]
	case changed:
		return &SetOp{UnionAll, flat, n.Pos}
	}
	return n
}

func simplifyTopK(n *TopK) Node {
	if n.Limit == 0 {
		return &Values{Cols: n.Columns(), Pos: n.Pos}
	}
	var keep []OrderItem
	for i, o := range n.Order {
		_, constant := o.Expr.(*Constant)
		for _, p := range n.Partition {
			constant = constant || Same(p, o.Expr)
		}
		for _, before := range n.Order[:i] {
			constant = constant || Same(before.Expr, o.Expr)
		}
		if !constant {
			keep = append(keep, o)
		}
	}
	if len(keep) < len(n.Order) {
		c := *n
		c.Order = keep
		return &c
	}
	return n
}

// lift puts a projection that only gives columns another order above the node, so that the order in which a query mentions columns
// makes no difference below.
func lift(n Node) Node {
	switch n := n.(type) {
	case *Join:
		l, r := permutation(n.Left), permutation(n.Right)
		if l == nil && r == nil {
			return nil
		}
		c := *n
		at := func(p *Project, i int) int {
			if p == nil {
				return i
			}
			return p.Exprs[i].(*ColumnRef).Index
		}
		if l != nil {
			c.Left = l.Input
		}
		if r != nil {
			c.Right = r.Input
		}
		width := len(n.Left.Columns())
		both := func(i int) int {
			if i < width {
				return at(l, i)
			}
			return width + at(r, i-width)
		}
		c.Conditions = append([]Condition{}, n.Conditions...)
		for i := range c.Conditions {
			c.Conditions[i].Left = mapRefs(c.Conditions[i].Left, func(i int) int { return at(l, i) })
			c.Conditions[i].Right = mapRefs(c.Conditions[i].Right, func(i int) int { return at(r, i) })
		}
		c.Residual = mapRefs(n.Residual, both)
		if n.Kind == Mark {
			r = nil
		}
		return reordered(&c, n.Columns(), both)
	case *Temporal, *TopK, *Window, *Unnest, *DistinctRows:
		p := permutation(n.Inputs()[0])
		if p == nil {
			return nil
		}
		es := n.exprs()
		out := make([]Expr, len(es))
		for i, e := range es {
			out[i] = Substitute(e, p.Exprs)
		}
		below := n.withExprs(out)
		if d, ok := below.(*DistinctRows); ok {
			below = &DistinctRows{p.Input, d.Pos}
		} else {
			below = below.with([]Node{p.Input})
		}
		return reordered(below, n.Columns(), func(i int) int {
			if i < len(p.Exprs) {
				return p.Exprs[i].(*ColumnRef).Index
			}
			return i
		})
	}
	return nil
}

// permutation is the node if it is a projection to the same columns in another order.
func permutation(n Node) *Project {
	p, ok := n.(*Project)
	if !ok || !onlyRefs(p.Exprs) || len(p.Exprs) != len(p.Input.Columns()) {
		return nil
	}
	seen := make([]bool, len(p.Exprs))
	for _, e := range p.Exprs {
		i := e.(*ColumnRef).Index
		if seen[i] {
			return nil
		}
		seen[i] = true
	}
	return p
}

// reordered gives the node's columns in the order of old.
func reordered(n Node, old []Column, at func(int) int) Node {
	cols := n.Columns()
	p := &Project{Input: n}
	for i, c := range old {
		p.Exprs, p.Names = append(p.Exprs, ref(cols, at(i))), append(p.Names, c.Name)
	}
	return p
}
