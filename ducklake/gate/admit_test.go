package gate

import (
	"context"
	"sort"
	"strings"
	"testing"
)

func names(refs []TableRef) string {
	out := make([]string, len(refs))
	for i, r := range refs {
		out[i] = r.Catalog + "." + r.Schema + "." + r.Name
	}
	sort.Strings(out)
	return strings.Join(out, " ")
}

const (
	lakeT     = "lake.main.t"
	orders    = "lake.sales.orders"
	customers = "lake.sales.customer"
)

// admitted is ordinary SQL, with what it reads and writes.
var admitted = []struct{ sql, reads, writes string }{
	{"select 1", "", ""},
	{"SELECT * FROM t", lakeT, ""},
	{"from t", lakeT, ""},
	{"table t", lakeT, ""},
	{"values (1, 'a'), (2, 'b')", "", ""},
	{"(select 1) union all (select 2)", "", ""},
	{"select * from lake.main.t;", lakeT, ""},
	{"select * from LAKE.Main.T ; ;", lakeT, ""},
	{`select "a" from "lake"."main"."t"`, lakeT, ""},
	{"-- a comment\n/* another /* nested */ */ select /* x */ a from t -- end", lakeT, ""},
	{"select * from v", lakeT, ""},
	{"select * from sales.big", orders + " " + customers, ""},
	{"with x as (select * from t), y as materialized (select * from x) select * from y join sales.orders on true", lakeT + " " + orders, ""},
	{"with recursive r(n) as (select 1 union all select n + 1 from r where n < 5) select * from r", "", ""},
	{"select * from t where a in (select customer from sales.orders where amount > any(select 1))", lakeT + " " + orders, ""},
	{"select a, row_number() over (partition by b order by a rows between 1 preceding and current row) from t qualify row_number() over (order by a) = 1", lakeT, ""},
	{"pivot sales.orders on customer in (1, 2) using sum(amount) group by id", orders, ""},
	{"unpivot (select id, customer from sales.orders) on customer into name k value val", orders, ""},
	{"select list_transform([1, 2, 3], lambda x: x + 1), [x * 2 for x in [1, 2] if x > 1]", "", ""},
	{"select info.k, tags[1], {'a': 1, 'b': [1, 2]}.b[2], map {'x': 1}['x'] from sales.orders", orders, ""},
	{"select * from t positional join sales.customer", lakeT + " " + customers, ""},
	{"select * from sales.orders o asof join sales.customer c on o.customer >= c.id", orders + " " + customers, ""},
	{"select * from sales.orders using sample 10%", orders, ""},
	{"select * from t tablesample reservoir(5)", lakeT, ""},
	{"select * from generate_series(1, 10) g(i), lateral (select g.i * 2 as d)", "", ""},
	{"select unnest([1, 2]), range(3), * from range(2)", "", ""},
	{"select count(*), sum(amount) filter (where amount > 1), quantile_cont(amount, 0.5) from sales.orders group by all having count(*) > 0 order by all", orders, ""},
	{"select * exclude (a) replace (upper(b) as b) from t", lakeT, ""},
	{"select columns('a|b') from t", lakeT, ""},
	{"select max(columns(c -> c = 'a')) from t", lakeT, ""},
	{"select id, amount::double, cast(placed as date), extract(year from placed), placed + interval 1 day, date_trunc('month', placed) from sales.orders", orders, ""},
	{"select region, grouping(region), count(*) from sales.customer group by grouping sets ((region), ())", customers, ""},
	{"select rowid, a from t", lakeT, ""},
	{"select snapshot_id, rowid, a from t", lakeT, ""},
	{"select * from t at (version => 3)", lakeT, ""},
	{"select x.a from t as x at (timestamp => now() - interval '1 day') join t y on x.a = y.a", lakeT, ""},
	{"select * from json_each('[1, 2]')", "", ""},
	{"select b.upper().lower(), b::json from t", lakeT, ""},
	{"select plus(1), plus(1, y := 3), main.plus(a) from t", lakeT, ""},
	{"select * from sales.of(1)", orders, ""},
	{"select $1 + 1, $2::varchar from t where a = $1", lakeT, ""},
	{"select ? from t limit ?", lakeT, ""},
	{"select $name::int", "", ""},
	{"select $$a 'string' with ; in it$$, $x$ $$ $x$, e'\\'', 'it''s; fine' from t", lakeT, ""},
	{"select current_date, now(), current_user, current_schema(), version(), pg_typeof(1), current_setting('TimeZone')", "", ""},
	{"select * from lake.snapshots()", "", ""},
	{"select id from lake.current_snapshot()", "", ""},
	{"select snapshot_id, change_type, a from lake.table_changes('t', 0, 5)", lakeT, ""},
	{"select * from lake.sales.table_insertions('orders', 0, 5)", orders, ""},
	{"select * from ducklake_table_deletions('lake', 'sales', 'orders', 0, 5)", orders, ""},
	{"select * from information_schema.tables", "", ""},
	{"select table_name from duckdb_tables()", "", ""},
	{"select relname from pg_catalog.pg_class", "", ""},
	{"select * from vega.jobs", "vega.main.jobs", ""},
	{"select * from vega.main.jobs j join t on true", "vega.main.jobs " + lakeT, ""},
	{"describe t", "", ""}, {"describe select * from t", "", ""}, {"desc sales.orders", "", ""}, {"show t", "", ""},
	{"show tables", "", ""}, {"show all tables", "", ""}, {"show databases", "", ""}, {"show schemas", "", ""}, {"show tables from sales", "", ""},
	{"summarize t", lakeT, ""}, {"summarize select a from t", lakeT, ""},
	{"explain select * from t", "", ""}, {"explain analyze select * from t", lakeT, ""}, {"explain (format json) from t", "", ""},
	{"explain (analyze, format json) from t", lakeT, ""},
	{"explain analyze insert into t values (3, 'x')", "", lakeT}, {"explain delete from t", "", ""},
	{"insert into t values (3, 'three')", "", lakeT},
	{"insert into t (b, a) select name, id from sales.customer", customers, lakeT},
	{"insert into t by name select 1 as a", "", lakeT},
	{"insert into t select * from t returning a + 1", lakeT, lakeT},
	{"with s as (from sales.customer) insert into t select id, name from s", customers, lakeT},
	{"update t set b = 'x' where a = 1", lakeT, lakeT},
	{"update t as q set b = c.name from sales.customer c where c.id = q.a", lakeT + " " + customers, lakeT},
	{"update only t set b = 'x'", lakeT, lakeT},
	{"delete from t", lakeT, lakeT},
	{"delete from t using sales.customer c where c.id = t.a", lakeT + " " + customers, lakeT},
	{"with s as (from sales.customer) delete from t using s where s.id = t.a", lakeT + " " + customers, lakeT},
	{"merge into t using sales.customer c on c.id = t.a when matched then update set b = c.name when not matched then insert values (c.id, c.name)", lakeT + " " + customers, lakeT},
	{"merge into t using sales.customer c on c.id = t.a when matched then update set b = c.name when not matched by source then delete", lakeT + " " + customers, lakeT},
	{"merge into t using (select 1 as a, 'x' as b) s on s.a = t.a when matched then update set b = s.b when not matched then insert values (s.a, s.b) returning merge_action, *", lakeT, lakeT},
	{"select * from t where false", lakeT, ""}, {"select * from t limit 0", lakeT, ""}, {"select t.a from t left join (select distinct id from sales.customer) c on c.id = t.a", lakeT + " " + customers, ""},
	{"select a from t where a > 1 and a < 1", lakeT, ""}, {"select a from t where b is null and b is not null union all select id from sales.customer where 1 = 2", lakeT + " " + customers, ""},
	{"delete from t where 1 = 0 returning *", lakeT, lakeT}, {"insert into t select id, name from sales.customer where false", customers, lakeT},
	{"create table query(a integer)", "", ""}, {`create table "glob"(a integer)`, "", ""}, {"create table n(a, b) as select a, b from t", lakeT, ""},
	{"truncate t", lakeT, lakeT}, {"truncate table sales.orders", orders, orders},
	{"create table n(a integer default 3, b varchar not null, c decimal(10,2))", "", ""},
	{"create or replace table n as select * from t", lakeT, ""},
	{"create table if not exists sales.n as from t with no data", lakeT, ""},
	{"create table lake.sales.n(x, y) as select a, b from t", lakeT, ""},
	{"create view w as select * from t", "", ""}, {"create or replace view sales.w(x) as select a from main.t", "", ""},
	{"create schema s2", "", ""}, {"create schema if not exists lake.s2", "", ""}, {"drop schema sales cascade", "", ""},
	{"create macro m(a, b := 2) as a + b, (a, b, c) as a + b + c", "", ""}, {"create or replace macro sales.mt(x) as table select * from main.t where a = x", "", ""},
	{"create function f(x) as x + 1", "", ""},
	{"drop table t", "", ""}, {"drop table if exists nothing", "", ""}, {"drop view v", "", ""}, {"drop macro plus", "", ""}, {"drop macro table sales.of", "", ""},
	{"alter table t add column z integer default 4", "", ""}, {"alter table t rename to t2", "", ""}, {"alter table t rename column a to z", "", ""},
	{"alter table t alter a type bigint", "", ""}, {"alter table t drop column b", "", ""}, {"alter view v rename to v2", "", ""},
	{"alter table t set partitioned by (a)", "", ""}, {"alter table sales.orders alter column id set not null", "", ""},
	{"comment on table t is 'x'", "", ""}, {"comment on column t.a is 'x'", "", ""}, {"comment on column lake.main.t.a is null", "", ""}, {"comment on view v is 'y'", "", ""},
	{"create temp table tt(a int)", "", ""}, {"create temp table tt as select * from t", lakeT, ""}, {"create temporary view tv as from t", "", ""}, {"create temp macro tm(x) as x", "", ""},
	{"use lake", "", ""}, {"use sales", "", ""}, {"use lake.sales", "", ""}, {"set schema = 'sales'", "", ""}, {"set search_path = 'lake.main'", "", ""},
	{"set timezone = 'Europe/Berlin'", "", ""}, {"set time zone 'UTC'", "", ""}, {"set session TimeZone to 'UTC'", "", ""}, {"reset timezone", "", ""},
	{"set variable x = (select max(a) from t)", lakeT, ""}, {"set variable x = 1 + 1", "", ""}, {"select getvariable('x')", "", ""}, {"reset variable x", "", ""},
	{"begin", "", ""}, {"begin transaction", "", ""}, {"start transaction", "", ""}, {"commit", "", ""}, {"end", "", ""}, {"rollback", "", ""}, {"abort", "", ""},
	{"select\u00a0a\u2003from\u3000t", lakeT, ""},
	{"select 'NBSP\u00a0in a string' from t", lakeT, ""},
}

func TestOrdinarySQLIsAdmitted(t *testing.T) {
	_, s := newGate(t, newRealLake(t, sales...))
	ctx := context.Background()
	for _, c := range admitted {
		a, err := s.Analyze(ctx, c.sql, Env{})
		if err != nil {
			t.Errorf("%s\n\t%v", c.sql, err)
			continue
		}
		wantReads := strings.Fields(c.reads)
		sort.Strings(wantReads)
		if got := names(a.Reads); got != strings.Join(wantReads, " ") {
			t.Errorf("%s\n\treads %q, want %q", c.sql, got, wantReads)
		}
		if got := names(a.Writes); got != c.writes {
			t.Errorf("%s\n\twrites %q, want %q", c.sql, got, c.writes)
		}
	}
}
