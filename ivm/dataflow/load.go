package dataflow

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/vegadb/vega-flight/ivm/zset"
)

// loadRows is how many rows of a source are taken at once, so that what is computed of them stays in the cache.
const loadRows = 1 << 16

// Load makes the state of a new graph from the whole content of its sources, without the changes in between, and gives the
// content of the output. read(i) gives the content of source i, in batches that it may reuse; it is called once for each
// source that is read. The state is the one that a first Step with the same rows would leave.
//
// An operator with state is loaded with what its inputs' operators emit, not with what a query over the sources would give:
// sums of floats and choices among ties may differ from query to query, and the first retraction would name a row that is not there.
func (g *Graph) Load(ctx context.Context, now int64, read func(i int, take func(*zset.Batch) error) error) (*zset.Batch, error) {
	out, err := g.LoadFrom(ctx, now, rowsOnly(read))
	if err == nil {
		out.Consolidate()
	}
	return out, err
}

// LoadTo is LoadFrom that gives the content of the output away in parts, each of which is valid until take returns: nobody has all of it in
// memory at once.
func (g *Graph) LoadTo(ctx context.Context, now int64, from Contents, take func(*zset.Batch) error) error {
	_, err := g.load(ctx, now, from, take)
	return err
}

// LoadFrom is Load from contents that can also be summarised, so that an aggregation over one source need not read all its rows.
// Equal rows of the output may come several times, each with its weight.
func (g *Graph) LoadFrom(ctx context.Context, now int64, from Contents) (*zset.Batch, error) {
	return g.load(ctx, now, from, nil)
}

func (g *Graph) load(ctx context.Context, now int64, from Contents, take func(*zset.Batch) error) (*zset.Batch, error) {
	if g.stepped {
		return nil, fmt.Errorf("dataflow: a graph that has stepped cannot be loaded")
	}
	if g.broken != nil {
		return nil, g.broken
	}
	g.now = max(g.now, now)
	l := newLoading(g)
	l.take = take
	l.epoch = &Epoch{Now: g.now, First: true, errors: g.errors}
	for _, n := range g.nodes {
		n.out.Reset()
	}
	if err := l.run(ctx, from); err != nil {
		g.broken = err
		return nil, err
	}
	g.done()
	out := g.nodes[g.last].out
	return out, nil
}

// loading is one Load. Content flows from the sources through what has no state at once; what has state takes it, and
// emits when all that is before it in the graph has been loaded.
type loading struct {
	graph   *Graph
	epoch   *Epoch
	readers [][]port                // of each node
	take    func(*zset.Batch) error // of the output; nil: it is kept
}

func newLoading(g *Graph) *loading {
	l := &loading{graph: g, readers: make([][]port, len(g.nodes))}
	for i, n := range g.nodes {
		for k, from := range n.in {
			l.readers[from] = append(l.readers[from], port{i, k})
		}
	}
	return l
}

// port is an input of a node.
type port struct{ node, input int }

func (l *loading) run(ctx context.Context, from Contents) error {
	source := 0
	for i, n := range l.graph.nodes {
		if err := ctx.Err(); err != nil {
			return err
		}
		if n.op == nil {
			at := source
			source++
			done, err := l.summarise(ctx, i, at, from)
			if err == nil && !done {
				done, err = l.relate(ctx, i, at, from)
			}
			if err == nil && !done {
				err = from.Rows(at, func(b *zset.Batch) error { return l.give(ctx, i, b) })
			}
			if err != nil {
				return fmt.Errorf("%s: %w", n.name, err)
			}
			continue
		}
		op, ok := n.op.(Loader)
		if !ok {
			continue
		}
		if err := l.emit(ctx, i, op); err != nil {
			return err
		}
	}
	return nil
}

// emit gives an operator's content to its readers, in parts. What is kept of the output is put in place at once.
func (l *loading) emit(ctx context.Context, i int, op Loader) error {
	e := *l.epoch
	e.node = i
	out := zset.New(op.Layout())
	kept := i == l.graph.last && l.take == nil
	if kept {
		out = l.graph.nodes[i].out
	} else {
		var turn sync.Mutex // shards give side by side
		e.full = func(part *zset.Batch) error {
			turn.Lock()
			defer turn.Unlock()
			return l.give(ctx, i, part)
		}
	}
	if err := op.Emit(ctx, &e, out); err != nil {
		return fmt.Errorf("%s: %w", l.graph.nodes[i].name, err)
	}
	if kept {
		return nil
	}
	return l.give(ctx, i, out)
}

// give hands rows of a node to all that read it.
func (l *loading) give(ctx context.Context, node int, rows *zset.Batch) error {
	if rows.Len() == 0 {
		return nil
	}
	if node == l.graph.last && l.take != nil {
		return l.take(rows)
	}
	if node == l.graph.last {
		out := l.graph.nodes[node].out
		if len(out.Words)+len(rows.Words) > cap(out.Words) {
			out.Words = slices.Grow(out.Words, len(out.Words)+len(rows.Words))
			out.Weights = slices.Grow(out.Weights, len(out.Weights)+len(rows.Weights))
		}
		out.AppendBatch(rows)
	}
	for _, p := range l.readers[node] {
		n := l.graph.nodes[p.node]
		l.epoch.node = p.node
		if op, ok := n.op.(Loader); ok {
			if err := op.Load(ctx, l.epoch, p.input, rows); err != nil {
				return fmt.Errorf("%s: %w", n.name, err)
			}
			continue
		}
		if err := l.pass(ctx, p, rows); err != nil {
			return err
		}
	}
	return nil
}

// pass lets rows through an operator without state, some at a time.
func (l *loading) pass(ctx context.Context, p port, rows *zset.Batch) error {
	n := l.graph.nodes[p.node]
	ins := make([]*zset.Batch, len(n.ins))
	for i := range ins {
		ins[i] = zset.New(l.graph.nodes[n.in[i]].out.Layout)
	}
	out := zset.New(n.op.Layout())
	width := rows.Layout.Words
	for from := 0; from < rows.Len(); from += loadRows {
		to := min(from+loadRows, rows.Len())
		ins[p.input] = &zset.Batch{Layout: rows.Layout, Heap: rows.Heap, Words: rows.Words[from*width : to*width], Weights: rows.Weights[from:to]}
		out.Reset()
		l.epoch.node = p.node
		if err := n.op.Step(ctx, l.epoch, ins, out); err != nil {
			return fmt.Errorf("%s: %w", n.name, err)
		}
		if err := l.give(ctx, p.node, out); err != nil {
			return err
		}
	}
	return nil
}
