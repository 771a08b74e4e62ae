package bind

import (
	"context"
	"fmt"

	"github.com/vegadb/vega-flight/ducklake/duck"
	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/ivm/eval"
	"github.com/vegadb/vega-flight/ivm/plan"
	"github.com/vegadb/vega-flight/ivm/row"
)

// evaluates is a plan.Evaluator: it lets DuckDB bind what the engine would have it evaluate.
type evaluates struct {
	ctx  context.Context // of one plan
	conn *duck.Conn
}

func (v evaluates) Expressions(es []plan.Expr) error {
	sql, types, err := eval.Probe(es)
	if err != nil {
		return err
	}
	return v.binds(sql, types)
}

func (v evaluates) Aggregate(a plan.Agg) error {
	sql, t, err := eval.ProbeAggregate(a)
	if err != nil {
		return err
	}
	return v.binds(sql, []row.Type{t})
}

func (v evaluates) Window(w *plan.Window, f plan.WindowFunc) error {
	sql, t, err := eval.ProbeWindow(w, f)
	if err != nil {
		return err
	}
	return v.binds(sql, []row.Type{t})
}

func again(why string) error {
	return fault.NotYetSupported.Newf("the expression cannot be evaluated again: %s", why).WithHint("make a traditional view of the query")
}

// binds says why DuckDB does not bind a query with these types.
func (v evaluates) binds(sql string, types []row.Type) error {
	s, err := v.conn.Prepare(v.ctx, sql)
	if err != nil {
		return again(err.Error())
	}
	columns := s.Columns()
	if err := s.Close(); err != nil {
		return err
	}
	for i, c := range columns {
		if i < len(types) && !eval.Means(c.Type, types[i]) {
			return again(fmt.Sprintf("it was bound as %s and would be %s", types[i], c.Type))
		}
	}
	return nil
}
