package plan

import (
	"errors"

	"github.com/vegadb/vega-flight/fault"
)

// Evaluator says whether what the engine leaves to DuckDB can be written as SQL again that DuckDB binds as it did. An error
// says why not.
type Evaluator interface {
	Expressions(es []Expr) error // over the same rows
	Aggregate(a Agg) error
	Window(w *Window, f WindowFunc) error
}

// refuseUnevaluated finds what is bound in a way that cannot be written.
func (i *Info) refuseUnevaluated(v Evaluator) {
	unknown := func(err error, pos int) {
		message, hint := err.Error(), ""
		if f := new(fault.Error); errors.As(err, &f) {
			message, hint = f.Message, f.Hint
		}
		i.refuse(Reason{UnknownExpression, pos, message, hint})
	}
	check := func(es []Expr) {
		var some []Expr
		for _, e := range es {
			switch e.(type) {
			case nil, *ColumnRef:
			default:
				some = append(some, e)
			}
		}
		if len(some) == 0 || v.Expressions(some) == nil {
			return
		}
		for _, e := range some {
			if err := v.Expressions([]Expr{e}); err != nil {
				unknown(err, e.Position())
			}
		}
	}
	switch n := i.Node.(type) {
	case *Join:
		var left, right []Expr
		for _, c := range n.Conditions {
			left, right = append(left, c.Left), append(right, c.Right)
		}
		check(left)
		check(right)
		check([]Expr{n.Residual})
	case *Window:
		check(append(append([]Expr{}, n.Partition...), appendOrder(nil, n.Order)...))
		for k := range n.Funcs {
			if err := v.Window(n, n.Funcs[k]); err != nil {
				unknown(err, n.Funcs[k].Pos)
			}
		}
	case *Temporal:
		check(n.exprs())
		for _, b := range n.Bounds {
			check([]Expr{b.At})
		}
	default:
		check(n.exprs())
		if a, ok := n.(*Aggregate); ok {
			for k := range a.Aggs {
				if err := v.Aggregate(a.Aggs[k]); err != nil {
					unknown(err, a.Aggs[k].Pos)
				}
			}
		}
	}
}
