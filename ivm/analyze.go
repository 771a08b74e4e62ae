package ivm

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/vegadb/vega-flight/ivm/ddl"
	"github.com/vegadb/vega-flight/ivm/plan"
	"github.com/vegadb/vega-flight/ivm/stream"
)

// analyzed is an operator of a running view.
type analyzed struct {
	plan.Row
	in, out     int64
	busy        time.Duration
	keys, bytes int
	shards      []int
	ran         bool // an operator of the engine stands behind it
}

// analyzeTable is EXPLAIN STREAMING ANALYZE.
var analyzeTable = table[analyzed]{
	{"node_id", integer, true, func(a analyzed) any { return int64(a.NodeID) }, "The operator's number, as in EXPLAIN STREAMING; 0 gives the result."},
	{"parent_id", integer, false, func(a analyzed) any { return parent(a.Row) }, "The operator that reads it; NULL for the result."},
	{"operator", text, true, func(a analyzed) any { return a.Operator }, "What it is."},
	{"detail", text, false, func(a analyzed) any { return orNull(a.Detail) }, "What it does."},
	{"rows_in", integer, false, func(a analyzed) any { return a.figure(a.in) }, "Changes that it took in since this server began to run the view; NULL for operators that others do the work of."},
	{"rows_out", integer, false, func(a analyzed) any { return a.figure(a.out) }, "Changes that it gave."},
	{"busy_us", integer, false, func(a analyzed) any { return a.figure(a.busy.Microseconds()) }, "Time that it took for them, in microseconds; of the first content, none is counted."},
	{"state_kind", text, true, func(a analyzed) any { return a.StateKind }, "What it keeps."},
	{"state_keys", integer, false, func(a analyzed) any { return a.figure(int64(a.keys)) }, "Keys of its state that are in memory."},
	{"state_bytes", integer, false, func(a analyzed) any { return a.figure(int64(a.bytes)) }, "Memory of its state."},
	{"shards", integer, false, func(a analyzed) any { return a.figure(int64(max(len(a.shards), 1))) }, "Parts that its state is divided into."},
	{"skew", text, false, func(a analyzed) any { return a.skew() }, "Keys of the largest part, as a multiple of the mean; NULL with one part or without state."},
}

func (a analyzed) figure(n int64) any {
	if !a.ran {
		return nil
	}
	return n
}

func (a analyzed) skew() any {
	if len(a.shards) < 2 || a.keys == 0 {
		return nil
	}
	mean := float64(a.keys) / float64(len(a.shards))
	return strconv.FormatFloat(float64(slices.Max(a.shards))/mean, 'f', 2, 64)
}

// analyze tells what the operators of a running view have done.
func (e *Engine) analyze(ctx context.Context, c Caller, s *ddl.ExplainAnalyze) (Result, error) {
	v, err := e.controlled(ctx, c, target{s.Name, s.NameOffset, true}, s.Verb())
	if err != nil {
		return Result{}, err
	}
	a, err := e.c.Streams.Analyze(ctx, v.UUID)
	if err != nil {
		return Result{}, err
	}
	return analyzeTable.result(analysis(a)...), nil
}

// analysis puts the operators' figures to the nodes that they work for.
func analysis(a stream.Analysis) []analyzed {
	rows := a.Plan.Explain()
	out := make([]analyzed, len(rows))
	for i, r := range rows {
		out[i].Row = r
	}
	for _, n := range a.Nodes {
		if n.Plan < 0 || n.Plan >= len(out) {
			continue
		}
		x := &out[n.Plan]
		x.in, x.out, x.busy, x.ran = x.in+n.RowsIn, n.RowsOut, x.busy+n.Busy, true // of several, the last gives the result
		x.keys, x.bytes = x.keys+n.Keys, x.bytes+n.Bytes
		for i, k := range n.Shards {
			for len(x.shards) <= i {
				x.shards = append(x.shards, 0)
			}
			x.shards[i] += k
		}
	}
	return out
}
