package evaluator

import (
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/vegadb/vega-flight/ivm/eval"
	"github.com/vegadb/vega-flight/ivm/plan"
	"github.com/vegadb/vega-flight/ivm/row"
)

var randomColumns = []string{"BIGINT", "BIGINT", "INTEGER", "INTEGER", "DOUBLE", "DECIMAL(18,3)", "VARCHAR", "VARCHAR", "BOOLEAN", "BOOLEAN", "DATE", "TIMESTAMP", "UBIGINT", "INTERVAL"}

// random makes expressions all of whose parts have paths in Go.
type random struct {
	*rand.Rand
	l *row.Layout
}

func (r random) column(t string) plan.Expr {
	var of []int
	for i, c := range randomColumns {
		if c == t {
			of = append(of, i)
		}
	}
	return col(r.l, of[r.IntN(len(of))])
}

func (r random) leaf(t string) plan.Expr {
	if r.IntN(3) > 0 {
		return r.column(t)
	}
	if r.IntN(6) == 0 {
		return constant(t, nil)
	}
	switch t {
	case "BIGINT", "INTEGER":
		return constant(t, []int64{0, 1, -1, 7, 2147483647, -2147483648}[r.IntN(6)])
	case "UBIGINT":
		return constant(t, uint64(r.IntN(5)))
	case "DOUBLE":
		return constant(t, []float64{0, 1.5, -2.5, 1e300}[r.IntN(4)])
	case "VARCHAR":
		return constant(t, []string{"", "a", "abc", "12", "a constant that is long"}[r.IntN(5)])
	case "BOOLEAN":
		return constant(t, r.IntN(2) == 0)
	}
	return r.column(t)
}

func (r random) typ() string { return randomColumns[r.IntN(len(randomColumns)-1)] }

func (r random) expr(t string, depth int) plan.Expr {
	if depth == 0 {
		return r.leaf(t)
	}
	at := plan.Typed{Type: typ(t), Pos: plan.NoPosition}
	switch r.IntN(7) {
	case 0:
		return &plan.Case{Typed: at, Whens: []plan.When{{If: r.expr("BOOLEAN", depth-1), Then: r.expr(t, depth-1)}, {If: r.expr("BOOLEAN", depth-1), Then: r.expr(t, depth-1)}}, Else: r.expr(t, depth-1)}
	case 1:
		return &plan.Coalesce{Typed: at, Args: []plan.Expr{r.expr(t, depth-1), r.expr(t, depth-1), r.expr(t, depth-1)}}
	}
	two := func(name, of string) plan.Expr { return call(name, t, r.expr(of, depth-1), r.expr(of, depth-1)) }
	switch t {
	case "BIGINT":
		switch r.IntN(5) {
		case 0:
			return two([]string{"+", "-", "*", "//", "%"}[r.IntN(5)], t)
		case 1:
			return cast(r.expr([]string{"INTEGER", "DOUBLE", "DECIMAL(18,3)", "BOOLEAN", "UBIGINT", "VARCHAR"}[r.IntN(6)], depth-1), t)
		case 2:
			return call([]string{"year", "month", "dayofyear"}[r.IntN(3)], t, r.expr([]string{"DATE", "TIMESTAMP"}[r.IntN(2)], depth-1))
		case 3:
			return call("length", t, r.expr("VARCHAR", depth-1))
		}
		return call("-", t, r.expr("DATE", depth-1), r.expr("DATE", depth-1))
	case "INTEGER":
		if r.IntN(3) == 0 {
			return cast(r.expr([]string{"BIGINT", "DOUBLE", "VARCHAR"}[r.IntN(3)], depth-1), t)
		}
		return two([]string{"+", "-", "*", "//", "%"}[r.IntN(5)], t)
	case "UBIGINT":
		return two([]string{"+", "-", "*"}[r.IntN(3)], t)
	case "DOUBLE":
		if r.IntN(3) == 0 {
			return cast(r.expr([]string{"BIGINT", "DECIMAL(18,3)", "INTEGER"}[r.IntN(3)], depth-1), t)
		}
		return two([]string{"+", "-", "*", "/"}[r.IntN(4)], t)
	case "DECIMAL(18,3)":
		if r.IntN(2) == 0 {
			return cast(r.expr("BIGINT", depth-1), t)
		}
		return two([]string{"+", "-"}[r.IntN(2)], t)
	case "BOOLEAN":
		switch r.IntN(6) {
		case 0:
			return &plan.Conjunction{Typed: at, Or: r.IntN(2) == 0, Args: []plan.Expr{r.expr(t, depth-1), r.expr(t, depth-1), r.expr(t, depth-1)}}
		case 1:
			return &plan.Not{Typed: at, Child: r.expr(t, depth-1)}
		case 2:
			return &plan.IsNull{Typed: at, Not: r.IntN(2) == 0, Child: r.expr(r.typ(), depth-1)}
		case 3:
			of := r.typ()
			return &plan.Between{Typed: at, Child: r.expr(of, depth-1), Low: r.expr(of, depth-1), High: r.expr(of, depth-1), Not: r.IntN(2) == 0}
		case 4:
			return call("~~", t, r.expr("VARCHAR", depth-1), constant("VARCHAR", []string{"a%", "%1%", "%"}[r.IntN(3)]))
		}
		of := r.typ()
		return compare(plan.CompareOp(r.IntN(8)), r.expr(of, depth-1), r.expr(of, depth-1))
	case "DATE":
		if r.IntN(2) == 0 {
			return cast(r.expr("TIMESTAMP", depth-1), t)
		}
		return call("+", t, r.expr("DATE", depth-1), r.expr("INTEGER", depth-1))
	case "TIMESTAMP":
		switch r.IntN(3) {
		case 0:
			return cast(r.expr("DATE", depth-1), t)
		case 1:
			return call("date_trunc", t, constant("VARCHAR", []string{"month", "week", "hour"}[r.IntN(3)]), r.expr("TIMESTAMP", depth-1))
		}
		return call([]string{"+", "-"}[r.IntN(2)], t, r.expr("TIMESTAMP", depth-1), r.column("INTERVAL"))
	}
	return r.leaf(t)
}

// TestRandomExpressions compares random expressions and filters in Go with the same ones in DuckDB, row by row, errors included.
func TestRandomExpressions(t *testing.T) {
	d := newDirect(t)
	in := d.columns(randomColumns, 150)
	n, failed := 400, 0
	if testing.Short() {
		n = 60
	}
	if more, err := strconv.Atoi(os.Getenv("EVAL_SEEDS")); err == nil {
		n = more
	}
	for seed := range n {
		r := random{rand.New(rand.NewPCG(uint64(seed), 5)), in.Layout}
		exprs := []plan.Expr{r.expr(r.typ(), 1+seed%4), r.expr(r.typ(), 2)}
		var filter plan.Expr
		if seed%3 == 0 {
			filter = r.expr("BOOLEAN", 2)
		}
		var answers [2][]string
		for _, i := range []int{1, 0} {
			p, err := eval.Compile(in.Layout, exprs, filter, eval.Options{Evaluator: instance, OnlyDuck: i == 1})
			if err != nil && (strings.HasPrefix(err.Error(), "Conversion Error") || strings.HasPrefix(err.Error(), "Out of Range Error")) {
				answers = [2][]string{} // a constant that is none fails when it is bound
				break
			}
			if err != nil {
				t.Fatalf("%d: %s: %v", seed, deparse(exprs[0]), err)
			}
			if i == 0 && !(p.InGo(0) && p.InGo(1) && p.FilterInGo()) {
				t.Errorf("%d: no path for %s, %s", seed, deparse(exprs[0]), deparse(exprs[1]))
			}
			if answers[i], err = evaluated(p, in); err != nil {
				t.Fatal(err)
			}
			p.Close()
		}
		for i := range answers[0] {
			if len(answers[0][i]) > 0 && answers[0][i][0] == '!' {
				failed++
			}
			if answers[0][i] != answers[1][i] {
				sql := deparse(exprs[0]) + ", " + deparse(exprs[1])
				if filter != nil {
					sql += " WHERE " + deparse(filter)
				}
				t.Errorf("%d: %s\nof %s: %s, not %s", seed, sql, in.Layout.Format(in.Row(i), in.Heap), answers[0][i], answers[1][i])
				break
			}
		}
	}
	t.Logf("%d expressions, %d rows that fail", n, failed)
}
