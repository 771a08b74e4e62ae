package plan

import "slices"

// whole is the node over what is shared, with its own columns.
func (s *sharing) whole(n Node) Node {
	n = inside(n)
	p := s.parts[n]
	if p.of.shared == nil {
		return overInputs(n, s.whole)
	}
	return read(s.once(p.of), p.of.at, p.columns, n.Columns())
}

// once is the shared node of a family.
func (s *sharing) once(f *family) *Shared {
	if f.shared.Input == nil {
		in, at := s.merge(f.uses[0])
		f.at, f.shared.Input, f.shared.columns = at, in, in.Columns()
		if f.shared.Name == "" {
			f.shared.Name = "subquery"
		}
	}
	return f.shared
}

// read gives those columns of a family, in that order, of a node that has them at these places.
func read(n Node, at, columns []int, named []Column) Node {
	have := n.Columns()
	out := &Project{Input: n}
	same := len(columns) == len(have)
	for i, c := range columns {
		same = same && at[c] == i
		out.Exprs, out.Names = append(out.Exprs, ref(have, at[c])), append(out.Names, named[i].Name)
	}
	if same {
		return n
	}
	return out
}

// places is where a node with these columns has each of the family's.
func (f *family) places(columns []int) []int {
	at := gone(len(f.from))
	for i, c := range columns {
		if at[c] < 0 {
			at[c] = i
		}
	}
	return at
}

// merge is one node with the columns of all members of a family, and where it has them.
func (s *sharing) merge(members []Node) (Node, []int) {
	first := s.parts[members[0]]
	if !slices.ContainsFunc(members, func(n Node) bool { return !slices.Equal(s.parts[n].columns, first.columns) }) {
		return overInputs(members[0], s.whole), first.of.places(first.columns)
	}
	m := &merger{s: s, of: first.of, members: members, at: gone(len(first.of.from))}
	for k := range members[0].Inputs() {
		m.input(k)
	}
	return m.node(), m.at
}

// merger makes a node of members that have not the same columns.
type merger struct {
	s       *sharing
	of      *family
	members []Node
	in      []Node
	inAt    [][]int // where each input has its family's columns
	at      []int
}

// input is what the members read.
func (m *merger) input(k int) {
	var below []Node
	for _, n := range m.members {
		below = append(below, n.Inputs()[k])
	}
	below = unlike(below)
	f := m.s.parts[below[0]].of
	if f.shared == nil {
		n, at := m.s.merge(below)
		m.in, m.inAt = append(m.in, n), append(m.inAt, at)
		return
	}
	var columns []int
	var named []Column
	for _, n := range below {
		for i, c := range n.Columns() {
			if at := m.s.parts[n].columns[i]; !slices.Contains(columns, at) {
				columns, named = append(columns, at), append(named, c)
			}
		}
	}
	n := m.s.once(f)
	m.in, m.inAt = append(m.in, read(n, f.at, columns, named)), append(m.inAt, f.places(columns))
}

// over is an expression over a member's k-th input as one over the merged one.
func (m *merger) over(n Node, k int, e Expr) Expr {
	columns := m.s.parts[inside(n.Inputs()[k])].columns
	return mapRefs(e, func(i int) int { return m.inAt[k][columns[i]] })
}

func (m *merger) overAll(n Node, es []Expr) []Expr {
	out := make([]Expr, len(es))
	for i, e := range es {
		out[i] = m.over(n, 0, e)
	}
	return out
}

// each shows the columns of all members that the node makes, each of them once, and keeps where they are to be.
func (m *merger) each(put func(n Node, column int) int) {
	for _, n := range m.members {
		for i, c := range m.s.parts[n].columns {
			if m.at[c] < 0 && m.of.from[c].input < 0 {
				m.at[c] = put(n, i)
			}
		}
	}
}

// pass keeps where the columns of the inputs are: side by side.
func (m *merger) pass() {
	starts := []int{0}
	for _, n := range m.in {
		starts = append(starts, starts[len(starts)-1]+len(n.Columns()))
	}
	for _, n := range m.members {
		for _, c := range m.s.parts[n].columns {
			if from := m.of.from[c]; from.input >= 0 {
				m.at[c] = starts[from.input] + m.inAt[from.input][from.column]
			}
		}
	}
}

func (m *merger) node() Node {
	switch first := m.members[0].(type) {
	case *Scan:
		return m.scan(first)
	case *Project:
		out := &Project{Input: m.in[0]}
		m.each(func(n Node, i int) int {
			p := n.(*Project)
			out.Exprs, out.Names = append(out.Exprs, m.over(n, 0, p.Exprs[i])), append(out.Names, p.Names[i])
			return len(out.Exprs) - 1
		})
		return out
	case *Join:
		return m.join(first)
	case *Aggregate:
		return m.aggregate(first)
	case *Window:
		return m.window(first)
	case *SetOp:
		return m.union(first)
	}
	// The others give their input's columns, and behind them a few of their own.
	m.pass()
	first := m.members[0]
	out := first.withExprs(m.overAll(first, first.exprs())).with(m.in)
	width := len(m.in[0].Columns())
	m.each(func(n Node, i int) int {
		if t, ok := out.(*TopK); ok {
			t.Number = true
		}
		return width + i - len(n.Inputs()[0].Columns())
	})
	return out
}

func (m *merger) scan(first *Scan) Node {
	out := &Scan{Source: first.Source, Pos: first.Pos}
	place := func(f TableColumn) int {
		return slices.IndexFunc(first.Source.Columns, func(c TableColumn) bool { return c.ID == f.ID && c.Name == f.Name })
	}
	fields := map[int]TableColumn{}
	for _, n := range m.members {
		for i, c := range m.s.parts[n].columns {
			fields[c] = n.(*Scan).Fields[i]
		}
	}
	var columns []int
	for c := range fields {
		columns = append(columns, c)
	}
	slices.SortFunc(columns, func(a, b int) int {
		if d := place(fields[a]) - place(fields[b]); d != 0 {
			return d
		}
		return a - b
	})
	for i, c := range columns {
		out.Fields, m.at[c] = append(out.Fields, fields[c]), i
	}
	return out
}

func (m *merger) join(first *Join) Node {
	m.pass()
	out := *first
	out.Left, out.Right = m.in[0], m.in[1]
	width := len(m.in[0].Columns())
	out.Conditions = slices.Clone(first.Conditions)
	for i, c := range out.Conditions {
		out.Conditions[i].Left, out.Conditions[i].Right = m.over(first, 0, c.Left), m.over(first, 1, c.Right)
	}
	left, right := m.s.parts[inside(first.Left)].columns, m.s.parts[inside(first.Right)].columns
	out.Residual = mapRefs(first.Residual, func(i int) int {
		if i < len(left) {
			return m.inAt[0][left[i]]
		}
		return width + m.inAt[1][right[i-len(left)]]
	})
	m.each(func(Node, int) int { return width }) // the mark
	return &out
}

func (m *merger) aggregate(first *Aggregate) Node {
	out := *first
	out.Input, out.Groups, out.Aggs, out.Groupings = m.in[0], m.overAll(first, first.Groups), nil, nil
	groups := len(out.Groups)
	m.each(func(n Node, i int) int {
		a := n.(*Aggregate)
		switch i -= groups; {
		case i < 0:
			return groups + i
		case i < len(a.Aggs):
			one := Aggregate{Aggs: a.Aggs[i : i+1]}
			out.Aggs = append(out.Aggs, one.withExprs(m.overAll(n, one.exprs())).(*Aggregate).Aggs[0])
			return groups + len(out.Aggs) - 1
		}
		return -1
	})
	m.each(func(n Node, i int) int { // what is left stands behind all aggregates
		a := n.(*Aggregate)
		out.Groupings = append(out.Groupings, a.Groupings[i-groups-len(a.Aggs)])
		return groups + len(out.Aggs) + len(out.Groupings) - 1
	})
	return &out
}

func (m *merger) window(first *Window) Node {
	m.pass()
	frame := Window{Partition: first.Partition, Order: first.Order}
	out := frame.withExprs(m.overAll(first, frame.exprs())).(*Window)
	out.Input, out.Pos = m.in[0], first.Pos
	width := len(m.in[0].Columns())
	m.each(func(n Node, i int) int {
		w := n.(*Window)
		i -= len(w.Input.Columns())
		one := Window{Funcs: w.Funcs[i : i+1]}
		out.Funcs = append(out.Funcs, one.withExprs(m.overAll(n, one.exprs())).(*Window).Funcs[0])
		return width + len(out.Funcs) - 1
	})
	return out
}

// union is UNION ALL of the columns that any member gives.
func (m *merger) union(first *SetOp) Node {
	out := &SetOp{Kind: first.Kind, Pos: first.Pos}
	parts := make([]*Project, len(m.in))
	for k, in := range m.in {
		parts[k] = &Project{Input: in}
	}
	m.each(func(n Node, i int) int {
		for k, p := range parts {
			in := inside(n.Inputs()[k])
			at := m.inAt[k][m.s.parts[in].columns[i]]
			p.Exprs, p.Names = append(p.Exprs, ref(p.Input.Columns(), at)), append(p.Names, n.Columns()[i].Name)
		}
		return len(parts[0].Exprs) - 1
	})
	for _, p := range parts {
		out.In = append(out.In, p)
	}
	return out
}
