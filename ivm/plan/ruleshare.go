package plan

import (
	"strconv"
	"strings"
)

// share makes one node of subplans that are equal: a view, a macro or a subquery that a query has twice is computed and kept once, as a
// CTE is. Equal are two that differ at most in which of their columns are asked for, all below being equal; the one node then
// has the columns of both. A filter that is asked of one use only is a difference, and what is below it is looked at for itself.
//
// Shared is what has state. Reading and filtering a source twice costs less than a batch in between, and lets each reader do it its own way.
func share(root Node) Node {
	s := newSharing()
	top := s.number(root)
	if !s.settle(root, top.of) {
		return root
	}
	return transform(s.whole(root), simplify)
}

// sharing numbers nodes: equal ones are of one family.
type sharing struct {
	parts    map[Node]part
	families map[string]*family
	order    []*family // inputs before who reads them
	sources  []*Source
	unequal  int
}

// part is a node as one of its family.
type part struct {
	of      *family
	columns []int // which of the family's each of the node's columns is
}

// family is nodes that are equal but for the columns which are asked for.
type family struct {
	id       int
	key      string
	name     string         // of a CTE or the like that it is; "" is none
	columns  map[string]int // by what they are
	from     []origin       // of each column
	stateful bool
	fixed    bool // members have the same columns: what is known of a watermark depends on their order
	moves    bool // only gives columns another order

	uses   [][]Node // for each that reads it, the members that stand there
	shared *Shared  // of all members
	at     []int    // where the shared node has each column, or -1
}

// origin is which column of which input a column is; input -1: it is the node's own.
type origin struct{ input, column int }

func newSharing() *sharing { return &sharing{parts: map[Node]part{}, families: map[string]*family{}} }

// number finds a node's family.
func (s *sharing) number(n Node) part {
	if p, ok := s.parts[n]; ok {
		return p
	}
	if c, ok := n.(*Shared); ok {
		p := s.number(c.Input)
		if p.of.name == "" {
			p.of.name = c.Name
		}
		s.parts[n] = p
		return p
	}
	var in []part
	for _, c := range n.Inputs() {
		in = append(in, s.number(c))
	}
	d := s.describe(n, in)
	key := string(d.key.b)
	if d.fixed {
		key += "\x00" + strings.Join(d.columns, "\x00")
	}
	f := s.families[key]
	if f == nil {
		f = &family{id: len(s.order), key: key, columns: map[string]int{}, fixed: d.fixed, stateful: stateful(n), moves: true}
		for _, p := range in {
			f.stateful = f.stateful || p.of.stateful
		}
		s.families[key], s.order = f, append(s.order, f)
	}
	p, ok := n.(*Project)
	f.moves = f.moves && ok && onlyRefs(p.Exprs)
	out := part{of: f}
	for i, c := range d.columns {
		at, known := f.columns[c]
		if !known {
			at = len(f.from)
			f.columns[c], f.from = at, append(f.from, d.from[i])
		}
		out.columns = append(out.columns, at)
	}
	s.parts[n] = out
	return out
}

// stateful says that a node keeps rows itself.
func stateful(n Node) bool {
	switch n := n.(type) {
	case *Join, *Aggregate, *DistinctRows, *TopK, *Window, *Temporal:
		return true
	case *SetOp:
		return n.Kind != UnionAll
	}
	return false
}

// settle decides which families are made once, from those that read to those that are read, and says whether any is that was not before.
func (s *sharing) settle(root Node, top *family) (news bool) {
	top.uses = append(top.uses, []Node{root})
	for i := len(s.order) - 1; i >= 0; i-- {
		f := s.order[i]
		if len(f.uses) > 1 && (f.name != "" || f.stateful && !f.moves) {
			once := []Node(nil)
			for _, u := range f.uses {
				once = append(once, u...)
			}
			once = unlike(once)
			news = news || len(once) > 1
			f.uses, f.shared = [][]Node{once}, &Shared{Name: f.name}
		}
		for _, members := range f.uses {
			for k := range inside(members[0]).Inputs() {
				var below []Node
				for _, m := range members {
					below = append(below, inside(m).Inputs()[k])
				}
				kid := s.parts[below[0]].of
				kid.uses = append(kid.uses, unlike(below))
			}
		}
	}
	return news
}

// inside is the node below the sign that it is used several times.
func inside(n Node) Node {
	for {
		c, ok := n.(*Shared)
		if !ok {
			return n
		}
		n = c.Input
	}
}

// unlike are the nodes, each once.
func unlike(nodes []Node) []Node {
	var out []Node
	seen := map[Node]bool{}
	for _, n := range nodes {
		if n = inside(n); !seen[n] {
			seen[n] = true
			out = append(out, n)
		}
	}
	return out
}

// described is what decides a node's family, and its columns.
type described struct {
	key     meaning
	columns []string // by what they are, in its family
	from    []origin
	fixed   bool
}

// pass is a column of an input.
func (d *described) pass(input, column int) {
	d.columns = append(d.columns, "<"+strconv.Itoa(input)+"."+strconv.Itoa(column))
	d.from = append(d.from, origin{input, column})
}

// own is a column that the node makes.
func (d *described) own(what string) {
	d.columns, d.from = append(d.columns, what), append(d.from, origin{-1, 0})
}

// made is a column as what write writes.
func (d *described) made(write func(*meaning)) {
	x := meaning{at: d.key.at, alone: d.key.alone}
	write(&x)
	d.own(string(x.b))
}
