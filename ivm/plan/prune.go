package plan

// prune takes out the columns that nothing needs, down to the scans.
func prune(root Node) Node {
	p := &pruner{need: map[*Shared][]bool{}, done: map[*Shared]pruned{}}
	all := trues(len(root.Columns()))
	p.collect(root, all)
	out := p.cut(root, all)
	return exact(out, upTo(len(all)), root.Columns())
}

func trues(n int) []bool {
	out := make([]bool, n)
	for i := range out {
		out[i] = true
	}
	return out
}

// pruned is a node with fewer columns: at says where each old one is now, -1 for those that are gone.
type pruned struct {
	node Node
	at   []int
}

type pruner struct {
	need map[*Shared][]bool // by all uses together
	done map[*Shared]pruned
}

// collect finds what is needed of each Shared node.
func (p *pruner) collect(n Node, need []bool) {
	if s, ok := n.(*Shared); ok {
		have, grown := p.need[s], false
		if have == nil {
			have, grown = make([]bool, len(need)), true
		}
		for i, b := range need {
			grown = grown || b && !have[i]
			have[i] = have[i] || b
		}
		if p.need[s] = have; grown {
			p.collect(s.Input, have)
		}
		return
	}
	for i, in := range inputNeeds(n, need) {
		p.collect(n.Inputs()[i], in)
	}
}

// inputNeeds says which columns of its inputs a node needs for those columns of its own.
func inputNeeds(n Node, need []bool) [][]bool {
	in := n.Inputs()
	out := make([][]bool, len(in))
	for i, c := range in {
		out[i] = make([]bool, len(c.Columns()))
	}
	mark := func(to []bool, shift int, es ...Expr) {
		for _, e := range es {
			Walk(e, func(x Expr) bool {
				if r, ok := x.(*ColumnRef); ok && r.Index-shift >= 0 && r.Index-shift < len(to) {
					to[r.Index-shift] = true
				}
				return true
			})
		}
	}
	switch n := n.(type) {
	case *Filter, *Temporal, *Unnest, *TopK:
		copy(out[0], need)
		mark(out[0], 0, n.exprs()...)
	case *Project:
		for i, e := range n.Exprs {
			if need[i] {
				mark(out[0], 0, e)
			}
		}
	case *Join:
		width := len(out[0])
		copy(out[0], need)
		if n.Kind != Semi && n.Kind != Anti && n.Kind != Mark {
			copy(out[1], need[width:])
		}
		for _, c := range n.Conditions {
			mark(out[0], 0, c.Left)
			mark(out[1], 0, c.Right)
		}
		mark(out[0], 0, n.Residual)
		mark(out[1], width, n.Residual)
	case *Aggregate:
		mark(out[0], 0, n.Groups...)
		for i := range n.Aggs {
			if need[len(n.Groups)+i] {
				mark(out[0], 0, n.Aggs[i].inputs()...)
			}
		}
	case *Window:
		width := len(out[0])
		copy(out[0], need[:width])
		for i := range n.Funcs {
			if need[width+i] {
				mark(out[0], 0, n.Partition...)
				mark(out[0], 0, appendOrder(nil, n.Order)...)
				mark(out[0], 0, n.Funcs[i].inputs()...)
			}
		}
	case *SetOp:
		for i := range out {
			if copy(out[i], need); n.Kind != UnionAll {
				out[i] = trues(len(need))
			}
		}
	default: // all of it
		for i := range out {
			out[i] = trues(len(out[i]))
		}
	}
	return out
}

// cut makes the node with the needed columns, and perhaps others.
func (p *pruner) cut(n Node, need []bool) pruned {
	if s, ok := n.(*Shared); ok {
		if out, ok := p.done[s]; ok {
			return out
		}
		in := p.cut(s.Input, p.need[s])
		out := pruned{newShared(s.Name, in.node), in.at}
		if in.node == s.Input {
			out.node = s
		}
		p.done[s] = out
		return out
	}
	if j, ok := n.(*Join); ok {
		if undone := uncorrelate(j, need); undone != nil {
			return p.cut(undone, need)
		}
	}
	needs := inputNeeds(n, need)
	in := make([]pruned, len(needs))
	for i, c := range n.Inputs() {
		in[i] = p.cut(c, needs[i])
	}
	switch n := n.(type) {
	case *Scan:
		out := &Scan{Source: n.Source, Pos: n.Pos}
		at := gone(len(n.Fields))
		for i, f := range n.Fields {
			if need[i] {
				at[i] = len(out.Fields)
				out.Fields = append(out.Fields, f)
			}
		}
		if len(out.Fields) == len(n.Fields) {
			return pruned{n, at}
		}
		return pruned{out, at}
	case *Values:
		return cutValues(n, need)
	case *Project:
		out := &Project{Input: in[0].node}
		at := gone(len(n.Exprs))
		for i, e := range n.Exprs {
			if need[i] {
				at[i] = len(out.Exprs)
				out.Exprs, out.Names = append(out.Exprs, in[0].move(e)), append(out.Names, n.Names[i])
			}
		}
		return pruned{out, at}
	case *Join:
		return cutJoin(n, in[0], in[1])
	case *Aggregate:
		return cutAggregate(n, need, in[0])
	case *Window:
		return cutWindow(n, need, in[0])
	case *TopK:
		c := *(n.withExprs(in[0].moveAll(n.exprs())).(*TopK))
		c.Input = in[0].node
		at := in[0].at
		if n.Number {
			width := len(n.Input.Columns())
			at = append(at[:len(at):len(at)], -1)
			if c.Number = need[width]; c.Number {
				at[width] = len(in[0].node.Columns())
			}
		}
		return pruned{&c, at}
	case *Unnest:
		c := *n
		c.Input, c.Lists = in[0].node, in[0].moveAll(n.Lists)
		at := in[0].at
		width := len(in[0].node.Columns())
		for i := range n.Lists {
			at = append(at[:len(at):len(at)], width+i)
		}
		return pruned{&c, at}
	case *Filter, *Temporal:
		return pruned{n.withExprs(in[0].moveAll(n.exprs())).with([]Node{in[0].node}), in[0].at}
	case *SetOp:
		var which []int
		at := gone(len(need))
		for i, b := range need {
			if b || n.Kind != UnionAll {
				at[i] = len(which)
				which = append(which, i)
			}
		}
		parts := make([]Node, len(in))
		for i := range in {
			parts[i] = exact(in[i], which, n.In[i].Columns())
		}
		return pruned{&SetOp{n.Kind, parts, n.Pos}, at}
	}
	// Everything was needed, so that columns lie where they lay.
	nodes := make([]Node, len(in))
	for i := range in {
		nodes[i] = exact(in[i], upTo(len(in[i].at)), n.Inputs()[i].Columns())
	}
	if len(nodes) == 0 {
		return pruned{n, upTo(len(need))}
	}
	return pruned{n.with(nodes), upTo(len(need))}
}

func gone(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = -1
	}
	return out
}

func (p pruned) move(e Expr) Expr {
	return mapRefs(e, func(i int) int { return p.at[i] })
}

func (p pruned) moveAll(es []Expr) []Expr {
	out := make([]Expr, len(es))
	for i, e := range es {
		out[i] = p.move(e)
	}
	return out
}

// exact is the node with those of its old columns, in that order, and no others.
func exact(p pruned, which []int, old []Column) Node {
	cols := p.node.Columns()
	same := len(cols) == len(which)
	out := &Project{Input: p.node}
	for i, w := range which {
		same = same && p.at[w] == i
		out.Exprs, out.Names = append(out.Exprs, ref(cols, p.at[w])), append(out.Names, old[w].Name)
	}
	if same {
		return p.node
	}
	return out
}

func cutValues(n *Values, need []bool) pruned {
	out := &Values{Pos: n.Pos, Rows: make([][]Expr, len(n.Rows))}
	at := gone(len(n.Cols))
	for i, c := range n.Cols {
		if need[i] {
			at[i] = len(out.Cols)
			out.Cols = append(out.Cols, c)
		}
	}
	if len(out.Cols) == len(n.Cols) {
		return pruned{n, at}
	}
	for r := range n.Rows {
		for i := range n.Cols {
			if need[i] {
				out.Rows[r] = append(out.Rows[r], n.Rows[r][i])
			}
		}
	}
	return pruned{out, at}
}

func cutJoin(n *Join, l, r pruned) pruned {
	c := *n
	c.Left, c.Right = l.node, r.node
	old, width := len(l.at), len(l.node.Columns())
	c.Conditions = append([]Condition{}, n.Conditions...)
	for i := range c.Conditions {
		c.Conditions[i].Left, c.Conditions[i].Right = l.move(c.Conditions[i].Left), r.move(c.Conditions[i].Right)
	}
	c.Residual = mapRefs(n.Residual, func(i int) int {
		if i < old {
			return l.at[i]
		}
		return width + r.at[i-old]
	})
	at := l.at
	switch n.Kind {
	case Semi, Anti:
	case Mark:
		at = append(at[:old:old], width)
	default:
		at = at[:old:old]
		for _, i := range r.at {
			if i >= 0 {
				i += width
			}
			at = append(at, i)
		}
	}
	return pruned{&c, at}
}

func cutAggregate(n *Aggregate, need []bool, in pruned) pruned {
	c := *n
	c.Input, c.Groups, c.Aggs, c.Groupings = in.node, in.moveAll(n.Groups), nil, nil
	at := gone(len(need))
	for i := range n.Groups {
		at[i] = i
	}
	g := len(n.Groups)
	for i, a := range n.Aggs {
		if !need[g+i] {
			continue
		}
		at[g+i] = g + len(c.Aggs)
		a.Args, a.Filter = in.moveAll(a.Args), in.move(a.Filter)
		a.Order = in.order(a.Order)
		c.Aggs = append(c.Aggs, a)
	}
	for i, call := range n.Groupings {
		if k := g + len(n.Aggs) + i; need[k] {
			at[k] = g + len(c.Aggs) + len(c.Groupings)
			c.Groupings = append(c.Groupings, call)
		}
	}
	return pruned{&c, at}
}

func (p pruned) order(items []OrderItem) []OrderItem {
	out := append([]OrderItem{}, items...)
	for i := range out {
		out[i].Expr = p.move(out[i].Expr)
	}
	return out
}

func cutWindow(n *Window, need []bool, in pruned) pruned {
	width := len(n.Input.Columns())
	c := *n
	c.Input, c.Funcs = in.node, nil
	at := append(in.at[:width:width], gone(len(n.Funcs))...)
	for i, f := range n.Funcs {
		if !need[width+i] {
			continue
		}
		at[width+i] = len(in.node.Columns()) + len(c.Funcs)
		f.Args = in.moveAll(f.Args)
		f.Filter, f.Offset, f.Default = in.move(f.Filter), in.move(f.Offset), in.move(f.Default)
		f.Frame.Start.Expr, f.Frame.End.Expr = in.move(f.Frame.Start.Expr), in.move(f.Frame.End.Expr)
		f.ArgOrder = in.order(f.ArgOrder)
		c.Funcs = append(c.Funcs, f)
	}
	if len(c.Funcs) == 0 {
		return pruned{in.node, at}
	}
	c.Partition, c.Order = in.moveAll(n.Partition), in.order(n.Order)
	return pruned{&c, at}
}
