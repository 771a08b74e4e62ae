package plan

import (
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/vegadb/vega-flight/ivm/row"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func typed(t string) Typed { return Typed{row.MustType(t), NoPosition} }

func col(i int, name, t string) *ColumnRef { return &ColumnRef{typed(t), i, name} }

// source makes a source of "name type" columns.
func source(name string, columns ...string) *Source {
	s := &Source{Schema: "main", Name: name}
	for i, c := range columns {
		n, t, _ := strings.Cut(c, " ")
		s.Columns = append(s.Columns, TableColumn{int64(i + 1), n, row.MustType(t)})
	}
	return s
}

func scan(s *Source) *Scan { return &Scan{Source: s, Fields: s.Columns, Pos: NoPosition} }

func bucket(i int, name string) Expr {
	width := &Constant{typed("INTERVAL"), Interval{Micros: 60_000_000}}
	return &Function{Typed: typed("TIMESTAMP"), Name: "time_bucket", Args: []Expr{width, col(i, name, "TIMESTAMP")}}
}

func count(n Node, groups []Expr, names ...string) *Aggregate {
	return &Aggregate{Input: n, Groups: groups, Names: names, Aggs: []Agg{{Name: "count_star", Type: bigint, Column: "n", Pos: NoPosition}}, Pos: NoPosition}
}

func TestKeysAndModes(t *testing.T) {
	people := source("people", "id BIGINT", "city VARCHAR")
	people.Keys = [][]string{{"id"}}
	events := source("events", "who BIGINT", "what VARCHAR", "ts TIMESTAMP")
	events.AppendOnly = true
	join := func(k JoinKind, l, r Node, at ...Condition) *Join {
		return &Join{Kind: k, Left: l, Right: r, Conditions: at, Pos: NoPosition}
	}
	who := Condition{col(0, "who", "BIGINT"), col(0, "id", "BIGINT"), Equal}
	for _, c := range []struct {
		name string
		node Node
		out  Mode
		key  string
	}{
		{"a table", scan(source("t", "a INTEGER")), Retract, "row"},
		{"a table with a key", scan(people), Upsert, "(id)"},
		{"an append-only source", scan(events), Append, "row"},
		{"a filter", &Filter{scan(events), compare(Equal, col(0, "who", "BIGINT"), Int(1), NoPosition)}, Append, "row"},
		{"a projection that loses the key", &Project{scan(people), []Expr{col(1, "city", "VARCHAR")}, []string{"city"}}, Retract, "row"},
		{"groups", count(scan(events), []Expr{col(1, "what", "VARCHAR")}, "what"), Upsert, "(what)"},
		{"no groups", count(scan(events), nil), Upsert, "()"},
		{"distinct", &DistinctRows{scan(events), NoPosition}, Append, "(who, what, ts)"},
		{"a join with a key", join(Inner, scan(events), scan(people), who), Retract, "row"},
		{"a join of appends", join(Inner, scan(events), scan(events), Condition{col(0, "who", "BIGINT"), col(0, "who", "BIGINT"), Equal}), Append, "row"},
		{"a left join of appends", join(Left, scan(events), scan(events), Condition{col(0, "who", "BIGINT"), col(0, "who", "BIGINT"), Equal}), Retract, "row"},
		{"a join to many", join(Inner, scan(people), scan(people), Condition{col(1, "city", "VARCHAR"), col(1, "city", "VARCHAR"), Equal}), Upsert, "(id, id)"},
		{"a join to one", join(Left, scan(people), scan(people), Condition{col(0, "id", "BIGINT"), col(0, "id", "BIGINT"), Equal}), Upsert, "(id)"},
		{"semi", join(Semi, scan(people), scan(events), Condition{col(0, "id", "BIGINT"), col(0, "who", "BIGINT"), Equal}), Upsert, "(id)"},
		{"union", &SetOp{UnionAll, []Node{scan(events), scan(events)}, NoPosition}, Append, "row"},
		{"top of each", &TopK{Input: scan(people), Partition: []Expr{col(1, "city", "VARCHAR")}, Order: []OrderItem{{Expr: col(0, "id", "BIGINT")}}, Limit: 1, Pos: NoPosition}, Upsert, "(city)"},
		{"the first", &TopK{Input: scan(people), Order: []OrderItem{{Expr: col(0, "id", "BIGINT")}}, Limit: 1, Pos: NoPosition}, Upsert, "()"},
		{"grouping sets", &Aggregate{Input: scan(people), Groups: []Expr{col(1, "city", "VARCHAR")}, Names: []string{"city"}, Sets: [][]int{{0}, {}}, Pos: NoPosition}, Retract, "row"},
	} {
		p := Of(c.node)
		r := p.Explain()[0]
		if p.Nodes[0].Output != c.out || r.Key != c.key {
			t.Errorf("%s: %s by %s, want %s by %s", c.name, r.OutputMode, r.Key, c.out, c.key)
		}
	}
}

func TestChoices(t *testing.T) {
	keyed := source("k", "id BIGINT", "v DOUBLE")
	keyed.Keys = [][]string{{"id"}}
	top := func(by ...int) *Info {
		n := &TopK{Input: scan(keyed), Limit: 3, Pos: NoPosition}
		for _, i := range by {
			n.Order = append(n.Order, OrderItem{Expr: ref(n.Input.Columns(), i)})
		}
		return Of(n).Nodes[0]
	}
	if i := top(1); !i.Choice || !i.Arbitrary[0] {
		t.Error("an order with ties leaves a choice")
	}
	if i := top(1, 0); i.Choice || i.Arbitrary[0] {
		t.Error("an order with a key leaves none")
	}
	sum := &Aggregate{Input: scan(keyed), Aggs: []Agg{{Name: "sum", Args: []Expr{col(1, "v", "DOUBLE")}, Type: row.MustType("DOUBLE"), Column: "s"},
		{Name: "max", Args: []Expr{col(1, "v", "DOUBLE")}, Type: row.MustType("DOUBLE"), Column: "m"}}}
	i := Of(&Project{sum, []Expr{col(1, "m", "DOUBLE"), &Cast{typed("FLOAT"), false, col(0, "s", "DOUBLE")}}, []string{"m", "s"}}).Nodes[0]
	if i.Inexact[0] || !i.Inexact[1] {
		t.Errorf("a sum of DOUBLE is inexact, a maximum is not: %v", i.Inexact)
	}
}

func TestStreamsNeedWindows(t *testing.T) {
	clicks := source("clicks", "who BIGINT", "ts TIMESTAMP")
	clicks.AppendOnly, clicks.Unbounded, clicks.Watermark, clicks.Delay = true, true, "ts", "5 seconds"
	who := []Expr{col(0, "who", "BIGINT")}
	for _, c := range []struct {
		name     string
		node     Node
		admitted bool
		window   string
	}{
		{"a filter", &Filter{scan(clicks), compare(Equal, who[0], Int(1), NoPosition)}, true, ""},
		{"a count", count(scan(clicks), nil), true, ""},
		{"groups without end", count(scan(clicks), who, "who"), false, ""},
		{"a window", count(scan(clicks), []Expr{who[0], bucket(1, "ts")}, "who", "w"), true, "time_bucket"},
		{"a window over a projection", count(&Project{scan(clicks), []Expr{bucket(1, "ts")}, []string{"w"}}, []Expr{col(0, "w", "TIMESTAMP")}, "w"), true, "w"},
		{"distinct with its time", &DistinctRows{scan(clicks), NoPosition}, true, "ts"},
		{"the last ten", &TopK{Input: scan(clicks), Order: []OrderItem{{Expr: col(1, "ts", "TIMESTAMP"), Desc: true}}, Limit: 10, Pos: NoPosition}, true, ""},
		{"a join without end", &Join{Kind: Inner, Left: scan(clicks), Right: scan(source("t", "a BIGINT")), Conditions: []Condition{{who[0], col(0, "a", "BIGINT"), Equal}}, Pos: NoPosition}, false, ""},
		{"groups of the recent ones", count(&Temporal{Input: scan(clicks), Bounds: []ClockBound{{Row: &Cast{typed("TIMESTAMPTZ"), false, col(1, "ts", "TIMESTAMP")}, Op: Greater, At: &Clock{typed("TIMESTAMPTZ")}, Monotone: true}}, Pos: NoPosition}, who, "who"), true, ""},
		{"windows over a join of equal times", count(&Join{Kind: Inner, Left: scan(clicks), Right: scan(clicks), Conditions: []Condition{{col(1, "ts", "TIMESTAMP"), col(1, "ts", "TIMESTAMP"), Equal}}, Pos: NoPosition}, []Expr{bucket(1, "ts")}, "w"), true, "time_bucket"},
		{"windows over a join of other rows", count(&Join{Kind: Inner, Left: scan(clicks), Right: scan(source("t", "a BIGINT")), Conditions: []Condition{{who[0], col(0, "a", "BIGINT"), Equal}}, Pos: NoPosition}, []Expr{bucket(1, "ts")}, "w"), false, ""},
		{"windows over the first of all times", count(&TopK{Input: scan(clicks), Order: []OrderItem{{Expr: col(0, "who", "BIGINT")}}, Limit: 10, Pos: NoPosition}, []Expr{bucket(1, "ts")}, "w"), true, ""},
	} {
		p := Of(c.node)
		if p.Admitted() != c.admitted {
			t.Errorf("%s: %v", c.name, p.Reasons)
		}
		if got := p.Explain()[0].WindowOrTTL; (c.window == "") != (got == "") || !strings.Contains(got, c.window) {
			t.Errorf("%s: the window is %q, want %q", c.name, got, c.window)
		}
	}
	if w := Of(scan(clicks)).Explain()[0].Watermark; w != "ts - 5 seconds" {
		t.Errorf("the watermark: %q", w)
	}
}

func TestEveryReasonHasItsName(t *testing.T) {
	seen := map[Code]bool{}
	for _, c := range Codes() {
		if seen[c.Code] || c.Doc == "" || !strings.HasSuffix(c.Doc, ".") || strings.ToUpper(string(c.Code)) != string(c.Code) {
			t.Errorf("%+v", c)
		}
		seen[c.Code] = true
	}
}

func TestFind(t *testing.T) {
	for _, c := range []struct {
		sql  string
		want int
	}{
		{"SELECT now() FROM t", 7}, {"SELECT 'now', \"now\", now()", 21}, {"-- now\nSELECT now()", 14}, {"/* now /* now */ */ NOW()", 20},
		{"SELECT nowhere", NoPosition}, {"SELECT 'it''s now', now()", 20}, {"", NoPosition}, {"'", NoPosition}, {"/*", NoPosition},
	} {
		if got := find(c.sql, [][]string{{"now"}}); got != c.want {
			t.Errorf("%s: %d, want %d", c.sql, got, c.want)
		}
	}
}

func TestShift(t *testing.T) {
	p := Unplanned(Reason{Sample, 3, "x", ""}, Reason{UnknownOperator, NoPosition, "y", ""})
	p.Shift(10)
	if got := p.ExplainText(); !strings.Contains(got, "SAMPLE at 13: x") || !strings.Contains(got, "UNKNOWN_OPERATOR: y") || p.Admitted() {
		t.Error(got)
	}
}
