package plan

import (
	"slices"
	"strings"
)

// Mode is what kinds of change a node gives or takes.
type Mode uint8

// The modes.
const (
	Append  Mode = iota // rows come and stay
	Retract             // rows come and go
	Upsert              // likewise, and never two rows of one key: a change of a key's row is its replacement
)

var modeNames = [...]string{"append", "retract", "upsert"}

func (m Mode) String() string { return modeNames[m] }

// Info is what is known of a node's output and state.
type Info struct {
	ID, Parent       int // numbers in Nodes; the Parent of the root is -1, of a Shared node its first user
	Node             Node
	Operator, Detail string
	Readers          []int // of a Shared node: all its users

	Input, Output Mode
	Keys          [][]int // sets of output columns no two rows agree in; an empty one: there is at most one row
	Choice        bool    // DuckDB's answer depends on the order of rows it happens to have: ours is one of those allowed
	Inexact       []bool  // output columns that floating point decides: DuckDB's own answers differ in the last bits
	Arbitrary     []bool  // output columns that a Choice decides, here or below

	State      StateKind
	StateBound string      // a formula over rows(#node), keys(#node), groups(#node)
	Watermark  int         // the output column that the watermark follows, or -1
	Floors     []Floor     // what is known of that column
	Closings   [2]*Closing // of a join's sides; nil: rows may always meet others
	KeyClosing *KeyClosing // of a join by equality alone; nil: keys may always meet others
	Windowed   bool        // state is let go as the watermark passes
	Bounded    bool        // the state stays bounded when the input has no end
	Partition  []Expr      // over the (left) input: rows that meet have these equal; nil with a state: all rows meet
	Reasons    []Reason
}

// Certain says that there is one answer to the query at any state of its sources, DuckDB's: nothing in it is left to floating point, to the
// order of equal rows, to a clock or to when rows came.
func (p *Plan) Certain() bool {
	for _, i := range p.Nodes {
		if i.Choice || i.Watermark >= 0 || slices.Contains(i.Inexact, true) || slices.Contains(i.Arbitrary, true) {
			return false
		}
		switch n := i.Node.(type) {
		case *Temporal:
			return false
		case *Scan:
			if n.Source.Watermark != "" {
				return false
			}
		}
	}
	return true
}

// describe fills in the properties of a node and all below it.
func (p *Plan) describe(n Node, parent *Info) *Info {
	if known := p.infos[n]; known != nil {
		known.Readers = append(known.Readers, parent.ID)
		return known
	}
	i := &Info{ID: len(p.Nodes), Parent: -1, Node: n, Watermark: -1}
	if parent != nil {
		i.Parent, i.Readers = parent.ID, []int{parent.ID}
	}
	p.infos[n] = i
	p.Nodes = append(p.Nodes, i)
	i.Operator, i.Detail = describeNode(n)
	var in []*Info
	for _, c := range n.Inputs() {
		in = append(in, p.describe(c, i))
	}
	i.Input = Append
	for _, c := range in {
		i.Input = max(i.Input, c.Output)
	}
	if len(in) == 1 {
		i.Input = in[0].Output
	}
	cols := n.Columns()
	i.Inexact, i.Arbitrary = make([]bool, len(cols)), make([]bool, len(cols))
	p.derive(i, in)
	if i.Output != Append {
		i.Output = Retract
		if k := i.Identity(); k != nil && len(k) < len(cols) {
			i.Output = Upsert
		}
	}
	i.stateOf(in)
	p.boundOfSums(n)
	return i
}

// Identity are the columns that tell rows apart, the fewest that are known; nil means the whole row with its count.
func (i *Info) Identity() []int {
	var best []int
	for _, k := range i.Keys {
		if best == nil || len(k) < len(best) {
			best = k
		}
	}
	return best
}

// derive finds keys, the output's mode (Append or not), what is inexact, and the watermark.
func (p *Plan) derive(i *Info, in []*Info) {
	i.Output = i.Input
	same := func() {
		i.Keys = in[0].Keys
		copy(i.Inexact, in[0].Inexact)
		copy(i.Arbitrary, in[0].Arbitrary)
		i.Watermark, i.Floors = in[0].Watermark, in[0].Floors
	}
	switch n := i.Node.(type) {
	case *Scan:
		deriveScan(i, n)
	case *Values:
		i.Output = Append
		if len(n.Rows) <= 1 {
			i.Keys = [][]int{{}}
		}
	case *Filter, *Shared:
		same()
	case *Temporal:
		same()
		i.noWatermark() // rows of any age go with the clock
		i.Output = Retract
	case *Project:
		deriveProject(i, n, in[0])
	case *Join:
		deriveJoin(i, n, in[0], in[1])
	case *Aggregate:
		deriveAggregate(i, n, in[0])
	case *DistinctRows:
		same()
		i.addKey(upTo(len(i.Inexact)))
	case *SetOp:
		deriveSetOp(i, n, in)
	case *TopK:
		same()
		i.withinPartitions(n.Partition)
		i.Output = Retract
		if n.Limit == 1 && !n.WithTies {
			if k, ok := refsOf(n.Partition); ok {
				i.Keys = nil
				i.addKey(k)
			}
		}
		i.Choice = !coversKey(n.Order, n.Partition, in[0].Keys, len(n.Input.Columns())) && !n.WithTies
		if i.Choice {
			for c := range i.Arbitrary {
				i.Arbitrary[c] = true
			}
		}
	case *Window:
		deriveWindow(i, n, in[0])
	case *Unnest:
		same()
		i.Keys = nil
		for c, l := range n.Lists {
			i.Inexact[len(in[0].Inexact)+c] = reads(l, in[0].Inexact)
			i.Arbitrary[len(in[0].Arbitrary)+c] = reads(l, in[0].Arbitrary)
		}
	case *Unsupported:
		i.Output = Retract
	}
}

func (i *Info) addKey(k []int) {
	for _, have := range i.Keys {
		if slices.Equal(have, k) {
			return
		}
	}
	if len(i.Keys) < 16 {
		i.Keys = append(i.Keys, k)
	}
}

func deriveScan(i *Info, n *Scan) {
	if i.Output = Append; !n.Source.AppendOnly {
		i.Output = Retract
	}
	at := func(name string) int {
		return slices.IndexFunc(n.Fields, func(f TableColumn) bool { return strings.EqualFold(f.Name, name) })
	}
	for _, key := range n.Source.Keys {
		var k []int
		for _, name := range key {
			if c := at(name); c >= 0 {
				k = append(k, c)
			}
		}
		if len(k) == len(key) {
			slices.Sort(k)
			i.addKey(k)
		}
	}
	if n.Source.Watermark != "" {
		if i.Watermark = at(n.Source.Watermark); i.Watermark >= 0 {
			i.Floors = []Floor{{n.Source, &ColumnRef{Typed: Typed{Type: n.Fields[i.Watermark].Type, Pos: NoPosition}}}}
		}
	}
}

func deriveProject(i *Info, n *Project, in *Info) {
	place := map[int]int{}
	for c, e := range n.Exprs {
		if r, ok := e.(*ColumnRef); ok {
			if _, twice := place[r.Index]; !twice {
				place[r.Index] = c
			}
		}
		i.Inexact[c], i.Arbitrary[c] = reads(e, in.Inexact), reads(e, in.Arbitrary)
		i.follow(c, e, in)
	}
	for _, key := range in.Keys {
		var k []int
		for _, c := range key {
			if to, ok := place[c]; ok {
				k = append(k, to)
			}
		}
		if len(k) == len(key) {
			slices.Sort(k)
			i.addKey(nonNil(k))
		}
	}
}

func nonNil(k []int) []int {
	if k == nil {
		return []int{}
	}
	return k
}

// reads says whether an expression depends on one of the marked columns.
func reads(e Expr, marked []bool) bool {
	return !Walk(e, func(x Expr) bool {
		r, ok := x.(*ColumnRef)
		return !ok || r.Index >= len(marked) || !marked[r.Index]
	})
}

func refsOf(es []Expr) ([]int, bool) {
	out := []int{}
	for _, e := range es {
		r, ok := e.(*ColumnRef)
		if !ok {
			return nil, false
		}
		out = append(out, r.Index)
	}
	slices.Sort(out)
	return slices.Compact(out), true
}

// coversKey says that rows of width columns which agree in the order and the partition are the same row, or equal ones.
func coversKey(order []OrderItem, partition []Expr, keys [][]int, width int) bool {
	have := map[int]bool{}
	for _, e := range appendOrder(append([]Expr{}, partition...), order) {
		if r, ok := e.(*ColumnRef); ok {
			have[r.Index] = true
		}
	}
	if len(have) == width {
		return true
	}
	for _, k := range keys {
		if !slices.ContainsFunc(k, func(c int) bool { return !have[c] }) {
			return true
		}
	}
	return false
}

// ordersArgs says that rows which agree in an aggregate's order give it the same arguments.
func ordersArgs(a *Agg) bool {
	if len(a.Order) == 0 || tiedAggregates[a.Name] {
		return false
	}
	for _, arg := range a.Args {
		if !slices.ContainsFunc(a.Order, func(o OrderItem) bool { return Same(o.Expr, arg) }) {
			return false
		}
	}
	return true
}

func deriveJoin(i *Info, n *Join, l, r *Info) {
	width := len(l.Inexact)
	copy(i.Inexact, l.Inexact)
	copy(i.Arbitrary, l.Arbitrary)
	if n.Kind != Semi && n.Kind != Anti && n.Kind != Mark {
		copy(i.Inexact[width:], r.Inexact)
		copy(i.Arbitrary[width:], r.Arbitrary)
	}
	if n.Kind != Inner && n.Kind != Semi {
		i.Output = Retract
	}
	deriveJoinWatermark(i, n, l, r)
	if hasInequality(n) || n.Residual != nil {
		deriveClosings(i, n, l, r)
	} else { // state is kept by keys
		deriveKeyClosing(i, n, l, r)
	}
	var atLeft, atRight []int
	for _, c := range n.Conditions {
		if c.Op != Equal && c.Op != NotDistinct {
			continue
		}
		if e, ok := c.Left.(*ColumnRef); ok {
			atLeft = append(atLeft, e.Index)
		}
		if e, ok := c.Right.(*ColumnRef); ok {
			atRight = append(atRight, e.Index)
		}
	}
	covered := func(keys [][]int, by []int) bool {
		return slices.ContainsFunc(keys, func(k []int) bool {
			return !slices.ContainsFunc(k, func(c int) bool { return !slices.Contains(by, c) })
		})
	}
	shift := func(k []int) []int {
		out := make([]int, len(k))
		for j := range k {
			out[j] = k[j] + width
		}
		return out
	}
	oneRight := covered(r.Keys, atRight)
	switch n.Kind {
	case Semi, Anti, Mark, Single, AsOf, AsOfLeft:
		i.Keys = l.Keys
		if n.Kind == AsOf || n.Kind == AsOfLeft {
			i.Choice = !asOfUnique(n, r)
			for c := width; i.Choice && c < len(i.Arbitrary); c++ {
				i.Arbitrary[c] = true
			}
		}
		return
	case Inner, Left:
		if oneRight {
			for _, k := range l.Keys {
				i.addKey(k)
			}
		}
		if n.Kind == Inner && covered(l.Keys, atLeft) {
			for _, k := range r.Keys {
				i.addKey(shift(k))
			}
		}
	}
	if len(i.Keys) > 0 {
		return
	}
	for _, a := range l.Keys {
		for _, b := range r.Keys {
			i.addKey(append(slices.Clone(a), shift(b)...))
		}
	}
}

// asOfUnique says that no two right rows are equally near to a left one.
func asOfUnique(n *Join, r *Info) bool {
	var cols []int
	for _, c := range n.Conditions {
		if e, ok := c.Right.(*ColumnRef); ok {
			cols = append(cols, e.Index)
		}
	}
	return slices.ContainsFunc(r.Keys, func(k []int) bool {
		return !slices.ContainsFunc(k, func(c int) bool { return !slices.Contains(cols, c) })
	})
}

func deriveAggregate(i *Info, n *Aggregate, in *Info) {
	i.Output = Retract
	for g, e := range n.Groups {
		i.Inexact[g], i.Arbitrary[g] = reads(e, in.Inexact), reads(e, in.Arbitrary)
		if n.Sets == nil {
			i.follow(g, e, in)
		}
	}
	if n.Sets == nil {
		i.addKey(upTo(len(n.Groups)))
	}
	for a := range n.Aggs {
		c := len(n.Groups) + a
		agg := &n.Aggs[a]
		for _, e := range agg.inputs() {
			i.Inexact[c] = i.Inexact[c] || reads(e, in.Inexact)
			i.Arbitrary[c] = i.Arbitrary[c] || reads(e, in.Arbitrary)
		}
		i.Inexact[c] = i.Inexact[c] || agg.inexact()
		if agg.choice() && !ordersArgs(agg) && !coversKey(agg.Order, n.Groups, in.Keys, len(in.Inexact)) {
			i.Choice, i.Arbitrary[c] = true, true
		}
	}
}

func deriveSetOp(i *Info, n *SetOp, in []*Info) {
	for _, c := range in {
		for k := range i.Inexact {
			i.Inexact[k] = i.Inexact[k] || c.Inexact[k]
			i.Arbitrary[k] = i.Arbitrary[k] || c.Arbitrary[k]
		}
	}
	if n.Kind == UnionAll {
		i.Watermark = in[0].Watermark
		for _, c := range in {
			i.Floors = append(i.Floors, c.Floors...)
			if c.Watermark != i.Watermark || c.Watermark < 0 {
				i.noWatermark()
				break
			}
		}
		return
	}
	i.Keys = in[0].Keys
	if n.Kind == Except || n.Kind == Intersect {
		i.addKey(upTo(len(i.Inexact)))
	}
	if n.Kind == Except || n.Kind == ExceptAll {
		i.Output = Retract
	}
}

func deriveWindow(i *Info, n *Window, in *Info) {
	i.Output = Retract
	copy(i.Inexact, in.Inexact)
	copy(i.Arbitrary, in.Arbitrary)
	i.Keys = slices.Clone(in.Keys)
	i.Watermark, i.Floors = in.Watermark, in.Floors
	i.withinPartitions(n.Partition)
	unique := coversKey(n.Order, n.Partition, in.Keys, len(in.Inexact))
	var outer []Expr
	outer = appendOrder(append(outer, n.Partition...), n.Order)
	for f := range n.Funcs {
		c := len(in.Inexact) + f
		fn := &n.Funcs[f]
		for _, e := range append(fn.inputs(), outer...) {
			i.Inexact[c] = i.Inexact[c] || reads(e, in.Inexact)
			i.Arbitrary[c] = i.Arbitrary[c] || reads(e, in.Arbitrary)
		}
		i.Inexact[c] = i.Inexact[c] || fn.inexact()
		if fn.needsOrder() && !unique {
			i.Choice, i.Arbitrary[c] = true, true
		}
		if k, ok := refsOf(n.Partition); ok && fn.Name == "row_number" {
			i.addKey(append(k, c))
		}
	}
}
