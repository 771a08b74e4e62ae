package dataflow

import (
	"strings"

	"github.com/vegadb/vega-flight/ivm/eval"
	"github.com/vegadb/vega-flight/ivm/plan"
	"github.com/vegadb/vega-flight/ivm/row"
)

// fromSource says how the fields that an aggregation wants of its input come from one source, so that DuckDB can be asked for sums
// over the source itself; nil where they do not, or where that might mean something else than it does row by row.
func (b *builder) fromSource(n plan.Node, p *prepared) *fromSource {
	columns, preds := b.overSource(n)
	if columns == nil {
		return nil
	}
	for _, e := range preds { // which of them a bad row fails in must not matter
		if !plain(e, len(preds) == 1) {
			return nil
		}
	}
	out := &fromSource{fields: make([]string, len(p.exprs)), sure: true}
	for _, e := range preds {
		out.sure = out.sure && plain(e, false)
	}
	for i, e := range p.exprs {
		c, ok := e.(*plan.ColumnRef)
		if !ok {
			continue
		}
		if e = plan.Substitute(p.columns[c.Index], columns); plain(e, true) {
			out.fields[i] = eval.Deparse(e)
			out.sure = out.sure && (isColumn(e) || plain(e, false))
		}
	}
	if len(preds) > 0 {
		conditions := make([]string, len(preds))
		for i, e := range preds {
			conditions[i] = "(" + eval.Deparse(e) + ")"
		}
		out.where = strings.Join(conditions, " AND ")
	}
	return out
}

// relation is a node's rows as a query over its source; nil where there is none, or where it might mean something else.
func (b *builder) relation(n plan.Node) *relation {
	columns, preds := b.overSource(n)
	if columns == nil {
		return nil
	}
	r := &relation{columns: make([]string, len(columns)), sure: true, certain: true}
	for i, e := range columns {
		if !isColumn(e) && !plain(e, true) {
			return nil
		}
		r.certain = r.certain && (isColumn(e) || plain(e, false))
		r.columns[i] = eval.Deparse(e)
	}
	conditions := make([]string, len(preds))
	for i, e := range preds {
		if !plain(e, len(preds) == 1) {
			return nil
		}
		r.sure = r.sure && plain(e, false)
		conditions[i] = "(" + eval.Deparse(e) + ")"
	}
	r.where = strings.Join(conditions, " AND ")
	return r
}

// relation is the source itself.
func (in Input) relation() *relation {
	if in.Position {
		return nil
	}
	r := &relation{columns: make([]string, len(in.Fields)), sure: true, certain: true}
	for i, f := range in.Fields {
		r.columns[i] = eval.Deparse(columnRef(i, f.Type))
	}
	return r
}

func isColumn(e plan.Expr) bool {
	_, ok := e.(*plan.ColumnRef)
	return ok
}

// overSource gives a node's columns, and what its rows must satisfy, as expressions over the fields of one source.
func (b *builder) overSource(n plan.Node) (columns, preds []plan.Expr) {
	switch n := n.(type) {
	case *plan.Scan:
		in := b.list[b.inputs[n.Source]]
		if in.Position {
			return nil, nil
		}
		columns = make([]plan.Expr, len(n.Fields))
		for i, f := range n.Fields {
			for j, c := range in.Fields {
				if c.Name == f.Name {
					columns[i] = columnRef(j, c.Type)
				}
			}
		}
		return columns, nil
	case *plan.Filter:
		columns, preds = b.overSource(n.Input)
		for _, e := range columns {
			if !isColumn(e) && !plain(e, false) { // it may fail for rows that do not pass
				return nil, nil
			}
		}
		if columns == nil {
			return nil, nil
		}
		for _, e := range plan.Conjuncts(n.Pred) {
			preds = append(preds, plan.Substitute(e, columns))
		}
		return columns, preds
	case *plan.Project:
		in, preds := b.overSource(n.Input)
		if in == nil {
			return nil, nil
		}
		columns = make([]plan.Expr, len(n.Exprs))
		for i, e := range n.Exprs {
			columns[i] = plan.Substitute(e, in)
			if !isColumn(columns[i]) && !plain(columns[i], true) {
				return nil, nil
			}
		}
		return columns, preds
	}
	return nil, nil
}

// plain says that an expression means the same in any session, and, unless it may fail, that it never fails: columns, constants,
// comparisons and logic, and with failing, arithmetic.
func plain(e plan.Expr, failing bool) bool {
	return plan.Walk(e, func(e plan.Expr) bool {
		switch t := e.Result(); {
		case t.Kind == row.TimestampTZ || t.Kind == row.TimeTZ || t.Kind == row.Float || t.Kind == row.Double || t.Nested() || t.Collation != "":
			return false
		}
		switch e := e.(type) {
		case *plan.ColumnRef, *plan.Constant, *plan.Comparison, *plan.Conjunction, *plan.Not, *plan.IsNull:
			return true
		case *plan.Function:
			return failing && e.Operator && e.Result().Kind != row.Varchar
		case *plan.Cast:
			return failing && !e.Try && integral(e.Result()) && integral(e.Child.Result())
		}
		return false
	})
}
