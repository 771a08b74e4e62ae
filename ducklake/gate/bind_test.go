package gate

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/vegadb/vega-flight/fault"
)

// shop is a lake for view definitions.
var shop = append(append([]string{}, sales...),
	"CREATE TABLE sales.wide(a INTEGER, b INTEGER, c INTEGER, d DOUBLE, s STRUCT(a INTEGER, t STRUCT(u VARCHAR)), l INTEGER[], \"Select\" VARCHAR)",
	"INSERT INTO sales.wide SELECT i, i % 3, i % 5, i / 7, {a: i, t: {u: 'x' || i}}, [i, i + 1], 'q' FROM range(20) r(i)",
	"CREATE VIEW sales.star AS SELECT * FROM wide",
	"CREATE VIEW sales.stars(p, q) AS SELECT a, b FROM star -- the first two",
	"CREATE VIEW over AS SELECT w.p, c.name FROM sales.stars w JOIN sales.customer c ON c.id = w.p",
	"CREATE MACRO twice(x) AS x * 2",
	"CREATE MACRO nested(x, y := 3) AS twice(x) + twice(y)",
	"CREATE MACRO sum_of(l) AS list_sum(list_transform(l, lambda x: x + len(l)))",
	"CREATE MACRO biggest(k) AS (SELECT max(a) FROM sales.wide WHERE b = k)",
	"CREATE MACRO typed(x DOUBLE) AS x / 2",
	"CREATE MACRO many(a) AS a, (a, b) AS a + b",
	"CREATE MACRO picked(n, m := 100) AS TABLE SELECT a, b FROM sales.wide WHERE a > n AND a < m",
	"CREATE MACRO sales.local(x) AS x + 1000",
)

// bindable queries, the schema they are bound in, and the sources with the used columns.
var bindings = []struct{ schema, sql, sources string }{
	{"main", "select a, b from t", "main.t(a b)"},
	{"main", "select a from t where b like 'o%'", "main.t(a b)"},
	{"main", "select * from t", "main.t(a b)"},
	{"main", "from t", "main.t(a b)"},
	{"main", "table t", "main.t(a b)"},
	{"main", "select count(*) from t", "main.t()"},
	{"main", "select x.a from t x", "main.t(a)"},
	{"main", "select t.a, main.t.b, lake.main.t.a as c from lake.main.t", "main.t(a b)"},
	{"sales", "select wide.s.t.u, sales.wide.s.a, wide.l[1] from wide", "sales.wide(a s l)"},
	{"sales", "select id from orders o join customer using (id)", "sales.customer(id) sales.orders(id)"},
	{"sales", "select o.id, c.name from orders o, customer c where o.customer = c.id", "sales.customer(id name) sales.orders(id customer)"},
	{"sales", "select * from orders natural join (select id from customer)", "sales.customer(id name region) sales.orders(id customer amount placed tags info)"},
	{"sales", "with w as (select a, b from wide) select b, sum(a) as n from w group by b", "sales.wide(a b)"},
	{"main", "with t as (select a from sales.wide) select * from t", "sales.wide(a b c d s l Select)"},
	{"main", "with x as (select a from t), t as (select a + 10 as a from x) select a from t", "main.t(a)"},
	{"main", "with recursive r(n) as (select min(a) from t union all select n + 1 from r where n < 5) select n from r", "main.t(a)"},
	{"sales", "select a from wide union all select id from customer", "sales.customer(id) sales.wide(a)"},
	{"sales", "select a, b from wide union all by name select id as b from customer", "sales.customer(id name region) sales.wide(a b c d s l Select)"},
	{"sales", "select b, count(*) filter (where a > 3) as n, sum(d) from wide group by rollup (b) having count(*) > 1 order by all limit 100", "sales.wide(a b d)"},
	{"sales", "select a, row_number() over (partition by b order by a) as r from wide qualify r < 3", "sales.wide(a b)"},
	{"sales", "pivot (select b, c, a from wide) on c in (0, 1, 2) using sum(a) group by b", "sales.wide(a b c d s l Select)"},
	{"sales", "unpivot (select a, b from wide) on a, b into name k value v", "sales.wide(a b c d s l Select)"},
	{"sales", "select * exclude (s, l) replace (a + 1 as a) from wide where a in (select customer from orders)", "sales.orders(id customer amount placed tags info) sales.wide(a b c d s l Select)"},
	{"sales", "select w from wide w", "sales.wide(a b c d s l Select)"},
	{"sales", "select p, q from wide as w(p, q)", "sales.wide(a b c d s l Select)"},
	{"sales", "select [x * a for x in l], list_filter(l, lambda b: b > a) from wide", "sales.wide(a b l)"},
	{"sales", "select a from wide where exists (select 1 from customer c where c.id = wide.a)", "sales.customer(id) sales.wide(a)"},
	{"sales", "select o.id, x.m from orders o, lateral (select max(a) as m from wide w where w.b = o.customer) x", "sales.orders(id customer) sales.wide(a b)"},
	{"sales", "select o.id from orders o asof join wide w on o.customer >= w.a", "sales.orders(id customer) sales.wide(a)"},
	{"sales", "select \"Select\", 1e10, 1.50, 0.1e0, 123456789.123456789e0, 'it''s', $$a;b$$, e'\\n', x'41', 12345678901234567890123 from wide", "sales.wide(Select)"},
	{"sales", "select date '2020-01-01' + interval 1 month, timestamptz '2020-01-01 00:00:00+00' from wide -- with a comment", "sales.wide()"},
	{"sales", "select a + 1, max(b) over (), [1, 2], {'k': a} from wide", "sales.wide(a b)"},
	{"main", "select * from over", "sales.customer(id name) sales.wide(a b c d s l Select)"},
	{"main", "select o.p from over o", "sales.customer(id name) sales.wide(a b c d s l Select)"},
	{"main", "select main.over.p, over.name from over", "sales.customer(id name) sales.wide(a b c d s l Select)"},
	{"sales", "select p from stars as x(p)", "sales.wide(a b c d s l Select)"},
	{"main", "with wide as (select 1 as a) select p from sales.stars, wide", "sales.wide(a b c d s l Select)"},
	{"sales", "select order_id, who from big", "sales.customer(id name) sales.orders(id customer amount)"},
	{"main", "select n from v", "main.t(a)"},
	{"main", "select twice(a), nested(a), nested(a, y := twice(a)) as z from t", "main.t(a)"},
	{"sales", "select sum_of(l), twice((select max(id) from customer)) from wide", "sales.customer(id) sales.wide(l)"},
	{"main", "select biggest(x.n) from (select 1 as n union all select 2) x", "sales.wide(a b)"},
	{"main", "select biggest(2), biggest(k => 1) from t", "main.t(a b) sales.wide(a b)"},
	{"main", "select typed(a), many(a), many(a, 2) from t", "main.t(a)"},
	{"main", "select * from picked(3)", "sales.wide(a b c d s l Select)"},
	{"main", "select p.a from picked(3, m := 9) p join t on t.a = p.b", "main.t(a b) sales.wide(a b)"},
	{"sales", "select local(a), lake.main.twice(a), plus(a), main.plus(a, y := 5) from wide", "sales.wide(a)"},
	{"main", "select t.a from t, range(3) r(i), unnest([1, 2]) u(x) where i = x", "main.t(a)"},
	{"main", "select 1 as one", ""},
	{"main", "values (1, 'a'), (2, 'b')", ""},
	{"sales", "select a from wide where b > any (select id from customer) and (a, b) in (select id, id from customer)", "sales.customer(id) sales.wide(a b)"},
	{"sales", "select c.id from customer c semi join orders o on o.customer = c.id", "sales.customer(id) sales.orders(customer)"},
	{"sales", "select amount::double as amount, extract(year from placed) as y, case when amount > 15 then 'big' else 'small' end as size from orders", "sales.orders(amount placed)"},
	{"sales", "select distinct on (b) b, a from wide order by b, a desc", "sales.wide(a b)"},
	{"sales", "select a from wide intersect select id from customer except all select 1", "sales.customer(id) sales.wide(a)"},
	{"sales", "select\u00a0a\u2003from\u3000wide", "sales.wide(a)"},
	{"sales", "(select a from wide limit 0) union all (select b from wide limit 0)", "sales.wide(a b)"},
}

func sourceList(b *Bound) string {
	out := make([]string, len(b.Sources))
	for i, s := range b.Sources {
		out[i] = s.Schema + "." + s.Name + "(" + strings.Join(s.Columns, " ") + ")"
	}
	return strings.Join(out, " ")
}

// result is what a query gives from a schema, as a sorted text.
func (r *realLake) result(schema, sql string) string {
	r.t.Helper()
	ctx := context.Background()
	r.must("USE lake." + schema)
	rows, err := r.conn.Rows(ctx, "SELECT columns(*)::VARCHAR FROM ("+sql+"\n) ORDER BY ALL")
	if err != nil {
		r.t.Fatalf("%s: %v", sql, err)
	}
	stmt, err := r.conn.Prepare(ctx, sql)
	if err != nil {
		r.t.Fatalf("%s: %v", sql, err)
	}
	defer func() {
		if err := stmt.Close(); err != nil {
			r.t.Error(err)
		}
	}()
	return fmt.Sprint(stmt.Columns(), rows)
}

func TestBoundQueriesAreTheSameQueries(t *testing.T) {
	lake := newRealLake(t, shop...)
	g, s := newGate(t, lake)
	ctx := context.Background()
	type kept struct {
		schema string
		bound  *Bound
		result string
	}
	var all []kept
	for _, c := range bindings {
		b, err := s.Bind(ctx, c.sql, Env{Catalog: "lake", Schema: c.schema})
		if err != nil {
			t.Errorf("%s\n\t%v", c.sql, err)
			continue
		}
		if got := sourceList(b); got != c.sources {
			t.Errorf("%s\n\tsources %s\n\twant    %s", c.sql, got, c.sources)
		}
		// The bound query means the same from any schema.
		want := lake.result(c.schema, c.sql)
		other := map[string]string{"main": "sales", "sales": "main"}[c.schema]
		if got := lake.result(other, b.SQL); got != want {
			t.Errorf("%s\n%s\n\tgives %.300s\n\twant  %.300s", c.sql, b.SQL, got, want)
		}
		// Binding it again changes nothing.
		again, err := s.Bind(ctx, b.SQL, Env{Catalog: "lake", Schema: other})
		if err != nil {
			t.Errorf("%s\n%s\n\tbound again: %v", c.sql, b.SQL, err)
			continue
		}
		if got := lake.result(other, again.SQL); got != want {
			t.Errorf("%s\n\tbound again gives %.300s\n\twant  %.300s", c.sql, got, want)
		}
		if again.SQL != b.SQL {
			t.Errorf("%s\n\tbound       %s\n\tbound again %s", c.sql, b.SQL, again.SQL)
		}
		all = append(all, kept{c.schema, b, want})
	}
	version := lake.rows("SELECT max(snapshot_id) FROM __ducklake_metadata_lake.ducklake_snapshot")[0][0].(int64)
	// What is added, and what views and macros become, does not change a bound query.
	for _, sql := range []string{
		"ALTER TABLE lake.sales.wide ADD COLUMN id INTEGER DEFAULT 7", "ALTER TABLE lake.main.t ADD COLUMN id INTEGER", "ALTER TABLE lake.sales.customer ADD COLUMN a INTEGER DEFAULT 3",
		"ALTER TABLE lake.sales.orders ADD COLUMN m INTEGER DEFAULT 5", "CREATE OR REPLACE VIEW lake.sales.star AS SELECT 1 AS a, 2 AS b", "CREATE OR REPLACE VIEW lake.main.v AS SELECT 5 AS n",
		"CREATE OR REPLACE MACRO lake.main.twice(x) AS x * 3", "CREATE OR REPLACE MACRO lake.main.picked(n, m := 1) AS TABLE SELECT 1 AS a", "CREATE TABLE lake.sales.t(a INTEGER)",
	} {
		lake.must(sql)
	}
	if err := g.Sync(ctx, lake); err != nil {
		t.Fatal(err)
	}
	for _, k := range all {
		for _, sql := range []string{k.bound.SQL, k.bound.At(version)} {
			if got := lake.result("main", sql); got != k.result {
				t.Errorf("%s\n\tgives %.300s\n\twant  %.300s", sql, got, k.result)
			}
		}
	}
	// And a template made of the stored text reads the same version.
	for _, k := range all {
		tmpl, err := g.Template(ctx, k.bound.SQL)
		if err != nil || tmpl.At(version) != k.bound.At(version) {
			t.Errorf("%s: %v %s", k.bound.SQL, err, tmpl.At(version))
		}
	}
}

func TestAtReadsTheVersion(t *testing.T) {
	lake := newRealLake(t, shop...)
	_, s := newGate(t, lake)
	b, err := s.Bind(context.Background(), "SELECT count(*) AS n, sum(t.a) AS s FROM t JOIN v ON v.a = t.a", Env{})
	if err != nil {
		t.Fatal(err)
	}
	version := lake.rows("SELECT max(snapshot_id) FROM __ducklake_metadata_lake.ducklake_snapshot")[0][0].(int64)
	before := lake.result("main", b.SQL)
	lake.must("DELETE FROM lake.main.t WHERE a = 1")
	if now := lake.result("main", b.SQL); now == before {
		t.Fatal("the delete is not seen")
	}
	if then := lake.result("main", b.At(version)); then != before {
		t.Errorf("%s\n\tgives %s, want %s", b.At(version), then, before)
	}
}

func TestBindRefuses(t *testing.T) {
	lake := newRealLake(t, append(append([]string{}, shop...), "CREATE VIEW timed AS SELECT * FROM t AT (VERSION => 3)")...)
	_, s := newGate(t, lake)
	ctx := context.Background()
	temp := func(sql string) {
		t.Helper()
		a, err := s.Analyze(ctx, sql, Env{})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Applied(ctx, a); err != nil {
			t.Fatal(err)
		}
	}
	temp("CREATE TEMP TABLE mine AS SELECT 1 AS a")
	temp("CREATE TEMP VIEW my_view AS SELECT * FROM t")
	temp("CREATE TEMP VIEW my_temp_view AS SELECT * FROM mine")
	temp("CREATE TEMP MACRO my_macro(x) AS x + 1")
	for _, c := range []struct {
		sql  string
		code *fault.Code
	}{
		{"select * from mine", fault.TemporarySource}, {"select * from my_view", fault.TemporarySource}, {"select * from temp.mine", fault.TemporarySource},
		{"select * from my_temp_view", fault.TemporarySource}, {"select my_macro(a) from t", fault.TemporarySource}, {"select a, getvariable('x') from t", fault.TemporarySource},
		{"select a from t where a = ?", fault.InvalidParameter}, {"select a from t where a = $x", fault.InvalidParameter}, {"insert into t values (1, 'x')", fault.InvalidParameter},
		{"drop table t", fault.InvalidParameter}, {"explain select 1", fault.InvalidParameter}, {"describe t", fault.InvalidParameter}, {"begin", fault.InvalidParameter},
		{"select * from t at (version => 1)", fault.StatementForbidden}, {"select * from timed", fault.StatementForbidden}, {"select * from vega.jobs", fault.StatementForbidden},
		{"select * from lake.snapshots()", fault.StatementForbidden}, {"select * from information_schema.tables", fault.StatementForbidden}, {"select * from duckdb_tables()", fault.StatementForbidden},
		{"select rowid, a from t", fault.StatementForbidden}, {"select snapshot_id from t", fault.StatementForbidden}, {"summarize t", fault.StatementForbidden}, {"select * from (summarize t)", fault.StatementForbidden},
		{"select biggest(a) from t", fault.NotYetSupported}, {"select sum_of(x) from (select [1] as x)", fault.NotYetSupported},
		{"select * from nothing", fault.ObjectNotFound}, {"select nothing from t", fault.SQLError}, {"select 1; select 2", fault.SyntaxError}, {"select * from read_csv('x')", fault.StatementForbidden},
		{"select * from 'x.csv'", fault.StatementForbidden}, {"", fault.SyntaxError}, {"selec 1", fault.SyntaxError},
	} {
		if _, err := s.Bind(ctx, c.sql, Env{}); fault.CodeOf(err) != c.code {
			t.Errorf("%s: %v, want %s", c.sql, err, c.code.Name())
		}
	}
}

func TestConsistency(t *testing.T) {
	_, s := newGate(t, newRealLake(t, append(append([]string{}, shop...),
		"CREATE VIEW clock AS SELECT a, now() AS n FROM t", "CREATE MACRO dice() AS random()", "CREATE MACRO plain(x) AS x")...))
	for sql, want := range map[string]bool{
		"select a from t": true, "select plain(a), upper(b) from t": true, "select a, random() from t": false, "select a, now() from t": false, "select a, current_date from t": false,
		"select a, \"current_date\" from (select a, 1 as \"current_date\" from t)": true, "select a, uuid() from t": false, "select a, gen_random_uuid() from t": false, "select * from clock": false, "select dice(), a from t": false,
		"select a from t using sample 1": false, "select a from t tablesample 10%": false, "select a, current_user from t": false, "select a, current_schema() from t": false, "select age(timestamp '2020-01-01') from t": false,
		"select age from (select a as age from t) where age > 1": true, "select now, today from (select a as now, b as today from t)": true,
		"select a from t where b > (select current_timestamp::varchar)": false, "select a, ago(interval 1 day) from t": false, "select a, today() from t": false, "select a, version() from t": true,
		"select a, current_setting('TimeZone') from t": false, "select list_transform([1], lambda x: random()) from t": false, "select a, row_number() over (order by random()) from t": false,
	} {
		b, err := s.Bind(context.Background(), sql, Env{})
		if err != nil {
			t.Errorf("%s: %v", sql, err)
		} else if b.Consistent != want {
			t.Errorf("%s: consistent %v", sql, b.Consistent)
		}
	}
}

func TestViewCycles(t *testing.T) {
	ctx := context.Background()
	g, err := New(ctx, Config{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := g.NewSession()
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	}()
	// A cycle cannot bind, so it never comes as far as here by statements; the binder itself must end all the same.
	m := newMirror("lake", g.functions)
	m.fill(&Objects{SchemaVersion: 1, Views: []View{{Schema: "main", Name: "a", SQL: "SELECT * FROM b"}, {Schema: "main", Name: "b", SQL: "SELECT * FROM a"}},
		Macros: []Macro{{Schema: "main", Name: "f", Overloads: []MacroOverload{{Params: []MacroParam{{Name: "x"}}, SQL: "g(x)"}}},
			{Schema: "main", Name: "g", Overloads: []MacroOverload{{Params: []MacroParam{{Name: "x"}}, SQL: "f(x) + f(x)"}}}}})
	g.current.mirror = m
	b := &binding{Session: s, ctx: ctx, uses: map[key]map[string]bool{}}
	if _, err := b.canonical("SELECT * FROM a", "main"); fault.CodeOf(err) != fault.ViewCycle {
		t.Error(err)
	}
	if _, err := b.canonical("SELECT f(1)", "main"); fault.CodeOf(err) != fault.StatementForbidden {
		t.Error(err)
	}
}
