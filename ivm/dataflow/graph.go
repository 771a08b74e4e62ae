package dataflow

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/vegadb/vega-flight/ivm/row"
	"github.com/vegadb/vega-flight/ivm/zset"
)

// Graph is operators in topological order. It is used by one goroutine at a time.
type Graph struct {
	nodes   []*node
	sources []int // node of each source
	last    int
	errors  *errorSet
	stepped bool
	now     int64
	broken  error
	marks   []*Watermark

	programs []io.Closer // what ends with the graph
}

type node struct {
	op   Operator // nil for a source
	name string
	in   []int
	out  *zset.Batch // of the current step
	own  *zset.Batch // of a source: what out is when no delta is given
	ins  []*zset.Batch

	rows   *relation // what it gives, if a query over one source gives the same
	plan   int       // id of the plan's node that it works for, or -1
	tables []shardTable
	count  counts
}

// NewGraph makes an empty graph, which remembers in memory.
func NewGraph() *Graph { return &Graph{errors: newErrorSet(), last: -1} }

// OpenGraph makes an empty graph that goes on where the tables are: a graph that has stepped before does not make its first
// step again.
func OpenGraph(t Tables) (*Graph, error) {
	g := &Graph{last: -1}
	var err error
	if g.errors, err = openErrorSet(t); err != nil {
		return nil, err
	}
	g.now, g.stepped = g.errors.clock()
	return g, nil
}

// Stepped says that the graph has content: it has stepped, been loaded or gone on from a checkpoint.
func (g *Graph) Stepped() bool { return g.stepped }

// Source adds an input, whose deltas are given to Step in the order in which sources were added. It returns the node's number.
func (g *Graph) Source(name string, layout *row.Layout) int {
	g.nodes = append(g.nodes, &node{name: name, out: zset.New(layout), plan: -1})
	id := len(g.nodes) - 1
	g.sources = append(g.sources, id)
	g.last = id
	return id
}

// Add adds an operator whose inputs are the outputs of nodes that were added before. Several may read one node.
func (g *Graph) Add(name string, op Operator, in ...int) int {
	n := &node{op: op, name: name, in: in, out: zset.New(op.Layout()), ins: make([]*zset.Batch, len(in)), plan: -1}
	for i, from := range in {
		n.ins[i] = g.nodes[from].out
	}
	g.nodes = append(g.nodes, n)
	g.last = len(g.nodes) - 1
	return g.last
}

// Layout is that of the output.
func (g *Graph) Layout() *row.Layout { return g.nodes[g.last].out.Layout }

// Errors are the rows and groups that have no value now.
func (g *Graph) Errors() []RowError { return g.errors.list() }

// Node is an operator's name.
func (g *Graph) Node(i int) string { return g.nodes[i].name }

// Step takes one epoch's change of each source and gives the change of the output, consolidated; it is valid until the next
// Step. now is the logical clock. After an error the state is not to be trusted: the graph refuses further steps.
func (g *Graph) Step(ctx context.Context, now int64, deltas ...*zset.Batch) (*zset.Batch, error) {
	if g.broken != nil {
		return nil, g.broken
	}
	if len(deltas) != len(g.sources) {
		return nil, fmt.Errorf("dataflow: %d deltas for %d sources", len(deltas), len(g.sources))
	}
	g.now = max(g.now, now)
	e := &Epoch{Now: g.now, First: !g.stepped, errors: g.errors}
	for i, d := range deltas {
		g.nodes[g.sources[i]].show(d, g.sources[i] == g.last)
	}
	defer g.hide()
	for i, n := range g.nodes {
		if n.op == nil {
			continue
		}
		n.out.Reset()
		if !e.First && !n.due(e.Now) {
			continue
		}
		e.node = i
		began := time.Now()
		if err := n.op.Step(ctx, e, n.ins, n.out); err != nil {
			g.broken = fmt.Errorf("%s: %w", n.name, err)
			return nil, g.broken
		}
		n.counted(began)
		if n.op.Cancels() || i == g.last {
			n.out.Consolidate()
		}
	}
	g.done()
	if g.nodes[g.last].op == nil {
		g.nodes[g.last].out.Consolidate()
	}
	return g.nodes[g.last].out, nil
}

// done notes that a step or load is over.
func (g *Graph) done() {
	g.stepped = true
	g.errors.setClock(g.now)
}

// show makes a source's output the given delta: operators do not change what they are given, so it is not copied unless it
// is the graph's output.
func (n *node) show(d *zset.Batch, copied bool) {
	if n.own == nil {
		n.own = zset.New(n.out.Layout)
	}
	switch {
	case copied:
		n.out.Reset()
		if d != nil {
			n.out.AppendBatch(d)
		}
	case d == nil || d.Len() == 0:
		*n.out = *n.own
	default:
		*n.out = zset.Batch{Layout: n.out.Layout, Words: d.Words, Weights: d.Weights, Heap: d.Heap}
	}
}

// hide forgets the given deltas, which are their owners'.
func (g *Graph) hide() {
	for _, i := range g.sources {
		if n := g.nodes[i]; i != g.last {
			*n.out = *n.own
		}
	}
}

// due says that a step would change something.
func (n *node) due(now int64) bool {
	for _, b := range n.ins {
		if b.Len() > 0 {
			return true
		}
	}
	t, ok := n.op.(Timed)
	return ok && t.Due(now)
}

// Timed says that the output may change with the clock alone.
func (g *Graph) Timed() bool {
	return slices.ContainsFunc(g.nodes, func(n *node) bool { _, ok := n.op.(Timed); return ok })
}

// Due says that a step at this clock would change the output although no source changes.
func (g *Graph) Due(now int64) bool {
	return slices.ContainsFunc(g.nodes, func(n *node) bool {
		t, ok := n.op.(Timed)
		return ok && t.Due(now)
	})
}

// keep closes x, if it can be closed, with the graph.
func (g *Graph) keep(x any) {
	if c, ok := x.(io.Closer); ok {
		g.programs = append(g.programs, c)
	}
}

// Close ends the programs of the graph. Its tables are their store's.
func (g *Graph) Close() error {
	var errs []error
	for _, p := range g.programs {
		errs = append(errs, p.Close())
	}
	g.programs = nil
	return errors.Join(errs...)
}
