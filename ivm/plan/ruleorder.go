package plan

// connect orders inner joins so that none is a cross product which another order avoids. Else the order is as written:
// inputs are taken from left to right, and one that is not yet connected waits.
func connect(n Node) Node {
	done := map[*Shared]Node{}
	var walk func(n Node) Node
	walk = func(n Node) Node {
		if s, ok := n.(*Shared); ok {
			if out, ok := done[s]; ok {
				return out
			}
		}
		old := n
		if j, ok := n.(*Join); ok && j.Kind == Inner {
			f := &flatJoin{}
			f.flatten(j)
			for i := range f.leaves {
				f.leaves[i] = walk(f.leaves[i])
			}
			if f.crosses {
				if out := f.ordered(j.Columns(), j.Pos); out != nil {
					return out
				}
			}
			i := 0
			return putLeaves(j, f.leaves, &i)
		}
		n = overInputs(n, walk)
		if s, ok := old.(*Shared); ok {
			done[s] = n
		}
		return n
	}
	return walk(n)
}

// putLeaves gives a tree of inner joins other inputs.
func putLeaves(n Node, leaves []Node, next *int) Node {
	j, ok := n.(*Join)
	if !ok || j.Kind != Inner {
		*next++
		return leaves[*next-1]
	}
	l := putLeaves(j.Left, leaves, next)
	r := putLeaves(j.Right, leaves, next)
	if l == j.Left && r == j.Right {
		return j
	}
	return j.with([]Node{l, r})
}

// flatJoin is a tree of inner joins as its inputs and the predicates over all their columns.
type flatJoin struct {
	leaves  []Node
	start   []int // of each leaf's columns
	width   int
	preds   []Expr
	crosses bool
}

func (f *flatJoin) flatten(n Node) {
	j, ok := n.(*Join)
	if !ok || j.Kind != Inner {
		f.leaves, f.start = append(f.leaves, n), append(f.start, f.width)
		f.width += len(n.Columns())
		return
	}
	begin := f.width
	f.flatten(j.Left)
	middle := f.width
	f.flatten(j.Right)
	moved := func(e Expr, by int) Expr { return mapRefs(e, func(i int) int { return i + by }) }
	equal := false
	for _, c := range j.Conditions {
		equal = equal || c.Op == Equal || c.Op == NotDistinct
		f.preds = append(f.preds, compare(c.Op, moved(c.Left, begin), moved(c.Right, middle), NoPosition))
	}
	for _, p := range Conjuncts(j.Residual) {
		f.preds = append(f.preds, moved(p, begin))
	}
	f.crosses = f.crosses || !equal
}

// leaf is the input of a column.
func (f *flatJoin) leaf(column int) int {
	i := len(f.start) - 1
	for f.start[i] > column {
		i--
	}
	return i
}

// ordered joins the inputs so that each is connected to those before it, nil when that cannot be better.
func (f *flatJoin) ordered(cols []Column, pos int) Node {
	reads := make([]map[int]bool, len(f.preds))
	for i, p := range f.preds {
		reads[i] = map[int]bool{}
		Walk(p, func(x Expr) bool {
			if r, ok := x.(*ColumnRef); ok {
				reads[i][f.leaf(r.Index)] = true
			}
			return true
		})
	}
	used := make([]bool, len(f.preds))
	have := map[int]bool{0: true}
	out := f.leaves[0]
	at := gone(f.width) // where each column is now
	for c := range f.leaves[0].Columns() {
		at[c] = c
	}
	next := func() int {
		first := -1
		for k := range f.leaves {
			if have[k] {
				continue
			}
			if first < 0 {
				first = k
			}
			for i, p := range f.preds {
				c, ok := p.(*Comparison)
				if !ok || c.Op != Equal && c.Op != NotDistinct || !reads[i][k] || len(reads[i]) < 2 || len(reads[i]) > len(have)+1 {
					continue
				}
				connected := true
				for other := range reads[i] {
					connected = connected && (other == k || have[other])
				}
				if connected && equates(c, func(column int) bool { return f.leaf(column) == k }) {
					return k
				}
			}
		}
		return first
	}
	moves := false
	for len(have) < len(f.leaves) {
		k := next()
		moves = moves || k != len(have)
		have[k] = true
		width := len(out.Columns())
		for c := range f.leaves[k].Columns() {
			at[f.start[k]+c] = width + c
		}
		j := &Join{Kind: Inner, Left: out, Right: f.leaves[k], Pos: pos}
		var preds []Expr
		for i, p := range f.preds {
			ready := !used[i]
			for leaf := range reads[i] {
				ready = ready && have[leaf]
			}
			if ready {
				used[i] = true
				preds = append(preds, mapRefs(p, func(c int) int { return at[c] }))
			}
		}
		j.Residual = AndAll(preds)
		splitConditions(j, width)
		out = j
	}
	if !moves {
		return nil
	}
	return reordered(out, cols, func(i int) int { return at[i] })
}

// equates says that one side of the comparison reads the input only, and the other side not at all.
func equates(c *Comparison, of func(int) bool) bool {
	side := func(e Expr) (in, out bool) {
		Walk(e, func(x Expr) bool {
			if r, ok := x.(*ColumnRef); ok {
				if of(r.Index) {
					in = true
				} else {
					out = true
				}
			}
			return true
		})
		return in, out
	}
	lin, lout := side(c.Left)
	rin, rout := side(c.Right)
	return lin && !lout && rout && !rin || rin && !rout && lout && !lin
}
