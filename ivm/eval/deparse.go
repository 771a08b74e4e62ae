package eval

import (
	"strconv"
	"strings"

	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/ivm/plan"
	"github.com/vegadb/vega-flight/ivm/row"
)

// ClockSQL is the column that carries the logical clock.
const ClockSQL = "clock"

// ColumnSQL is the name of a field's column in a fragment.
func ColumnSQL(field int) string { return "c" + strconv.Itoa(field) }

// Deparse is SQL that DuckDB binds to exactly this expression: fields are [ColumnSQL], the clock is [ClockSQL], each cast
// is written, and functions are called by their quoted names with arguments of the bound types.
func Deparse(e plan.Expr) string {
	var d deparser
	d.expr(e)
	return d.String()
}

// deparse is Deparse, or why there is no SQL that means the expression.
func deparse(e plan.Expr) (string, error) {
	var d deparser
	d.expr(e)
	return d.String(), d.err
}

// deparseAs is the expression in the type that carries it.
func deparseAs(e plan.Expr) (string, error) {
	sql, err := deparse(e)
	return carried(sql, e.Result()), err
}

func carried(sql string, t row.Type) string {
	if c := Carrier(t); !c.Equal(plain(t)) {
		return "CAST(" + sql + " AS " + c.String() + ")"
	}
	return sql
}

func plain(t row.Type) row.Type {
	if len(t.Children) == 0 {
		t.Collation = ""
	}
	return t
}

type deparser struct {
	strings.Builder
	err error
}

func (d *deparser) put(parts ...string) {
	for _, p := range parts {
		d.WriteString(p)
	}
}

func (d *deparser) list(es []plan.Expr, between string) {
	for i, e := range es {
		if i > 0 {
			d.put(between)
		}
		d.expr(e)
	}
}

func (d *deparser) expr(e plan.Expr) {
	switch e := e.(type) {
	case *plan.ColumnRef:
		d.column(e)
	case *plan.ParamRef:
		d.put(quoteName(e.Name))
	case *plan.Clock:
		d.put(ClockSQL)
	case *plan.Constant:
		d.put(e.SQL())
	case *plan.Cast:
		t := e.Type
		if plan.Unnamed(t) {
			if t = plan.NamedLike(t, e.Child.Result()); t.Equal(e.Child.Result()) {
				d.expr(e.Child)
				return
			}
		}
		if e.Try {
			d.put("TRY_")
		}
		d.put("CAST(")
		d.expr(e.Child)
		d.put(" AS ", t.String(), ")")
	case *plan.Comparison:
		d.put("(")
		d.expr(e.Left)
		d.put(" ", e.Op.String(), " ")
		d.expr(e.Right)
		d.put(")")
	case *plan.Conjunction:
		op := " AND "
		if e.Or {
			op = " OR "
		}
		d.put("(")
		d.list(e.Args, op)
		d.put(")")
	case *plan.Not:
		d.put("(NOT ")
		d.expr(e.Child)
		d.put(")")
	case *plan.IsNull:
		d.put("(")
		d.expr(e.Child)
		d.put(" IS ")
		if e.Not {
			d.put("NOT ")
		}
		d.put("NULL)")
	case *plan.Coalesce:
		d.put("COALESCE(")
		d.list(e.Args, ", ")
		d.put(")")
	case *plan.In:
		d.put("(")
		d.expr(e.Child)
		if e.Not {
			d.put(" NOT")
		}
		d.put(" IN (")
		d.list(e.List, ", ")
		d.put("))")
	case *plan.Between:
		d.between(e)
	case *plan.Case:
		d.put("CASE")
		for _, w := range e.Whens {
			d.put(" WHEN ")
			d.expr(w.If)
			d.put(" THEN ")
			d.expr(w.Then)
		}
		if e.Else != nil {
			d.put(" ELSE ")
			d.expr(e.Else)
		}
		d.put(" END")
	case *plan.Function:
		d.function(e)
	case *Normal:
		d.err = fault.InternalError.Newf("a normal form stands within an expression")
	default:
		d.err = fault.InternalError.Newf("an expression %T cannot be written as SQL", e)
	}
}

// column reads a field; what is carried as another type is cast back.
func (d *deparser) column(e *plan.ColumnRef) {
	switch {
	case e.Type.Kind == row.Null:
		d.put("NULL")
	case Carrier(e.Type).Equal(plain(e.Type)):
		d.put(ColumnSQL(e.Index))
	default:
		d.put("CAST(", ColumnSQL(e.Index), " AS ", e.Type.String(), ")")
	}
}

// between writes closed ends as BETWEEN, which evaluates the value once.
func (d *deparser) between(e *plan.Between) {
	d.put("(")
	if e.Not {
		d.put("NOT (")
	}
	if !e.LowOpen && !e.HighOpen {
		d.expr(e.Child)
		d.put(" BETWEEN ")
		d.expr(e.Low)
		d.put(" AND ")
		d.expr(e.High)
	} else {
		low, high := plan.GreaterEqual, plan.LessEqual
		if e.LowOpen {
			low = plan.Greater
		}
		if e.HighOpen {
			high = plan.Less
		}
		d.expr(e.Child)
		d.put(" ", low.String(), " ")
		d.expr(e.Low)
		d.put(" AND ")
		d.expr(e.Child)
		d.put(" ", high.String(), " ")
		d.expr(e.High)
	}
	if e.Not {
		d.put(")")
	}
	d.put(")")
}

func (d *deparser) function(e *plan.Function) {
	name := strings.ToLower(e.Name)
	if (name == "array_slice" || name == "list_slice") && len(e.Args) > 2 {
		d.slice(e)
		return
	}
	if e.Type.Kind == row.Decimal && (name == "+" || name == "-" || name == "*") || name == "equi_width_bins" {
		// When DuckDB bound it first it cast the arguments to the result's width, and of those casts it would make a wider result.
		// A cast to the same type is none. Bins it computes in the arguments' type, and casts them itself.
		d.put("CAST(")
		defer d.put(" AS ", e.Type.String(), ")")
	}
	if name == "struct_update" && len(e.ArgNames) != len(e.Args)-1 {
		d.err = fault.InternalError.Newf("struct_update has lost the names of the fields that it sets")
	}
	args, more := e.Args, d.takenOut(name, e)
	if e.Schema != "" && e.Schema != "main" {
		d.put(quoteName(e.Schema), ".")
	}
	if name == "try" {
		d.put("TRY(")
	} else {
		d.put(quoteName(e.Name), "(")
	}
	if e.Lambda == nil && len(args) == 1 && more != "" && strings.HasPrefix(name, "date") {
		d.put(more, ", ")
		more = ""
	}
	names := argumentNames(name, e)
	if e.Lambda != nil && len(args) == 2 { // a reduction's initial value stands behind the lambda
		args = args[:1]
	}
	for i, a := range args {
		if i > 0 {
			d.put(", ")
		}
		if names != nil && names[i] != "" {
			d.put(quoteName(names[i]), " := ")
		}
		d.expr(a)
	}
	if e.Lambda != nil {
		if len(e.Args) > 0 {
			d.put(", ")
		}
		d.put("lambda ")
		for i, p := range e.Lambda.Params {
			if i > 0 {
				d.put(", ")
			}
			d.put(quoteName(p))
		}
		d.put(": ")
		d.expr(e.Lambda.Body)
		if len(args) < len(e.Args) {
			d.put(", ")
			d.expr(e.Args[1])
		}
	}
	if more != "" {
		d.put(", ", more)
	}
	d.put(")")
}

// slice writes x[a:b:c]; what is left out is bound as an empty list.
func (d *deparser) slice(e *plan.Function) {
	d.put("(")
	d.expr(e.Args[0])
	d.put(")[")
	for i, a := range e.Args[1:] {
		if i > 0 {
			d.put(":")
		}
		if k, ok := a.(*plan.Constant); ok && k.Type.Nested() {
			if i == 1 && len(e.Args) == 4 {
				d.put("-")
			}
			continue
		}
		d.expr(a)
	}
	d.put("]")
}

// argumentNames are the names that the arguments of some functions give to fields: the bound expression has them in its type.
func argumentNames(name string, e *plan.Function) []string {
	t := e.Type
	switch name {
	case "struct_pack":
		if len(t.Names) == len(e.Args) {
			return t.Names
		}
	case "union_value":
		if len(t.Names) > 0 && len(e.Args) == 1 {
			return t.Names[:1]
		}
	case "struct_insert":
		if k := len(t.Names) - (len(e.Args) - 1); k >= 0 && len(e.Args) > 0 {
			return append([]string{""}, t.Names[k:]...)
		}
	case "struct_update":
		if len(e.ArgNames) == len(e.Args)-1 {
			return append([]string{""}, e.ArgNames...)
		}
	}
	return nil
}

func quoteName(s string) string { return `"` + strings.ReplaceAll(s, `"`, `""`) + `"` }
