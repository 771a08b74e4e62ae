package eval

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/vegadb/vega-flight/ivm/plan"
	"github.com/vegadb/vega-flight/ivm/row"
	"github.com/vegadb/vega-flight/ivm/zset"
)

func typed(t string) plan.Typed { return plan.Typed{Type: row.MustType(t), Pos: plan.NoPosition} }

func field(l *row.Layout, i int) plan.Expr {
	return &plan.ColumnRef{Typed: plan.Typed{Type: l.Types[i], Pos: plan.NoPosition}, Index: i}
}

func TestCivil(t *testing.T) {
	for days := int64(-1_000_000); days < 1_000_000; days += 13 {
		y, m, d := civil(days)
		want := time.Unix(days*86400, 0).UTC()
		if want.Year() != int(y) || want.Month() != time.Month(m) || want.Day() != int(d) || daysOf(y, m, d) != days {
			t.Fatalf("%d is %d-%d-%d, not %s; back %d", days, y, m, d, want, daysOf(y, m, d))
		}
		if int(monthDays(y, m)) != time.Date(int(y), time.Month(m)+1, 0, 0, 0, 0, 0, time.UTC).Day() {
			t.Fatalf("%d-%d has %d days", y, m, monthDays(y, m))
		}
	}
}

func TestLike(t *testing.T) {
	for _, c := range []struct {
		text, pattern string
		want          bool
	}{
		{"abc", "abc", true}, {"abc", "ab", false}, {"abc", "a%", true}, {"abc", "%c", true}, {"abc", "%b%", true}, {"abc", "a%c", true},
		{"ac", "a%c", true}, {"a", "a%a", false}, {"aa", "a%a", true}, {"", "%", true}, {"", "", true}, {"x", "", false},
		{"abcabc", "%bc%bc", true}, {"abcbc", "%bc%bc", true}, {"abc", "%bc%bc", false}, {"aXbXc", "a%X%X%c", true}, {"aXc", "a%X%X%c", false},
		{"日本", "日%", true},
	} {
		parts, ok := likePattern(c.pattern)
		if !ok || like([]byte(c.text), parts) != c.want {
			t.Errorf("%q LIKE %q", c.text, c.pattern)
		}
	}
	if _, ok := likePattern("a_"); ok {
		t.Error("a pattern with _ has no path")
	}
}

// TestVectors runs programs over batches of all sizes around a chunk and compares them row by row.
func TestVectors(t *testing.T) {
	l := row.ParseLayout("BIGINT", "INTEGER", "VARCHAR", "BOOLEAN")
	r := rand.New(rand.NewPCG(1, 2))
	sum := &plan.Function{Typed: typed("BIGINT"), Name: "+", Args: []plan.Expr{field(l, 0), &plan.Cast{Typed: typed("BIGINT"), Child: field(l, 1)}}}
	small := &plan.Comparison{Typed: typed("BOOLEAN"), Op: plan.Less, Left: field(l, 1), Right: &plan.Constant{Typed: typed("INTEGER"), Value: int64(50)}}
	choice := &plan.Case{Typed: typed("VARCHAR"), Whens: []plan.When{{If: small, Then: field(l, 2)}}, Else: &plan.Constant{Typed: typed("VARCHAR"), Value: "what is not small"}}
	either := &plan.Conjunction{Typed: typed("BOOLEAN"), Or: true, Args: []plan.Expr{field(l, 3), small}}
	for _, filter := range []plan.Expr{nil, either} {
		p, err := Compile(l, []plan.Expr{sum, choice, either, field(l, 2)}, filter, Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range []int{0, 1, 63, 64, 65, 1023, 1024, 1025, 3000} {
			in, want := zset.New(l), zset.New(p.Out)
			for i := range n {
				x := in.AppendRow(int64(i + 1))
				a, b := int64(r.IntN(1000)-500), int64(r.IntN(100))
				text := strings.Repeat("x", r.IntN(20))
				l.Set(x, 0, uint64(a))
				l.Set(x, 1, uint64(b))
				l.SetBytes(x, 2, []byte(text), in.Heap)
				flag := r.IntN(3)
				l.Set(x, 3, uint64(flag&1))
				nulls := r.IntN(16)
				if nulls&1 != 0 {
					l.SetNull(x, 0)
				}
				if nulls&2 != 0 {
					l.SetNull(x, 1)
				}
				if flag == 2 {
					l.SetNull(x, 3)
				}
				isSmall := nulls&2 == 0 && b < 50
				yes := isSmall || flag == 1
				unknown := !yes && (nulls&2 != 0 || flag == 2)
				if filter != nil && !yes {
					continue
				}
				y := want.AppendRow(int64(i + 1))
				if nulls&3 != 0 {
					p.Out.SetNull(y, 0)
				} else {
					p.Out.Set(y, 0, uint64(a+b))
				}
				if isSmall {
					p.Out.SetBytes(y, 1, []byte(text), want.Heap)
				} else {
					p.Out.SetBytes(y, 1, []byte("what is not small"), want.Heap)
				}
				switch {
				case unknown:
					p.Out.SetNull(y, 2)
				case yes:
					p.Out.Set(y, 2, 1)
				}
				p.Out.SetBytes(y, 3, []byte(text), want.Heap)
			}
			out := zset.New(p.Out)
			if err := p.Run(context.Background(), in, out, nil); err != nil {
				t.Fatal(err)
			}
			if !out.Equal(want) {
				t.Fatalf("%d rows:\n%s", n, out.Print())
			}
		}
	}
}

// TestNoAllocations of a run depend on its rows.
func TestNoAllocations(t *testing.T) {
	l := row.ParseLayout("BIGINT", "BIGINT", "VARCHAR")
	small := &plan.Comparison{Typed: typed("BOOLEAN"), Op: plan.Less, Left: field(l, 1), Right: &plan.Constant{Typed: typed("BIGINT"), Value: int64(50)}}
	p, err := Compile(l, []plan.Expr{field(l, 2), &plan.Function{Typed: typed("BIGINT"), Name: "*", Args: []plan.Expr{field(l, 0), field(l, 1)}},
		&plan.Case{Typed: typed("VARCHAR"), Whens: []plan.When{{If: small, Then: field(l, 2)}}, Else: &plan.Constant{Typed: typed("VARCHAR"), Value: "another text"}}}, small, Options{})
	if err != nil {
		t.Fatal(err)
	}
	in, out := zset.New(l), zset.New(p.Out)
	for i := range 5000 {
		x := in.AppendRow(1)
		l.Set(x, 0, uint64(i))
		l.Set(x, 1, uint64(i%100))
		l.SetBytes(x, 2, fmt.Appendf(nil, "a text that is long, number %d", i), in.Heap)
	}
	run := func() {
		out.Reset()
		if err := p.Run(context.Background(), in, out, nil); err != nil {
			t.Fatal(err)
		}
	}
	run()
	if n := testing.AllocsPerRun(20, run); n > 8 {
		t.Errorf("%v allocations for 5000 rows", n)
	}
}

func TestDeparse(t *testing.T) {
	l := row.ParseLayout("BIGINT", "ENUM('a', 'b')", "VARCHAR", "INTEGER[]")
	x := &plan.ParamRef{Typed: typed("INTEGER"), Name: "x"}
	for want, e := range map[string]plan.Expr{
		`"+"(c0, CAST(1 AS BIGINT))`: &plan.Function{Typed: typed("BIGINT"), Name: "+", Args: []plan.Expr{field(l, 0), &plan.Constant{Typed: typed("BIGINT"), Value: int64(1)}}},
		`CAST(c1 AS ENUM('a', 'b'))`: field(l, 1),
		`(c2 IN ('it''s', 'b'))`: &plan.In{Typed: typed("BOOLEAN"), Child: field(l, 2), List: []plan.Expr{
			&plan.Constant{Typed: typed("VARCHAR"), Value: "it's"}, &plan.Constant{Typed: typed("VARCHAR"), Value: "b"}}},
		`(NOT (c0 BETWEEN c0 AND c0))`: &plan.Between{Typed: typed("BOOLEAN"), Child: field(l, 0), Low: field(l, 0), High: field(l, 0), Not: true},
		`(c0 > c0 AND c0 <= c0)`:       &plan.Between{Typed: typed("BOOLEAN"), Child: field(l, 0), Low: field(l, 0), High: field(l, 0), LowOpen: true},
		`"list_transform"(c3, lambda "x": "-"("x"))`: &plan.Function{Typed: typed("INTEGER[]"), Name: "list_transform", Args: []plan.Expr{field(l, 3)},
			Lambda: &plan.Lambda{Params: []string{"x"}, Body: &plan.Function{Typed: typed("INTEGER"), Name: "-", Args: []plan.Expr{x}}}},
		`"struct_update"(c0, "a b" := c0)`: &plan.Function{Typed: typed(`STRUCT("a b" BIGINT)`), Name: "struct_update", Args: []plan.Expr{field(l, 0), field(l, 0)}, ArgNames: []string{"a b"}},
		`"struct_pack"("a b" := c0)`:       &plan.Function{Typed: typed(`STRUCT("a b" BIGINT)`), Name: "struct_pack", Args: []plan.Expr{field(l, 0)}},
		`TRY(clock)`:                       &plan.Function{Typed: typed("TIMESTAMP WITH TIME ZONE"), Name: "TRY", Args: []plan.Expr{&plan.Clock{Typed: typed("TIMESTAMP WITH TIME ZONE")}}},
		`CASE WHEN (c0 IS NULL) THEN c0 ELSE TRY_CAST(c2 AS BIGINT) END`: &plan.Case{Typed: typed("BIGINT"), Whens: []plan.When{{If: &plan.IsNull{Typed: typed("BOOLEAN"), Child: field(l, 0)}, Then: field(l, 0)}},
			Else: &plan.Cast{Typed: typed("BIGINT"), Try: true, Child: field(l, 2)}},
	} {
		if got := Deparse(e); got != want {
			t.Errorf("%s, not %s", got, want)
		}
	}
	if _, err := deparse(&plan.Function{Typed: typed("STRUCT(a INTEGER)"), Name: "struct_update", Args: []plan.Expr{field(l, 0), field(l, 0)}}); err == nil {
		t.Error("struct_update has lost its names")
	}
	if _, err := deparse(KeyExpr(&plan.ColumnRef{Typed: typed("DOUBLE")})); err == nil {
		t.Error("a normal form is no SQL")
	}
}

func TestCarrier(t *testing.T) {
	for in, want := range map[string]string{
		"BIGINT": "BIGINT", "ENUM('a')": "VARCHAR", "BIT": "VARCHAR", "STRUCT(a ENUM('x'), b BIGINT)[]": "STRUCT(a VARCHAR, b BIGINT)[]", "MAP(VARCHAR, BIT)": "MAP(VARCHAR, VARCHAR)",
	} {
		if got := Carrier(row.MustType(in)).String(); got != want {
			t.Errorf("%s is carried as %s, not %s", in, got, want)
		}
	}
}
