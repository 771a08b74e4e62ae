package plan

import (
	"fmt"
	"strings"
)

// StateKind is what a node keeps.
type StateKind uint8

// The kinds of state.
const (
	Stateless         StateKind = iota
	JoinSides                   // the rows of both inputs by the join's key
	MatchCounts                 // the left rows, and how many right rows there are of a key
	LinearGroups                // numbers by group
	OrderedGroups               // and each group's values in order
	ReevaluatedGroups           // and each group's arguments, from which DuckDB evaluates it again
	RowCounts                   // how often each row is there
	OrderedPartitions           // each partition's rows in order
	ClockQueue                  // rows in the order in which the clock lets them in or out
)

var stateNames = [...]string{"none", "join_sides", "match_counts", "groups", "ordered_groups", "reevaluated_groups", "row_counts",
	"ordered_partitions", "clock_queue"}

func (k StateKind) String() string { return stateNames[k] }

// stateOf says what the node keeps and how much at most.
func (i *Info) stateOf(in []*Info) {
	rows := func(c int) string { return fmt.Sprintf("rows(#%d)", in[c].ID) }
	switch n := i.Node.(type) {
	case *Join:
		i.State, i.StateBound = JoinSides, rows(0)+" + "+rows(1)
		if n.Kind == Semi || n.Kind == Anti || n.Kind == Mark {
			i.State, i.StateBound = MatchCounts, rows(0)+" + keys(#"+fmt.Sprint(in[1].ID)+")"
			if n.Residual != nil || hasInequality(n) {
				i.State, i.StateBound = JoinSides, rows(0)+" + "+rows(1)
			}
		}
		for _, c := range n.Conditions {
			if c.Op == Equal || c.Op == NotDistinct {
				i.Partition = append(i.Partition, c.Left)
			}
		}
	case *Aggregate:
		i.State = LinearGroups
		for a := range n.Aggs {
			i.State = max(i.State, n.Aggs[a].Native())
		}
		i.StateBound = fmt.Sprintf("groups(#%d)", i.ID)
		if len(n.Groups) == 0 {
			i.StateBound, i.Bounded = "1 group", i.State == LinearGroups
		}
		if sets := len(n.Sets); sets > 1 {
			i.StateBound += fmt.Sprintf(" of %d sets", sets)
		}
		if i.State != LinearGroups {
			i.StateBound += " + " + rows(0)
		}
		if n.Sets == nil {
			i.Partition = n.Groups
		}
		i.Windowed = i.Watermark >= 0
	case *DistinctRows:
		i.State, i.StateBound = RowCounts, "distinct "+rows(0)
		i.Partition = allRefs(n.Columns())
		i.Windowed = i.Watermark >= 0
	case *SetOp:
		if n.Kind != UnionAll {
			i.State, i.StateBound = RowCounts, "distinct "+rows(0)+" + distinct "+rows(1)
			i.Partition = allRefs(n.Columns())
		}
	case *TopK:
		i.State, i.StateBound = OrderedPartitions, rows(0)
		if in[0].Output == Append && n.Limit >= 0 && !n.WithTies {
			k := sizeText(n.Limit + n.Offset)
			i.Bounded = len(n.Partition) == 0
			if i.StateBound = k + " rows"; !i.Bounded {
				i.StateBound = fmt.Sprintf("%s × partitions(#%d)", k, i.ID)
			}
		}
		i.Partition = n.Partition
	case *Window:
		i.State, i.StateBound = OrderedPartitions, rows(0)
		i.Partition = n.Partition
	case *Temporal:
		i.State, i.StateBound = ClockQueue, rows(0)
		for _, b := range n.Bounds {
			// row > clock: the row falls out one day and, with a clock that never goes back, is forgotten then.
			if b.Monotone && (b.Op == Greater || b.Op == GreaterEqual) {
				i.StateBound, i.Bounded = rows(0)+" that are not past", true
			}
		}
	}
	if i.State != Stateless && (i.Windowed || i.KeyClosing != nil || i.Closings[0] != nil && i.Closings[1] != nil) {
		i.StateBound, i.Bounded = i.StateBound+" not before the watermark", true
	}
}

func hasInequality(n *Join) bool {
	for _, c := range n.Conditions {
		if c.Op != Equal && c.Op != NotDistinct {
			return true
		}
	}
	return false
}

// partitioning is how the node's work may be shared out.
func (i *Info) partitioning() string {
	switch {
	case i.State == Stateless || i.State == ClockQueue:
		return "any"
	case len(i.Partition) == 0:
		return "single"
	}
	cols := i.Node.Inputs()[0].Columns()
	parts := make([]string, len(i.Partition))
	for k, e := range i.Partition {
		parts[k] = nameText(e, cols)
	}
	return "hash(" + strings.Join(parts, ", ") + ")"
}

// nameText is an expression with columns by their names alone.
func nameText(e Expr, cols []Column) string {
	if r, ok := e.(*ColumnRef); ok && r.Index < len(cols) && cols[r.Index].Name != "" {
		return cols[r.Index].Name
	}
	var b strings.Builder
	exprText(&b, e, cols)
	return b.String()
}
