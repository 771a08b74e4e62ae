package eval

import (
	"strings"

	"github.com/vegadb/vega-flight/ivm/plan"
	"github.com/vegadb/vega-flight/ivm/row"
)

// Probe is a query that DuckDB binds, with these types, when it can evaluate the expressions, which are over the same rows.
func Probe(exprs []plan.Expr) (sql string, types []row.Type, err error) {
	columns := columnsOf(exprs)
	parts := make([]string, len(exprs))
	for i, e := range exprs {
		if parts[i], err = deparseAs(e); err != nil {
			return "", nil, err
		}
		types = append(types, Carrier(e.Result()))
	}
	return "SELECT " + strings.Join(parts, ", ") + " FROM " + columns, types, nil
}

// ProbeAggregate is Probe of an aggregate function.
func ProbeAggregate(a plan.Agg) (string, row.Type, error) {
	sql, err := AggregateSQL(a)
	exprs := append(append([]plan.Expr{}, a.Args...), a.Filter)
	return "SELECT " + sql + " FROM " + columnsOf(exprs, a.Order), Carrier(a.Type), err
}

// ProbeWindow is Probe of a window function.
func ProbeWindow(w *plan.Window, f plan.WindowFunc) (string, row.Type, error) {
	sql, err := WindowSQL(w, f, "1", "2")
	exprs := append(append([]plan.Expr{}, f.Args...), f.Filter, f.Offset, f.Default, f.Frame.Start.Expr, f.Frame.End.Expr)
	return "SELECT " + sql + " FROM " + columnsOf(exprs, w.Order, f.ArgOrder), Carrier(f.Type), err
}

// columnsOf is a table of no rows with the columns that expressions read.
func columnsOf(exprs []plan.Expr, orders ...[]plan.OrderItem) string {
	for _, items := range orders {
		for _, o := range items {
			exprs = append(exprs[:len(exprs):len(exprs)], o.Expr)
		}
	}
	var b strings.Builder
	b.WriteString("(SELECT CAST(NULL AS TIMESTAMPTZ) AS " + ClockSQL)
	seen := map[int]bool{}
	for _, e := range exprs {
		if e == nil {
			continue
		}
		plan.Walk(e, func(e plan.Expr) bool {
			if c, ok := e.(*plan.ColumnRef); ok && !seen[c.Index] && c.Type.Kind != row.Null {
				seen[c.Index] = true
				b.WriteString(", " + (&plan.Constant{Typed: plan.Typed{Type: Carrier(c.Type)}}).SQL() + " AS " + ColumnSQL(c.Index))
			}
			return true
		})
	}
	return b.String() + ")"
}

// Means says that DuckDB's name of a type is that type; how DuckDB names fields without a name does not count.
func Means(name string, want row.Type) bool {
	t, err := row.ParseType(name)
	return err == nil && alike(t, want)
}

func alike(a, b row.Type) bool {
	if a.Kind != b.Kind || a.Width != b.Width || a.Scale != b.Scale || a.Size != b.Size || len(a.Children) != len(b.Children) {
		return false
	}
	for i := range a.Children {
		if !alike(a.Children[i], b.Children[i]) {
			return false
		}
	}
	return true
}
