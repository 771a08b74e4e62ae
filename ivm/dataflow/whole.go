package dataflow

import "github.com/vegadb/vega-flight/ivm/zset"

// Whole is a query over its only source whose rows are all that the graph gives; nil when there is none, or when it might mean something
// else. A graph with one keeps nothing, so it can be begun as if it had been loaded from no rows at all: see [Nothing].
func (g *Graph) Whole() *Summary {
	if len(g.sources) != 1 || g.last < 0 || len(g.marks) > 0 {
		return nil
	}
	for _, n := range g.nodes {
		if _, stateless := n.op.(*mapping); n.op != nil && !stateless {
			return nil
		}
	}
	last := g.nodes[g.last]
	if last.rows == nil {
		return nil
	}
	return &Summary{SQL: last.rows.selection(), Layout: last.out.Layout}
}

// Nothing is what a graph is begun from whose content was taken from its [Graph.Whole].
var Nothing Contents = nothing{}

type nothing struct{}

func (nothing) Rows(int, func(*zset.Batch) error) error { return nil }

func (nothing) Summary(*Summary, func(*zset.Batch) error) error { return nil }

func (nothing) Size(int) int64 { return 0 }

// Gathered says that a source, as Load counts them, is only taken in as sums for each key of a join: DuckDB makes them without the join.
func (g *Graph) Gathered(source int) bool {
	for i, n := range g.nodes {
		if n.op != nil {
			continue
		}
		if source > 0 {
			source--
			continue
		}
		op, _ := newLoading(g).summed(i)
		if s, ok := op.(*sharded); ok {
			_, joins := s.parts[0].(*keyJoin)
			return joins
		}
		_, joins := op.(*keyJoin)
		return joins
	}
	return false
}
