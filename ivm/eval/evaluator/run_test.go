package evaluator

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vegadb/vega-flight/ivm/eval"
	"github.com/vegadb/vega-flight/ivm/plan"
	"github.com/vegadb/vega-flight/ivm/row"
	"github.com/vegadb/vega-flight/ivm/zset"
)

func run(t *testing.T, p *eval.Program, in *zset.Batch) (*zset.Batch, map[int]string) {
	t.Helper()
	out, bad := zset.New(p.Out), map[int]string{}
	err := p.Run(context.Background(), in, out, func(i int, err error) {
		if bad[i] != "" {
			t.Errorf("row %d is told of twice", i)
		}
		bad[i] = err.Error()
	})
	if err != nil {
		t.Fatal(err)
	}
	return out, bad
}

// TestRowsThatFail are found alone, wherever they are.
func TestRowsThatFail(t *testing.T) {
	l := row.ParseLayout("VARCHAR", "BIGINT")
	for _, wrong := range [][]int{{0}, {2047}, {2048}, {5000}, {9999}, {0, 1, 2}, {100, 2100, 2101, 4500, 9000}, {}} {
		eachWay(t, func(t *testing.T, o eval.Options) {
			p := program(t, l, nil, o, cast(col(l, 0), "INTEGER"), call("+", "BIGINT", col(l, 1), col(l, 1)), col(l, 1), call("upper", "VARCHAR", col(l, 0)))
			in := zset.New(l)
			isWrong := map[int]bool{}
			for _, i := range wrong {
				isWrong[i] = true
			}
			for i := range 10_000 {
				r := in.AppendRow(int64(i + 1))
				text := fmt.Sprint(i)
				if isWrong[i] {
					text = fmt.Sprintf("the text %d is no number", i)
				}
				l.SetBytes(r, 0, []byte(text), in.Heap)
				l.Set(r, 1, uint64(i))
			}
			for range 2 {
				out, bad := run(t, p, in)
				if out.Len() != 10_000-len(wrong) || len(bad) != len(wrong) {
					t.Fatalf("%d rows, %d errors", out.Len(), len(bad))
				}
				for _, i := range wrong {
					if want := fmt.Sprintf("Conversion Error: Could not convert string 'the text %d is no number' to INT32", i); bad[i] != want {
						t.Errorf("%s, not %s", bad[i], want)
					}
				}
				for k, w := range out.Weights {
					i, r := int(w-1), out.Row(k)
					if isWrong[i] || int(r[p.Out.Off[0]]) != i || int(r[p.Out.Off[1]]) != 2*i || int(r[p.Out.Off[2]]) != i || string(p.Out.Bytes(r, 3, out.Heap, nil)) != fmt.Sprint(i) {
						t.Fatalf("row %d is %s", i, p.Out.Format(r, out.Heap))
					}
				}
			}
		})
	}
}

// TestGuards keep what would fail from being evaluated, as in DuckDB.
func TestGuards(t *testing.T) {
	l := row.ParseLayout("VARCHAR", "BIGINT")
	boolean := plan.Typed{Type: typ("BOOLEAN")}
	number := compare(plan.Less, col(l, 1), constant("BIGINT", int64(10)))
	fails := compare(plan.Greater, cast(col(l, 0), "BIGINT"), constant("BIGINT", int64(0)))
	overflows := compare(plan.Greater, call("*", "BIGINT", col(l, 1), col(l, 1)), constant("BIGINT", int64(0)))
	in := batch(t, l, "5 | 5 | +1\nx | 9223372036854775807 | +1\n7 | 7 | +1\nNULL | NULL | +1\n")
	eachWay(t, func(t *testing.T, o eval.Options) {
		for name, filter := range map[string]plan.Expr{
			"text":   &plan.Conjunction{Typed: boolean, Args: []plan.Expr{number, fails}},
			"number": &plan.Conjunction{Typed: boolean, Args: []plan.Expr{number, overflows}},
		} {
			p := program(t, l, filter, o, col(l, 1), cast(col(l, 0), "BIGINT"))
			out, bad := run(t, p, in)
			if want := batch(t, p.Out, "5 | 5 | +1\n7 | 7 | +1\n"); !out.Equal(want) || len(bad) > 0 {
				t.Errorf("%s: %v\n%s", name, bad, out.Print())
			}
		}
		p := program(t, l, nil, o, &plan.Case{Typed: plan.Typed{Type: typ("BIGINT")}, Whens: []plan.When{{If: number, Then: call("+", "BIGINT", col(l, 1), cast(col(l, 0), "BIGINT"))}},
			Else: constant("BIGINT", int64(-1))})
		out, bad := run(t, p, in)
		if want := batch(t, p.Out, "10 | +1\n-1 | +2\n14 | +1\n"); !out.Equal(want) || len(bad) > 0 {
			t.Errorf("case: %v\n%s", bad, out.Print())
		}
		// A filter that fails for a row says so, and the row does not pass.
		p = program(t, l, fails, o, col(l, 1))
		out, bad = run(t, p, in)
		if want := batch(t, p.Out, "5 | +1\n7 | +1\n"); !out.Equal(want) || len(bad) != 1 || !strings.Contains(bad[1], "Could not convert string 'x'") {
			t.Errorf("filter: %v\n%s", bad, out.Print())
		}
	})
}

// TestFirstError is what a run without bad gives.
func TestFirstError(t *testing.T) {
	l := row.ParseLayout("BIGINT")
	in := batch(t, l, "1 | +1\n9223372036854775807 | +1\n")
	eachWay(t, func(t *testing.T, o eval.Options) {
		p := program(t, l, nil, o, call("+", "BIGINT", col(l, 0), col(l, 0)))
		out := zset.New(p.Out)
		err := p.Run(context.Background(), in, out, nil)
		var e *eval.Error
		if !errors.As(err, &e) || !strings.HasPrefix(e.Text, "Out of Range Error: Overflow in addition") || out.Len() != 0 {
			t.Error(err, out.Len())
		}
	})
}

// TestCancelled ends a run, and the next one works.
func TestCancelled(t *testing.T) {
	in := numbers(100_000)
	p := program(t, in.Layout, nil, eval.Options{OnlyDuck: true}, call("md5", "VARCHAR", col(in.Layout, 3)))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	out := zset.New(p.Out)
	if err := p.Run(ctx, in, out, nil); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := p.Run(context.Background(), in, out, nil); err != nil || out.Len() != in.Len() {
		t.Error(err, out.Len())
	}
}

// TestForks run beside each other, more of them than statements may stay open.
func TestForks(t *testing.T) {
	few, err := Open(context.Background(), Config{OpenStreams: 3})
	if err != nil {
		t.Fatal(err)
	}
	defer few.Close()
	in := numbers(3000)
	p, err := eval.Compile(in.Layout, []plan.Expr{call("upper", "VARCHAR", col(in.Layout, 3))}, nil, eval.Options{Evaluator: few})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	var all sync.WaitGroup
	for range 8 {
		q, err := p.Fork()
		if err != nil {
			t.Fatal(err)
		}
		all.Go(func() {
			defer q.Close()
			for range 5 {
				out := zset.New(q.Out)
				if err := q.Run(context.Background(), in, out, nil); err != nil {
					t.Error(err)
				}
				if text := q.Out.Format(out.Row(2999), out.Heap); text != "TEXT 2999" {
					t.Error(text)
				}
			}
		})
	}
	all.Wait()
	if n := few.open.Len(); n > 3+8 {
		t.Errorf("%d statements are open", n)
	}
}

// TestClock is the same for all rows, and each run has its own.
func TestClock(t *testing.T) {
	l := row.ParseLayout("BIGINT")
	clock := &plan.Clock{Typed: plan.Typed{Type: typ("TIMESTAMP WITH TIME ZONE")}}
	eachWay(t, func(t *testing.T, o eval.Options) {
		p := program(t, l, compare(plan.Less, cast(constant("VARCHAR", "2024-01-01 00:00:00+00"), "TIMESTAMP WITH TIME ZONE"), clock), o, col(l, 0), cast(clock, "VARCHAR"))
		p.SetClock(1704067200_000000)
		if out, _ := run(t, p, batch(t, l, "1 | +1\n")); out.Len() != 0 {
			t.Error(out.Print())
		}
		p.SetClock(1704067201_000000)
		if out, _ := run(t, p, batch(t, l, "1 | +1\n2 | +1\n")); out.Print() != "1 | '2024-01-01 00:00:01+00' | +1\n2 | '2024-01-01 00:00:01+00' | +1\n" {
			t.Error(out.Print())
		}
	})
}

// TestZone is the view's.
func TestZone(t *testing.T) {
	l := row.ParseLayout("TIMESTAMP WITH TIME ZONE")
	for zone, want := range map[string]string{"": "2024-06-01 12:00:00", "America/New_York": "2024-06-01 08:00:00"} {
		p := program(t, l, nil, eval.Options{TimeZone: zone}, cast(col(l, 0), "TIMESTAMP"))
		if out, _ := run(t, p, batch(t, l, "2024-06-01 12:00:00+00 | +1\n")); out.Print() != want+" | +1\n" {
			t.Error(zone, out.Print())
		}
	}
}

// TestSharedHeap lets long values be where they are.
func TestSharedHeap(t *testing.T) {
	l := row.ParseLayout("VARCHAR", "INTEGER")
	in := batch(t, l, "a text that is longer than its words | 1 | +1\nanother text that is longer than its words | NULL | +1\nNULL | 2 | +1\n")
	p := program(t, l, nil, eval.Options{}, col(l, 1), col(l, 0), &plan.Coalesce{Typed: plan.Typed{Type: typ("VARCHAR")}, Args: []plan.Expr{col(l, 0), constant("VARCHAR", "a constant that is long")}})
	want := batch(t, p.Out, "1 | a text that is longer than its words | a text that is longer than its words | +1\n"+
		"NULL | another text that is longer than its words | another text that is longer than its words | +1\n2 | NULL | a constant that is long | +1\n")
	for _, heap := range []*row.Heap{in.Heap, new(row.Heap)} {
		out := &zset.Batch{Layout: p.Out, Heap: heap}
		if err := p.Run(context.Background(), in, out, nil); err != nil || !out.Equal(want) {
			t.Error(err, out.Print())
		}
	}
}

// TestManyColumns have more than one word of null bits.
func TestManyColumns(t *testing.T) {
	types := make([]row.Type, 70)
	for i := range types {
		types[i] = typ("INTEGER")
	}
	l := row.NewLayout(types...)
	in := zset.New(l)
	r := in.AppendRow(1)
	for i := range 70 {
		l.Set(r, i, uint64(i))
		if i%3 == 0 {
			l.SetNull(r, i)
		}
	}
	eachWay(t, func(t *testing.T, o eval.Options) {
		exprs := make([]plan.Expr, 140)
		for i := range 70 {
			exprs[i], exprs[139-i] = col(l, i), call("+", "INTEGER", col(l, i), constant("INTEGER", int64(1)))
		}
		p := program(t, l, nil, o, exprs...)
		out, _ := run(t, p, in)
		for i := range 70 {
			r := out.Row(0)
			if p.Out.IsNull(r, i) != (i%3 == 0) || p.Out.IsNull(r, 139-i) != (i%3 == 0) || i%3 != 0 && (r[p.Out.Off[i]] != uint64(i) || r[p.Out.Off[139-i]] != uint64(i+1)) {
				t.Fatal(i, p.Out.Format(r, nil))
			}
		}
	})
}

func TestWithoutEvaluator(t *testing.T) {
	l := row.ParseLayout("BIGINT")
	if _, err := eval.Compile(l, []plan.Expr{call("hash", "UBIGINT", col(l, 0))}, nil, eval.Options{}); err == nil {
		t.Error("hash has no path in Go")
	}
	if _, err := eval.Compile(l, []plan.Expr{call("no_such", "UBIGINT", col(l, 0))}, nil, eval.Options{Evaluator: instance}); err == nil {
		t.Error("no_such is bound")
	}
	p, err := eval.Compile(l, []plan.Expr{call("+", "BIGINT", col(l, 0), col(l, 0))}, nil, eval.Options{})
	if err != nil {
		t.Fatal(err)
	}
	out, bad := run(t, p, batch(t, l, "1 | +1\n9223372036854775807 | +1\n"))
	if out.Print() != "2 | +1\n" || len(bad) != 1 {
		t.Error(bad, out.Print())
	}
}

// TestPathsThatRest give way to DuckDB when they leave most rows alone.
func TestPathsThatRest(t *testing.T) {
	l := row.ParseLayout("DATE", "VARCHAR")
	in := zset.New(l)
	for i := range 1000 {
		r := in.AppendRow(int64(i + 1))
		l.Set(r, 0, uint64(1<<31-1)) // infinity
		if i%5 == 0 {
			l.Set(r, 0, uint64(i))
		}
		l.SetBytes(r, 1, fmt.Appendf(nil, "text number %d", i), in.Heap)
	}
	p := program(t, l, nil, eval.Options{}, col(l, 1), call("year", "BIGINT", col(l, 0)), eval.KeyExpr(&plan.ColumnRef{Typed: plan.Typed{Type: l.Types[0]}}), cast(col(l, 0), "TIMESTAMP"))
	if !p.InGo(1) || !p.InGo(3) {
		t.Fatal("no path")
	}
	for k := range 4 {
		out, bad := run(t, p, in)
		if len(bad) > 0 || out.Len() != 1000 {
			t.Fatal(bad)
		}
		for i := range 1000 {
			want := fmt.Sprintf("text number %d | NULL | infinity | infinity", i)
			if i%5 == 0 {
				want = fmt.Sprintf("text number %d | %d | ", i, time.Unix(int64(i)*86400, 0).UTC().Year())
			}
			if got := p.Out.Format(out.Row(i), out.Heap); !strings.HasPrefix(got, want) {
				t.Fatalf("run %d: %s, not %s", k, got, want)
			}
		}
	}
}

func BenchmarkRowsThatFail(b *testing.B) {
	l := row.ParseLayout("VARCHAR")
	for _, every := range []int{1, 10, 1000} {
		b.Run(fmt.Sprintf("every=%d", every), func(b *testing.B) {
			in := zset.New(l)
			for i := range 1000 {
				text := fmt.Sprint(i)
				if i%every == 0 {
					text = "none"
				}
				l.SetBytes(in.AppendRow(1), 0, []byte(text), in.Heap)
			}
			p := program(b, l, nil, eval.Options{}, cast(col(l, 0), "INTEGER"))
			out := zset.New(p.Out)
			for b.Loop() {
				out.Reset()
				if err := p.Run(context.Background(), in, out, func(int, error) {}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(1000*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}
