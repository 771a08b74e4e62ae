package ivm

import (
	"context"

	"github.com/vegadb/vega-flight/ivm/ddl"
	"github.com/vegadb/vega-flight/ivm/plan"
	"github.com/vegadb/vega-flight/ivm/refresh"
)

// explain says how a query would be maintained as a streaming view, or why it would not.
func (e *Engine) explain(ctx context.Context, c Caller, s *ddl.ExplainStreaming) (Result, error) {
	p, _, err := e.stream(ctx, c, s.Query, s.QueryOffset, nil)
	if err != nil {
		return Result{}, err
	}
	switch s.Format {
	case ddl.ExplainText:
		return explanationTable.result(p.ExplainText()), nil
	case ddl.ExplainJSON:
		return explanationTable.result(p.JSON()), nil
	}
	return explainTable.result(p.Explain()...), nil
}

// stream plans and binds a query that stands in a statement from offset on; positions are those in the statement.
func (e *Engine) stream(ctx context.Context, c Caller, query string, offset int, o ddl.Options) (*plan.Plan, refresh.Bound, error) {
	p, bound, err := e.c.Binder.Stream(ctx, c.Session, query, o)
	if err != nil {
		return nil, bound, shift(err, offset)
	}
	p.Shift(offset)
	return p, bound, nil
}

// explainTable is EXPLAIN STREAMING.
var explainTable = table[plan.Row]{
	{"node_id", integer, true, func(r plan.Row) any { return int64(r.NodeID) }, "The operator's number; 0 gives the result."},
	{"parent_id", integer, false, func(r plan.Row) any { return parent(r) }, "The operator that reads it; of a shared one, the first that does. NULL for the result."},
	{"operator", text, true, func(r plan.Row) any { return r.Operator }, "What it is: `scan`, `filter`, `temporal`, `project`, `join`, `aggregate`, `distinct`, `union_all`, `except`, `intersect`, `topk`, `window`, `unnest`, `values`, `shared` or `unsupported`."},
	{"detail", text, false, func(r plan.Row) any { return orNull(r.Detail) }, "What it does. `#n name` is a column of its input. Of a shared one, its name (of a CTE, or `subquery`) and all that read it: `subquery for #2, #6`."},
	{"input_mode", text, true, func(r plan.Row) any { return r.InputMode }, "Changes it takes: `append` (rows come and stay), `retract` (rows come and go), `upsert` (likewise, at most one row of a key)."},
	{"output_mode", text, true, func(r plan.Row) any { return r.OutputMode }, "Changes it gives, likewise."},
	{"key", text, true, func(r plan.Row) any { return r.Key }, "The columns that tell its rows apart, `row` for all of them with a count, `()` when there is at most one row."},
	{"state_kind", text, true, func(r plan.Row) any { return r.StateKind }, "What it keeps: `none`, `join_sides`, `match_counts`, `groups`, `ordered_groups`, `reevaluated_groups`, `row_counts`, `ordered_partitions` or `clock_queue`."},
	{"state_bound", text, false, func(r plan.Row) any { return orNull(r.StateBound) }, "How much that is at most, by rows, keys and groups of operators `#n`."},
	{"watermark", text, false, func(r plan.Row) any { return orNull(r.Watermark) }, "The output column that the watermark follows, and its delay."},
	{"window_or_ttl", text, false, func(r plan.Row) any { return orNull(r.WindowOrTTL) }, "What lets state go: an event-time window, or a comparison with the clock."},
	{"partitioning", text, true, func(r plan.Row) any { return r.Partitioning }, "How its work is shared out: `any`, `hash(…)`, or `single`."},
	{"admitted", boolean, true, func(r plan.Row) any { return r.Admitted }, "Whether it can be maintained. The query can when all its operators can."},
	{"reason", text, false, func(r plan.Row) any { return orNull(r.Reason) }, "Every reason why not, one a line: a stable name, the place in the statement, what and what to do."},
}

func parent(r plan.Row) any {
	if r.ParentID < 0 {
		return nil
	}
	return int64(r.ParentID)
}

// explanationTable is EXPLAIN STREAMING as one text.
var explanationTable = table[string]{
	{"plan", text, true, func(s string) any { return s }, "All of it, as text for people or as a JSON object."},
}
