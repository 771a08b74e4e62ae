package plan

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/vegadb/vega-flight/ivm/row"
)

// ExprText is an expression for people: exact in its structure, with columns as #position.
func ExprText(e Expr) string {
	var b strings.Builder
	exprText(&b, e, nil)
	return b.String()
}

// exprText prints with the columns' names when they are given.
func exprText(b *strings.Builder, e Expr, cols []Column) {
	list := func(es []Expr, sep string) {
		for i, x := range es {
			if i > 0 {
				b.WriteString(sep)
			}
			exprText(b, x, cols)
		}
	}
	switch e := e.(type) {
	case nil:
		b.WriteString("NULL")
	case *ColumnRef:
		b.WriteByte('#')
		b.WriteString(strconv.Itoa(e.Index))
		if e.Index >= 0 && e.Index < len(cols) && cols[e.Index].Name != "" {
			b.WriteByte(' ')
			b.WriteString(cols[e.Index].Name)
		}
	case *ParamRef:
		b.WriteString(e.Name)
	case *Clock:
		b.WriteString("clock()")
	case *Constant:
		b.WriteString(e.short())
	case *Refused:
		b.WriteString("refused(" + string(e.Reason.Code) + ")")
	case *Cast:
		if e.Try {
			b.WriteString("TRY_")
		}
		b.WriteString("CAST(")
		exprText(b, e.Child, cols)
		b.WriteString(" AS " + e.Type.String() + ")")
	case *Comparison:
		b.WriteByte('(')
		exprText(b, e.Left, cols)
		b.WriteString(" " + e.Op.String() + " ")
		exprText(b, e.Right, cols)
		b.WriteByte(')')
	case *Conjunction:
		b.WriteByte('(')
		if e.Or {
			list(e.Args, " OR ")
		} else {
			list(e.Args, " AND ")
		}
		b.WriteByte(')')
	case *Not:
		b.WriteString("NOT ")
		exprText(b, e.Child, cols)
	case *IsNull:
		b.WriteByte('(')
		exprText(b, e.Child, cols)
		if e.Not {
			b.WriteString(" IS NOT NULL)")
		} else {
			b.WriteString(" IS NULL)")
		}
	case *Coalesce:
		b.WriteString("coalesce(")
		list(e.Args, ", ")
		b.WriteByte(')')
	case *In:
		b.WriteByte('(')
		exprText(b, e.Child, cols)
		if e.Not {
			b.WriteString(" NOT")
		}
		b.WriteString(" IN (")
		list(e.List, ", ")
		b.WriteString("))")
	case *Between:
		b.WriteByte('(')
		exprText(b, e.Child, cols)
		if e.Not {
			b.WriteString(" NOT")
		}
		b.WriteString(" BETWEEN " + map[bool]string{true: "(", false: "["}[e.LowOpen])
		exprText(b, e.Low, cols)
		b.WriteString(", ")
		exprText(b, e.High, cols)
		b.WriteString(map[bool]string{true: "))", false: "])"}[e.HighOpen])
	case *Case:
		b.WriteString("CASE")
		for _, w := range e.Whens {
			b.WriteString(" WHEN ")
			exprText(b, w.If, cols)
			b.WriteString(" THEN ")
			exprText(b, w.Then, cols)
		}
		b.WriteString(" ELSE ")
		exprText(b, e.Else, cols)
		b.WriteString(" END")
	case *Function:
		functionText(b, e, cols)
	default:
		fmt.Fprintf(b, "%T", e)
	}
}

func functionText(b *strings.Builder, e *Function, cols []Column) {
	if e.Operator && e.Name != "TRY" && len(e.Args) == 2 && e.Lambda == nil {
		b.WriteByte('(')
		exprText(b, e.Args[0], cols)
		b.WriteString(" " + e.Name + " ")
		exprText(b, e.Args[1], cols)
		b.WriteByte(')')
		return
	}
	if e.Schema != "" {
		b.WriteString(e.Schema + ".")
	}
	b.WriteString(e.Name + "(")
	for i, a := range e.Args {
		if i > 0 {
			b.WriteString(", ")
		}
		if i > 0 && i <= len(e.ArgNames) {
			b.WriteString(quoteName(e.ArgNames[i-1]) + " := ")
		}
		exprText(b, a, cols)
	}
	if bound := listAggregate(e); bound != "" {
		b.WriteString(", " + bound)
	}
	if e.Lambda != nil {
		b.WriteString(", lambda " + strings.Join(e.Lambda.Params, ", ") + ": ")
		exprText(b, e.Lambda.Body, cols)
	}
	b.WriteByte(')')
	if e.Type.Kind == row.Struct || e.Type.Kind == row.Union { // the names of fields are in the type only
		b.WriteString("::" + e.Type.String())
	}
}

// listAggregate is what DuckDB took out of the arguments of an aggregate over a list: a separator, quantiles.
func listAggregate(e *Function) string {
	if e.Data == "" || len(e.Args) != 2 || !strings.HasSuffix(e.Name, "aggr") && !strings.HasSuffix(e.Name, "aggregate") {
		return ""
	}
	t, err := parseJSON(e.Data)
	if err != nil {
		return e.Data
	}
	if bound := t.get("bind_data").get("aggr_expr").get("function_data"); bound.kind == jsonObject && len(bound.keys) > 0 {
		return bound.compact()
	}
	return ""
}

// short is a constant as it reads best.
func (e *Constant) short() string {
	switch v := e.Value.(type) {
	case nil:
		return "NULL"
	case bool:
		return strconv.FormatBool(v)
	case int64:
		switch e.Type.Kind {
		case row.Int8, row.Int16, row.Int32, row.Int64:
			return strconv.FormatInt(v, 10)
		}
		return e.Type.String() + " " + readable(e.Type.Kind, v)
	case uint64:
		return strconv.FormatUint(v, 10)
	case string:
		if e.Type.Kind == row.Varchar {
			return textSQL(v)
		}
		return e.Type.String() + " " + textSQL(v)
	case Interval:
		return fmt.Sprintf("INTERVAL '%d months %d days %d us'", v.Months, v.Days, v.Micros)
	}
	s := e.SQL()
	if e.Type.Kind == row.Decimal || e.Type.Kind == row.Double {
		if _, inner, ok := strings.Cut(s, "'"); ok {
			inner, _, _ = strings.Cut(inner, "'")
			if e.Type.Kind == row.Double && !strings.ContainsAny(inner, ".en") {
				inner += ".0"
			}
			return inner
		}
	}
	return s
}
