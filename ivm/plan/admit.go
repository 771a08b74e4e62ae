package plan

import (
	"fmt"
	"slices"

	"github.com/vegadb/vega-flight/ivm/row"
)

// admit finds every reason why the plan cannot be maintained.
func (p *Plan) admit(in *Input) {
	for _, i := range p.Nodes {
		i.refuseNode()
		i.refuseExprs()
		i.refuseUnbounded(p)
		if in.Evaluator != nil && len(i.Reasons) == 0 {
			i.refuseUnevaluated(in.Evaluator)
		}
	}
	if in.Keeps != nil {
		root := p.Nodes[0]
		for _, c := range p.Root.Columns() {
			if why, hint := in.Keeps(c.Type); why != "" {
				root.refuse(Reason{UnstableType, NoPosition, fmt.Sprintf("column %q has the type %s: %s", c.Name, c.Type, why), hint})
			}
		}
	}
	p.Nodes[0].Reasons = append(p.Nodes[0].Reasons, in.Reasons...)
	for _, i := range p.Nodes {
		for k := range i.Reasons {
			i.Reasons[k].place(in.SQL)
		}
		for _, r := range i.Reasons {
			if !slices.Contains(p.Reasons, r) {
				p.Reasons = append(p.Reasons, r)
			}
		}
	}
	slices.SortStableFunc(p.Reasons, func(a, b Reason) int { return order(a.Position) - order(b.Position) })
}

// order puts what has no place last.
func order(pos int) int {
	if pos == NoPosition {
		return 1 << 30
	}
	return pos
}

func (i *Info) refuse(r Reason) {
	for _, have := range i.Reasons {
		if have.Code == r.Code && have.Message == r.Message {
			return
		}
	}
	i.Reasons = append(i.Reasons, r)
}

// refuseNode finds what the operator itself cannot do.
func (i *Info) refuseNode() {
	switch n := i.Node.(type) {
	case *Unsupported:
		for _, r := range n.Reasons {
			i.refuse(r)
		}
	case *Aggregate:
		for k := range n.Aggs {
			a := &n.Aggs[k]
			switch {
			case approximateAggregates[a.Name]:
				i.refuse(Reason{ApproximateResult, a.Pos, a.Name + " gives another value when the same rows come in another order", "use its exact form"})
			case a.Name == "bitstring_agg" && len(a.Params) == 0:
				i.refuse(Reason{ApproximateResult, a.Pos, "bitstring_agg takes its range from statistics of the table",
					"give the least and the greatest value: bitstring_agg(x, least, greatest)"})
			case orderedAggregates[a.Name] && len(a.Order) == 0 && !a.Internal && !singleValue(a, n):
				i.refuse(Reason{NoTotalOrder, a.Pos, a.Name + " depends on the order of rows", "write ORDER BY inside its parentheses"})
			}
		}
	case *Temporal:
		for _, b := range n.Bounds {
			if t := b.Row.Result(); !followsClock(t) {
				i.refuse(Reason{ClockOutsideFilter, b.Row.Position(), "rows are not kept in the order of a " + t.String() + " that is compared with the clock",
					"compare a DATE, a TIMESTAMP or a number of at most 64 bits with it"})
			}
		}
	case *Window:
		for k := range n.Funcs {
			f := &n.Funcs[k]
			switch {
			case f.Name == "bitstring_agg" && len(f.Params) == 0:
				i.refuse(Reason{ApproximateResult, f.Pos, "bitstring_agg takes its range from statistics of the table",
					"give the least and the greatest value: bitstring_agg(x, least, greatest)"})
			case approximateAggregates[f.Name]:
				i.refuse(Reason{ApproximateResult, f.Pos, f.Name + " gives another value when the same rows come in another order", "use its exact form"})
			case f.needsOrder() && len(n.Order) == 0:
				i.refuse(Reason{NoTotalOrder, f.Pos, f.Name + " depends on the order of rows in the window", "write ORDER BY in its OVER clause"})
			}
		}
	}
}

// followsClock says that rows can be kept in the order of a value of the type.
func followsClock(t row.Type) bool {
	switch t.Kind {
	case row.Bool, row.Date, row.Time, row.TimeNS, row.Timestamp, row.TimestampS, row.TimestampMS, row.TimestampNS, row.TimestampTZ, row.Float, row.Double:
		return true
	case row.Decimal:
		return t.Words() == 1
	}
	return t.Kind >= row.Int8 && t.Kind <= row.Uint64
}

// singleValue says that all rows of a group agree in the aggregate's argument: it is grouped by.
func singleValue(a *Agg, n *Aggregate) bool {
	if len(a.Args) != 1 || a.Name != "first" && a.Name != "last" && a.Name != "arbitrary" {
		return false
	}
	if _, constant := a.Args[0].(*Constant); constant {
		return true
	}
	return n.Sets == nil && slices.ContainsFunc(n.Groups, func(g Expr) bool { return Same(g, a.Args[0]) })
}

// refuseExprs finds what an expression cannot be.
func (i *Info) refuseExprs() {
	for _, e := range i.Node.exprs() {
		Walk(e, func(e Expr) bool {
			switch e := e.(type) {
			case *Refused:
				i.refuse(e.Reason)
			case *Clock:
				i.refuse(Reason{ClockOutsideFilter, e.Pos, "the time of the day changes the result without any change of a source",
					"compare a column with it in WHERE or HAVING, as in: ts > now() - INTERVAL 1 hour"})
			case *Function:
				if e.Volatile {
					i.refuse(Reason{VolatileFunction, e.Pos, e.Name + " may give another value each time", ""})
				}
			}
			return true
		})
	}
}

// refuseUnbounded refuses state that grows for ever: the past of a stream is kept nowhere else.
func (i *Info) refuseUnbounded(p *Plan) {
	if i.State == Stateless || i.Bounded {
		return
	}
	var stream *Source
	seen := map[Node]bool{}
	var look func(n Node)
	look = func(n Node) {
		if seen[n] {
			return
		}
		seen[n] = true
		if s, ok := n.(*Scan); ok && s.Source.Unbounded {
			stream = s.Source
		}
		if other := p.infos[n]; other != i && other.lasting() {
			return
		}
		for _, c := range n.Inputs() {
			look(c)
		}
	}
	look(i.Node)
	if stream != nil {
		i.refuse(Reason{UnboundedState, NoPosition, fmt.Sprintf("the %s would keep %s of the stream %s for ever", i.Operator, i.StateBound, stream),
			"group by time_bucket of its watermark column, or filter it by now()"})
	}
}

// lasting says that what the node gives at any time is bounded, even when its input has no end.
func (i *Info) lasting() bool {
	switch n := i.Node.(type) {
	case *Aggregate:
		return len(n.Groups) == 0
	case *TopK, *Temporal:
		return i.Bounded
	}
	return false
}
