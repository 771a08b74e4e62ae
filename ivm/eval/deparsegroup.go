package eval

import (
	"slices"
	"strings"

	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/ivm/plan"
	"github.com/vegadb/vega-flight/ivm/row"
)

// AggregateSQL is an aggregate function, in the type that carries its result.
func AggregateSQL(a plan.Agg) (string, error) {
	name, args := a.Name, a.Args
	var d deparser
	if name == "count_star" {
		d.put("count(*)")
	} else {
		rest, err := parameters(name, a.Params, a.Data)
		if err != nil {
			return "", err
		}
		d.call(a.Schema, name, a.Distinct, args, rest, false, a.Order)
	}
	if a.Filter != nil {
		d.put(" FILTER (WHERE ")
		d.expr(a.Filter)
		d.put(")")
	}
	return carried(d.String(), a.Type), nil
}

// WindowSQL is a window function over the partitions that the column partition tells apart. Rows that the order leaves
// equal stand in the order of the column place, where the function asks for one.
func WindowSQL(w *plan.Window, f plan.WindowFunc, partition, place string) (string, error) {
	var d deparser
	args := f.Args
	if f.Offset != nil {
		args = append(args[:len(args):len(args)], f.Offset)
	}
	if f.Default != nil {
		if f.Offset == nil {
			args = append(args[:len(args):len(args)], &plan.Constant{Typed: plan.Typed{Type: row.Type{Kind: row.Int64}, Pos: plan.NoPosition}, Value: int64(1)})
		}
		args = append(args, f.Default)
	}
	if f.Name == "count_star" {
		d.put("count(*)")
	} else {
		rest, err := parameters(f.Name, f.Params, f.Data)
		if err != nil {
			return "", err
		}
		d.call(f.Schema, f.Name, f.Distinct, args, rest, f.IgnoreNulls, f.ArgOrder)
	}
	if f.Filter != nil {
		d.put(" FILTER (WHERE ")
		d.expr(f.Filter)
		d.put(")")
	}
	d.put(" OVER (PARTITION BY ", partition)
	framed := !unframed[f.Name] || f.Aggregate
	order := w.Order
	if framed && f.Frame.Unit == plan.Range {
		order = rangeOrder(w.Order, f.Frame)
	}
	items := orderSQL(order)
	if byPlace(f) {
		items = append(items, place)
	}
	if len(items) > 0 {
		d.put(" ORDER BY ", strings.Join(items, ", "))
	}
	if framed {
		if err := d.frame(order, f.Frame); err != nil {
			return "", err
		}
	}
	d.put(")")
	return carried(d.String(), f.Type), nil
}

// unframed functions see the whole partition, whatever frame is written.
var unframed = map[string]bool{"row_number": true, "ntile": true, "lag": true, "lead": true, "rank": true, "dense_rank": true,
	"rank_dense": true, "percent_rank": true, "cume_dist": true, "fill": true}

// byPlace says that the function tells rows apart that the order does not. Its peers are of no meaning then.
func byPlace(f plan.WindowFunc) bool {
	switch f.Name {
	case "row_number", "ntile", "lag", "lead":
		return true
	}
	return !unframed[f.Name] && f.Frame.Unit == plan.Rows && f.Frame.Exclude != "GROUP" && f.Frame.Exclude != "TIES"
}

func (d *deparser) call(schema, name string, distinct bool, args []plan.Expr, rest []string, ignoreNulls bool, order []plan.OrderItem) {
	if schema != "" && schema != "main" {
		d.put(quoteName(schema), ".")
	}
	d.put(quoteName(name), "(")
	if distinct {
		d.put("DISTINCT ")
		args, order = orderedBy(args, order)
	}
	d.list(args, ", ")
	for i, r := range rest {
		if i > 0 || len(args) > 0 {
			d.put(", ")
		}
		d.put(r)
	}
	if items := orderSQL(order); len(items) > 0 {
		d.put(" ORDER BY ", strings.Join(items, ", "))
	}
	if ignoreNulls {
		d.put(" IGNORE NULLS")
	}
	d.put(")")
}

// orderedBy takes off casts of arguments, and normal forms of orders, where the two then are the same: a DISTINCT aggregate is ordered by its
// arguments alone, as they were before DuckDB put those on.
func orderedBy(args []plan.Expr, order []plan.OrderItem) ([]plan.Expr, []plan.OrderItem) {
	args, order = slices.Clone(args), slices.Clone(order)
	for i, a := range args {
		for k, o := range order {
			by := o.Expr
			if f, ok := by.(*plan.Function); ok && f.Name == "normalized_interval" && len(f.Args) == 1 {
				by = f.Args[0]
			}
			if plan.Same(bare(a), by) {
				args[i], order[k].Expr = by, by
			}
		}
	}
	return args, order
}

func orderSQL(items []plan.OrderItem) []string {
	out := make([]string, len(items))
	for i, o := range items {
		out[i] = Deparse(o.Expr) + " ASC"
		if o.Desc {
			out[i] = Deparse(o.Expr) + " DESC"
		}
		if o.NullsFirst {
			out[i] += " NULLS FIRST"
		} else {
			out[i] += " NULLS LAST"
		}
	}
	return out
}

// parameters are the constants behind a function's arguments.
func parameters(name string, params []*plan.Constant, data string) ([]string, error) {
	if data != "" {
		return nil, fault.NotYetSupported.Newf("the engine cannot evaluate %s: its arguments are bound in a way that is not known", name).WithHint("make a traditional view of the query")
	}
	out := make([]string, len(params))
	for i, p := range params {
		out[i] = p.SQL()
	}
	return out, nil
}
