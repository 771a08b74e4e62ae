package plan

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/vegadb/vega-flight/ivm/row"
)

// shares says how many nodes of two uses of one become one: the nodes that are shared, outer ones first.
func shares(a, b Node) []Node {
	root := share(&Join{Left: a, Right: b})
	var out []Node
	for _, i := range Of(root).Nodes {
		if s, ok := i.Node.(*Shared); ok && len(i.Readers) > 1 {
			out = append(out, s.Input)
		}
	}
	return out
}

func TestWhatIsEqual(t *testing.T) {
	s := source("t", "a INTEGER", "b BIGINT", "c VARCHAR", "d DOUBLE")
	a, b, c := col(0, "a", "INTEGER"), col(1, "b", "BIGINT"), col(2, "c", "VARCHAR")
	group := func(by Expr, in Node) Node { return count(in, []Expr{by}, "g") }
	where := func(pred Expr) Node { return group(a, &Filter{scan(s), pred}) }
	is := func(e Expr, k *Constant) Expr { return compare(Equal, e, k, NoPosition) }
	of := func(typ string, v any) *Constant { return &Constant{typed(typ), v} }
	call := func(f Function) Expr {
		f.Typed, f.ArgTypes = typed("BIGINT"), []row.Type{row.MustType("BIGINT")}
		if f.Args == nil {
			f.Args = []Expr{b}
		}
		if f.Name == "" {
			f.Name = "f"
		}
		return &f
	}
	at := func(e Expr, pos int) Expr {
		r := *e.(*ColumnRef)
		r.Pos = pos
		return &r
	}
	named := func(t string) *ColumnRef { return col(2, "c", t) }
	for _, x := range []struct {
		name     string
		one, two Node
		equal    bool
	}{
		{"the same", group(a, scan(s)), group(a, scan(s)), true},
		{"places in the text", group(a, scan(s)), group(at(a, 7), scan(s)), true},
		{"names of columns", count(scan(s), []Expr{a}, "x"), count(scan(s), []Expr{a}, "y"), true},
		{"names in references", group(a, scan(s)), group(col(0, "z", "INTEGER"), scan(s)), true},
		{"another column", group(a, scan(s)), group(b, scan(s)), false},
		{"another table", group(a, scan(s)), group(a, scan(source("t", "a INTEGER", "b BIGINT", "c VARCHAR", "d DOUBLE"))), false},
		{"a literal", where(is(b, Int(1))), where(is(b, Int(1))), true},
		{"another literal", where(is(b, Int(1))), where(is(b, Int(2))), false},
		{"a literal's type", where(is(b, Int(1))), where(is(b, of("INTEGER", int64(1)))), false},
		{"a literal's scale", where(is(b, of("DECIMAL(4,1)", int64(10)))), where(is(b, of("DECIMAL(4,2)", int64(10)))), false},
		{"NULL of another type", where(is(b, of("BIGINT", nil))), where(is(b, of("VARCHAR", nil))), false},
		{"zeros of two signs", where(is(b, of("DOUBLE", 0.0))), where(is(b, of("DOUBLE", math.Copysign(0, -1)))), false},
		{"text and its bytes", where(is(b, of("VARCHAR", "x"))), where(is(b, of("BLOB", []byte("x")))), false},
		{"intervals that are as long", where(is(b, of("INTERVAL", Interval{Months: 1}))), where(is(b, of("INTERVAL", Interval{Days: 30}))), false},
		{"lists", where(is(b, of("BIGINT[]", Elements{Int(1), Int(2)}))), where(is(b, of("BIGINT[]", Elements{Int(1), Int(2)}))), true},
		{"lists of other values", where(is(b, of("BIGINT[]", Elements{Int(1), Int(2)}))), where(is(b, of("BIGINT[]", Elements{Int(12)}))), false},
		{"names of fields", where(is(b, of("STRUCT(x BIGINT)", Elements{Int(1)}))), where(is(b, of("STRUCT(y BIGINT)", Elements{Int(1)}))), false},
		{"a collation", group(c, scan(s)), group(named("VARCHAR COLLATE nocase"), scan(s)), false},
		{"the other way round", where(is(b, Int(1))), where(&Not{typed("BOOLEAN"), is(b, Int(1))}), false},
		{"a cast", group(&Cast{typed("BIGINT"), false, a}, scan(s)), group(&Cast{typed("BIGINT"), true, a}, scan(s)), false},
		{"a function", group(call(Function{}), scan(s)), group(call(Function{}), scan(s)), true},
		{"a function's schema", group(call(Function{}), scan(s)), group(call(Function{Schema: "x"}), scan(s)), false},
		{"what DuckDB bound", group(call(Function{}), scan(s)), group(call(Function{Data: "{}"}), scan(s)), false},
		{"a lambda", group(call(Function{Lambda: &Lambda{[]string{"x"}, b}}), scan(s)), group(call(Function{Lambda: &Lambda{[]string{"x"}, b}}), scan(s)), true},
		{"another lambda", group(call(Function{Lambda: &Lambda{[]string{"x"}, b}}), scan(s)), group(call(Function{Lambda: &Lambda{[]string{"x"}, a}}), scan(s)), false},
		{"what changes with each call", group(call(Function{Volatile: true}), scan(s)), group(call(Function{Volatile: true}), scan(s)), false},
		{"what is refused", group(&Refused{typed("BIGINT"), Reason{}}, scan(s)), group(&Refused{typed("BIGINT"), Reason{}}, scan(s)), false},
		{"a sample", group(a, &Unsupported{Type: "sample", In: []Node{scan(s)}, Cols: scan(s).Columns()}), group(a, &Unsupported{Type: "sample", In: []Node{scan(s)}, Cols: scan(s).Columns()}), false},
		{"a join's kind", &Join{Kind: Left, Left: scan(s), Right: scan(s)}, &Join{Kind: Inner, Left: scan(s), Right: scan(s)}, false},
		{"a join's sides", &Join{Left: scan(s), Right: scan(s), Residual: compare(Less, a, col(4, "a", "INTEGER"), NoPosition)},
			&Join{Left: scan(s), Right: scan(s), Residual: compare(Less, col(4, "a", "INTEGER"), a, NoPosition)}, false},
		{"an order", &TopK{Input: scan(s), Order: []OrderItem{{Expr: a}}, Limit: 1}, &TopK{Input: scan(s), Order: []OrderItem{{Expr: a}}, Limit: 1}, true},
		{"a limit", &TopK{Input: scan(s), Order: []OrderItem{{Expr: a}}, Limit: 1}, &TopK{Input: scan(s), Order: []OrderItem{{Expr: a}}, Limit: 2}, false},
		{"NULLS FIRST", &TopK{Input: scan(s), Order: []OrderItem{{Expr: a}}, Limit: 1}, &TopK{Input: scan(s), Order: []OrderItem{{Expr: a, NullsFirst: true}}, Limit: 1}, false},
		{"grouping sets", &Aggregate{Input: scan(s), Groups: []Expr{a}, Names: []string{"a"}, Sets: [][]int{{0}, {}}}, &Aggregate{Input: scan(s), Groups: []Expr{a}, Names: []string{"a"}, Sets: [][]int{{0}, {0}}}, false},
		{"one set of all and no sets", &Aggregate{Input: scan(s), Groups: []Expr{a}, Names: []string{"a"}, Sets: [][]int{}}, &Aggregate{Input: scan(s), Groups: []Expr{a}, Names: []string{"a"}}, false},
		{"distinct rows", &DistinctRows{&Project{scan(s), []Expr{a, b}, []string{"a", "b"}}, NoPosition}, &DistinctRows{&Project{scan(s), []Expr{b, a}, []string{"b", "a"}}, NoPosition}, true},
		{"distinct rows of fewer columns", &DistinctRows{&Project{scan(s), []Expr{a, b}, []string{"a", "b"}}, NoPosition}, &DistinctRows{&Project{scan(s), []Expr{a}, []string{"a"}}, NoPosition}, false},
		{"a filtered table", &Filter{scan(s), is(b, Int(1))}, &Filter{scan(s), is(b, Int(1))}, false}, // has no state
	} {
		if got := len(shares(x.one, x.two)) > 0; got != x.equal {
			t.Errorf("%s: shared is %v", x.name, got)
		}
	}
}

// Two uses of other columns make one node with the columns of both, and nothing that is not asked for.
func TestSharedColumns(t *testing.T) {
	s := source("t", "a INTEGER", "b BIGINT", "c BIGINT", "d BIGINT")
	per := func(column int) Node {
		f := s.Columns[column]
		in := &Scan{Source: s, Fields: []TableColumn{s.Columns[0], f}}
		return &Aggregate{Input: in, Groups: []Expr{col(0, "a", "INTEGER")}, Names: []string{"a"}, Aggs: []Agg{{Name: "sum", Args: []Expr{col(1, f.Name, "BIGINT")}, Type: row.MustType("HUGEINT"), Column: f.Name}}}
	}
	both := shares(per(3), per(1))
	if len(both) != 1 {
		t.Fatalf("%d nodes are shared", len(both))
	}
	want := "aggregate groups=[#0 a] aggs=[sum(#2 d), sum(#1 b)]\n  scan t (a, b, d)\n"
	if got := Of(both[0]).Text(); got != want {
		t.Errorf("it is\n%swant\n%s", got, want)
	}
}

// What is known of a watermark depends on the order of columns: only nodes with the same columns are one.
func TestSharedWatermark(t *testing.T) {
	s := source("t", "a INTEGER", "ts TIMESTAMP")
	s.AppendOnly, s.Unbounded, s.Watermark = true, true, "ts"
	of := func(names ...string) Node {
		p := &Project{Input: scan(s)}
		for _, n := range names {
			e := Expr(col(1, "ts", "TIMESTAMP"))
			if n == "w" {
				e = bucket(1, "ts")
			}
			p.Exprs, p.Names = append(p.Exprs, e), append(p.Names, n)
		}
		return count(p, []Expr{col(0, names[0], "TIMESTAMP")}, names[0])
	}
	if n := len(shares(of("ts", "w"), of("ts", "w"))); n != 1 {
		t.Errorf("%d nodes are shared of equal windows", n)
	}
	for _, p := range []Node{of("ts"), of("w")} {
		if plan := Of(share(&SetOp{UnionAll, []Node{p, of("w", "ts"), p}, NoPosition})); !plan.Admitted() {
			t.Errorf("it is refused: %v", plan.Reasons)
		}
	}
}

// A node that is read twice has one number, and says who reads it.
func TestSharedNodesSayWhoReadsThem(t *testing.T) {
	s := source("t", "a INTEGER")
	per := func() Node { return count(scan(s), []Expr{col(0, "a", "INTEGER")}, "a") }
	p := Of(share(&SetOp{UnionAll, []Node{per(), &DistinctRows{per(), NoPosition}, per()}, NoPosition}))
	i := slices.IndexFunc(p.Nodes, func(i *Info) bool { return i.Operator == "shared" })
	if len(p.Nodes) != 5 || i < 0 || !slices.Equal(p.Nodes[i].Readers, []int{0, 4, 0}) || p.Nodes[i].Parent != 0 {
		t.Fatalf("%s", p.ExplainText())
	}
	if row := p.Explain()[i]; row.Detail != "subquery for #0, #4" || row.ParentID != 0 {
		t.Errorf("%+v", row)
	}
}

func TestFingerprint(t *testing.T) {
	s := source("t", "a INTEGER", "b BIGINT")
	per := func(by Expr) Node { return count(scan(s), []Expr{by}, "g") }
	a := col(0, "a", "INTEGER")
	twice := func(x, y Node) Node { return &SetOp{UnionAll, []Node{x, y}, NoPosition} }
	same := func(what string, x, y Node, want bool) {
		t.Helper()
		if got := Of(x).Fingerprint() == Of(y).Fingerprint(); got != want {
			t.Errorf("%s: equal is %v", what, got)
		}
	}
	same("itself", per(a), per(a), true)
	same("names", per(a), count(scan(s), []Expr{a}, "other"), true)
	same("a type that the text does not show", per(&Function{Typed: typed("BIGINT"), Name: "f", Args: []Expr{a}}), per(&Function{Typed: typed("INTEGER"), Name: "f", Args: []Expr{a}}), false)
	same("a column's type", per(a), count(scan(source("t", "a BIGINT", "b BIGINT")), []Expr{col(0, "a", "BIGINT")}, "g"), false)
	same("once and twice", twice(per(a), per(a)), share(twice(per(a), per(a))), false)
	same("equal sharing", share(twice(per(a), per(a))), share(twice(per(a), per(a))), true)
	marked := *s
	marked.Watermark = "b"
	same("a watermark", per(a), count(scan(&marked), []Expr{a}, "g"), false)
	if f := Of(per(a)).Fingerprint(); len(f) != 32 || strings.ToLower(f) != f {
		t.Error(f)
	}
}
