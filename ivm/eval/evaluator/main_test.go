package evaluator

import (
	"context"
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/vegadb/vega-flight/ivm/eval"
	"github.com/vegadb/vega-flight/ivm/plan"
	"github.com/vegadb/vega-flight/ivm/row"
	"github.com/vegadb/vega-flight/ivm/zset"
)

var instance *Instance

func TestMain(m *testing.M) {
	var err error
	if instance, err = Open(context.Background(), Config{}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	goleak.VerifyTestMain(closing{m})
}

type closing struct{ m *testing.M }

func (c closing) Run() int {
	code := c.m.Run()
	if err := instance.Close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

func typ(s string) row.Type { return row.MustType(s) }

func col(l *row.Layout, i int) plan.Expr {
	return &plan.ColumnRef{Typed: plan.Typed{Type: l.Types[i], Pos: plan.NoPosition}, Index: i}
}

func call(name, out string, args ...plan.Expr) plan.Expr {
	return &plan.Function{Typed: plan.Typed{Type: typ(out), Pos: plan.NoPosition}, Name: name, Args: args}
}

func cast(e plan.Expr, to string) plan.Expr {
	return &plan.Cast{Typed: plan.Typed{Type: typ(to), Pos: plan.NoPosition}, Child: e}
}

func compare(op plan.CompareOp, a, b plan.Expr) plan.Expr {
	return &plan.Comparison{Typed: plan.Typed{Type: typ("BOOLEAN"), Pos: plan.NoPosition}, Op: op, Left: a, Right: b}
}

func constant(t string, v any) plan.Expr {
	return &plan.Constant{Typed: plan.Typed{Type: typ(t), Pos: plan.NoPosition}, Value: v}
}

func batch(tb testing.TB, l *row.Layout, text string) *zset.Batch {
	b, err := zset.Parse(l, text)
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

func program(tb testing.TB, l *row.Layout, filter plan.Expr, o eval.Options, exprs ...plan.Expr) *eval.Program {
	o.Evaluator = instance
	p, err := eval.Compile(l, exprs, filter, o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { p.Close() })
	return p
}

// eachWay runs a test with the paths in Go and without.
func eachWay(t *testing.T, f func(t *testing.T, o eval.Options)) {
	t.Run("go", func(t *testing.T) { f(t, eval.Options{}) })
	t.Run("duckdb", func(t *testing.T) { f(t, eval.Options{OnlyDuck: true}) })
}
