package plan

import (
	"errors"
	"fmt"
	"strings"

	"github.com/vegadb/vega-flight/ivm/row"
)

// frame is what positions mean inside a lambda's body: its parameters from last to first, then what it captures.
type frame []Expr

// ClockParameter is the name of the parameter that stands for the clock in the planned text, as microseconds since 1970:
// make_timestamptz(CAST($vega_now AS BIGINT)) is now().
const ClockParameter = "vega_now"

// expr reads an expression. One that is not known becomes [Refused].
func (d *decoder) expr(t *tree, f frame) Expr {
	d.depth++
	defer func() { d.depth-- }()
	pos := position(t)
	if d.depth > maxNodes {
		return &Refused{Typed{Pos: pos}, Reason{PlanUnreadable, pos, "the expression is nested too deeply", ""}}
	}
	e, err := d.expression(t, f, pos)
	if err == nil {
		return e
	}
	typ, _ := d.typeOf(t.get("return_type"))
	r := Reason{PlanUnreadable, pos, err.Error(), ""}
	if u := new(unsupported); errors.As(err, &u) {
		if r = Reason(*u); r.Position == NoPosition {
			r.Position = pos
		}
	}
	return &Refused{Typed{typ, pos}, r}
}

func position(t *tree) int {
	if n, ok := t.get("query_location").uint(); ok && n < 1<<31 {
		return int(n)
	}
	return NoPosition
}

func (d *decoder) exprs(list *tree, f frame) []Expr {
	items := list.list()
	out := make([]Expr, len(items))
	for i := range items {
		out[i] = d.expr(&items[i], f)
	}
	return out
}

// optional is nil for null.
func (d *decoder) optional(t *tree, f frame) Expr {
	if t.kind != jsonObject {
		return nil
	}
	return d.expr(t, f)
}

var compareOps = map[string]CompareOp{
	"COMPARE_EQUAL": Equal, "COMPARE_NOTEQUAL": NotEqual, "COMPARE_LESSTHAN": Less, "COMPARE_LESSTHANOREQUALTO": LessEqual,
	"COMPARE_GREATERTHAN": Greater, "COMPARE_GREATERTHANOREQUALTO": GreaterEqual, "COMPARE_DISTINCT_FROM": Distinct,
	"COMPARE_NOT_DISTINCT_FROM": NotDistinct,
}

func (d *decoder) expression(t *tree, f frame, pos int) (Expr, error) {
	class, typ := t.str("expression_class"), t.str("type")
	switch class {
	case "BOUND_CONSTANT":
		c, err := d.constant(t.get("value"), 0)
		if err != nil {
			return nil, err
		}
		c.Pos = pos
		return c, nil
	case "BOUND_COMPARISON":
		op, ok := compareOps[typ]
		if !ok {
			return nil, unknownExpression(typ, pos)
		}
		return compare(op, d.expr(t.get("left"), f), d.expr(t.get("right"), f), pos), nil
	case "BOUND_CONJUNCTION":
		args := d.exprs(t.get("children"), f)
		if len(args) == 0 || typ != "CONJUNCTION_AND" && typ != "CONJUNCTION_OR" {
			return nil, unknownExpression(typ, pos)
		}
		return &Conjunction{Typed{boolean, pos}, typ == "CONJUNCTION_OR", args}, nil
	case "BOUND_BETWEEN":
		return &Between{Typed: Typed{boolean, pos}, Child: d.expr(t.get("input"), f), Low: d.expr(t.get("lower"), f), High: d.expr(t.get("upper"), f),
			LowOpen: !t.bool("lower_inclusive"), HighOpen: !t.bool("upper_inclusive"), Not: strings.Contains(typ, "NOT_BETWEEN")}, nil
	}
	out, err := d.typeOf(t.get("return_type"))
	if err != nil {
		return nil, err
	}
	at := Typed{out, pos}
	switch class {
	case "BOUND_REF":
		i := t.get("index").int()
		if f == nil {
			return &ColumnRef{at, i, t.str("alias")}, nil
		}
		if i < 0 || i >= len(f) {
			return nil, fmt.Errorf("a lambda's body means value %d of %d", i, len(f))
		}
		if p, ok := f[i].(*ParamRef); ok && p.Type.Kind == row.Invalid {
			return &ParamRef{at, p.Name}, nil
		}
		return f[i], nil
	case "BOUND_CAST":
		child := d.expr(t.get("child"), f)
		if plainCollation(out).Equal(plainCollation(child.Result())) {
			return child, nil // between collations
		}
		return &Cast{at, t.bool("try_cast"), child}, nil
	case "BOUND_CASE":
		c := &Case{Typed: at, Else: d.expr(t.get("else_expr"), f)}
		checks := t.get("case_checks").list()
		for i := range checks {
			c.Whens = append(c.Whens, When{d.expr(checks[i].get("when_expr"), f), d.expr(checks[i].get("then_expr"), f)})
		}
		return c, nil
	case "BOUND_OPERATOR":
		return d.operator(typ, d.exprs(t.get("children"), f), at)
	case "BOUND_FUNCTION":
		return d.function(t, f, at)
	}
	return nil, unknownExpression(class, pos)
}

func unknownExpression(what string, pos int) error {
	return &unsupported{UnknownExpression, pos, "the expression " + strings.ToLower(what) + " is not known", ""}
}

func (d *decoder) operator(typ string, args []Expr, at Typed) (Expr, error) {
	if len(args) == 0 {
		return nil, unknownExpression(typ, at.Pos)
	}
	switch typ {
	case "OPERATOR_NOT":
		return &Not{at, args[0]}, nil
	case "OPERATOR_IS_NULL", "OPERATOR_IS_NOT_NULL":
		return &IsNull{at, typ == "OPERATOR_IS_NOT_NULL", args[0]}, nil
	case "OPERATOR_COALESCE":
		return &Coalesce{at, args}, nil
	case "COMPARE_IN", "COMPARE_NOT_IN":
		return &In{at, typ == "COMPARE_NOT_IN", args[0], args[1:]}, nil
	case "OPERATOR_TRY":
		return &Function{Typed: at, Name: "TRY", Operator: true, Args: args}, nil
	}
	return nil, unknownExpression(typ, at.Pos)
}

func (d *decoder) function(t *tree, f frame, at Typed) (Expr, error) {
	e := &Function{Typed: at, Name: t.str("name"), Schema: t.str("schema_name"), Operator: t.bool("is_operator")}
	if op := operatorNames[e.Name]; op != "" {
		e.Name, e.Operator = op, true
	}
	if s := e.Schema; s == "main" || t.str("catalog_name") != "system" && t.str("catalog_name") != "" && s == "" {
		e.Schema = ""
	}
	kids := t.get("children").list()
	if e.Name == "make_timestamptz" && len(kids) == 1 && kids[0].str("expression_class") == "BOUND_PARAMETER" && kids[0].str("identifier") == ClockParameter {
		return &Clock{Typed{timestampTZ, at.Pos}}, nil
	}
	data := t.get("function_data")
	if lambda := data.get("lambda_expr"); lambda.kind == jsonObject {
		if len(kids) == 0 {
			return nil, unknownExpression("a lambda without a list", at.Pos)
		}
		args := d.exprs(t.get("children"), f)
		n := lambdaParams(e.Name, data)
		if data.bool("has_initial") && len(args) > 1 { // list_reduce(list, lambda, initial)
			e.Args, args = []Expr{args[0], args[len(args)-1]}, args[1:len(args)-1]
		} else {
			e.Args, args = args[:1], args[1:]
		}
		e.Lambda = &Lambda{}
		var inner frame
		for i := range n {
			name := fmt.Sprintf("p%d_%d", len(f), n-1-i)
			e.Lambda.Params = append([]string{name}, e.Lambda.Params...)
			inner = append(inner, &ParamRef{Name: name})
		}
		e.Lambda.Body = d.expr(lambda, append(inner, args...))
	} else {
		e.Args = d.exprs(t.get("children"), f)
		if data.kind == jsonObject && len(data.keys) > 0 {
			e.Data = data.compact()
		}
		if e.Name == "struct_update" { // the fields that it sets have the names of its arguments
			for i := 1; i < len(kids); i++ {
				e.ArgNames = append(e.ArgNames, kids[i].str("alias"))
			}
		}
	}
	types := t.get("arguments").list()
	for i := range types {
		a, err := d.typeOf(&types[i])
		if err != nil {
			a = row.Type{}
		}
		e.ArgTypes = append(e.ArgTypes, a)
	}
	if e.Name == "age" && len(kids) == 1 {
		return nil, &unsupported{ClockOutsideFilter, at.Pos, "age of one argument is the time until today", "write age(today, x), or compare x with now() - INTERVAL …"}
	}
	if _, volatile := d.in.Volatile[strings.ToLower(e.Name)]; volatile && e.Name != "error" {
		e.Volatile = true
	}
	return e, nil
}

// operatorNames are functions that are another name of an operator.
var operatorNames = map[string]string{"add": "+", "subtract": "-", "multiply": "*", "divide": "//", "mod": "%"}

// lambdaParams is how many parameters the lambda has: the element, for a reduction the one before, and the index.
func lambdaParams(name string, data *tree) int {
	n := 1
	if strings.Contains(name, "reduce") {
		n = 2
	}
	if data.bool("has_index") {
		n++
	}
	return n
}

func compare(op CompareOp, l, r Expr, pos int) *Comparison {
	return &Comparison{Typed{boolean, pos}, op, l, r}
}

// order reads the items of an ORDER BY.
func (d *decoder) order(list *tree) []OrderItem {
	var out []OrderItem
	items := list.list()
	for i := range items {
		o := &items[i]
		out = append(out, OrderItem{d.expr(o.get("expression"), nil), strings.HasPrefix(o.str("type"), "DESC"), o.str("null_order") == "NULLS FIRST"})
	}
	return out
}
