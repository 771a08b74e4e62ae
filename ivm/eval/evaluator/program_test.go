package evaluator

import (
	"context"
	"fmt"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/vegadb/vega-flight/ivm/eval"
	"github.com/vegadb/vega-flight/ivm/plan"
	"github.com/vegadb/vega-flight/ivm/row"
	"github.com/vegadb/vega-flight/ivm/zset"
)

func TestProgram(t *testing.T) {
	l := row.ParseLayout("BIGINT", "VARCHAR", "BIGINT")
	eachWay(t, func(t *testing.T, o eval.Options) {
		p := program(t, l, compare(plan.Greater, col(l, 0), constant("BIGINT", int64(1))), o,
			call("+", "BIGINT", col(l, 0), col(l, 2)), col(l, 1), call("length", "BIGINT", col(l, 1)))
		in := batch(t, l, "1 | a | 5 | +1\n2 | a long text that is in the heap | 5 | +1\n3 | NULL | 7 | -2\n4 | c | NULL | +1\n9223372036854775807 | x | 1 | +1\n5 | y | 1 | +3\n")
		for range 3 {
			out := zset.New(p.Out)
			bad := ""
			if err := p.Run(context.Background(), in, out, func(i int, err error) { bad += fmt.Sprint(i, ": ", err) }); err != nil {
				t.Fatal(err)
			}
			want := batch(t, p.Out, "7 | a long text that is in the heap | 31 | +1\n10 | NULL | NULL | -2\nNULL | c | 1 | +1\n6 | y | 1 | +3\n")
			if !out.Equal(want) {
				t.Errorf("\n%s", out.Print())
			}
			if bad != "4: Out of Range Error: Overflow in addition of INT64 (9223372036854775807 + 1)!" {
				t.Error(bad)
			}
		}
	})
}

func numbers(n int) *zset.Batch {
	l := row.ParseLayout("BIGINT", "BIGINT", "DOUBLE", "VARCHAR")
	b := zset.New(l)
	for i := range n {
		r := b.AppendRow(1)
		l.Set(r, 0, uint64(i))
		l.Set(r, 1, uint64(i%1000))
		l.SetBytes(r, 3, fmt.Appendf(nil, "text %d", i), b.Heap)
	}
	return b
}

// cpu is the time that this thread has worked; 0 where nobody knows.
func cpu() time.Duration {
	const thread = 1
	var u syscall.Rusage
	if syscall.Getrusage(thread, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func BenchmarkProgram(b *testing.B) {
	l := numbers(0).Layout
	price := compare(plan.Less, col(l, 1), constant("BIGINT", int64(900)))
	exprs := map[string]struct {
		filter plan.Expr
		exprs  []plan.Expr
	}{
		"same":    {nil, []plan.Expr{col(l, 0), col(l, 1), col(l, 2), col(l, 3)}},
		"columns": {nil, []plan.Expr{col(l, 1), col(l, 0)}},
		"sum":     {nil, []plan.Expr{col(l, 0), call("+", "BIGINT", col(l, 0), col(l, 1))}},
		"filter":  {price, []plan.Expr{col(l, 0), call("*", "BIGINT", col(l, 0), col(l, 1))}},
		"double":  {nil, []plan.Expr{col(l, 0), call("*", "DOUBLE", cast(col(l, 0), "DOUBLE"), call("+", "DOUBLE", col(l, 2), constant("DOUBLE", 1.5)))}},
		"like":    {call("~~", "BOOLEAN", col(l, 3), constant("VARCHAR", "%7%")), []plan.Expr{col(l, 0)}},
		"upper":   {nil, []plan.Expr{call("upper", "VARCHAR", col(l, 3))}},
		"case": {nil, []plan.Expr{&plan.Case{Typed: plan.Typed{Type: typ("BIGINT")}, Whens: []plan.When{{If: price, Then: col(l, 0)}},
			Else: constant("BIGINT", int64(0))}}},
	}
	for _, name := range []string{"same", "columns", "sum", "filter", "double", "case", "like", "upper"} {
		for _, way := range []string{"go", "duckdb"} {
			for _, n := range []int{1, 100, 10_000, 100_000} {
				b.Run(fmt.Sprintf("%s/%s/rows=%d", name, way, n), func(b *testing.B) {
					p := program(b, l, exprs[name].filter, eval.Options{OnlyDuck: way == "duckdb"}, exprs[name].exprs...)
					in, out := numbers(n), zset.New(p.Out)
					b.ReportAllocs()
					runtime.LockOSThread()
					defer runtime.UnlockOSThread()
					begin := cpu()
					for b.Loop() {
						out.Reset()
						if err := p.Run(context.Background(), in, out, nil); err != nil {
							b.Fatal(err)
						}
					}
					b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mrows/s")
					if used := cpu() - begin; used > 0 { // what does not depend on who else is at work
						b.ReportMetric(float64(n)*float64(b.N)/used.Seconds()/1e6, "Mrows/cpu-s")
					}
				})
			}
		}
	}
}
