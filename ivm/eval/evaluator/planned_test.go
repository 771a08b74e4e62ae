package evaluator

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/vegadb/vega-flight/ivm/bind"
	"github.com/vegadb/vega-flight/ivm/plan"
	"github.com/vegadb/vega-flight/ivm/row"
	"github.com/vegadb/vega-flight/ivm/zset"
)

// planned are the columns of the table g of TestPlannedExpressions.
var planned = []string{"INTEGER", "BIGINT", "VARCHAR", "DOUBLE", "DECIMAL(18,3)", "TIMESTAMP", "DATE", "BOOLEAN", "INTEGER[]",
	"STRUCT(a INTEGER, b VARCHAR)", "MAP(VARCHAR, INTEGER)", "ENUM('a', 'b', 'zz')", "TIMESTAMP WITH TIME ZONE", "INTERVAL", "UNION(n INTEGER, s VARCHAR)", "JSON", "UUID", "BLOB", "VARCHAR[]", "HUGEINT",
	"FLOAT[3]", "TIME", "BIT", "DECIMAL(4,1)", "DECIMAL(9,3)", "DECIMAL(38,10)", "UBIGINT", "TINYINT", "FLOAT"}

// expressions are written as users write them; their bound forms go to the program.
var expressions = strings.Split(strings.TrimSpace(`
c0 + c1 * 2 - 1
c0 // 3 + c0 % 3
c1 / c0
-c0
c0 & 6 | 1
c0 ^ 2
c3 ** 2
c4 * c4
c4 * (1 - c4)
c4 * (1 - c4) * (1 + c4)
0.908 * c1
c23 * c24
c23 + c24
c24 - c23
c24 * c24 * c24
c23 * c23 * c23 * c23
c23 - c0
c23 * c0 + 1
c25 * 2
c25 + c4
c4 + c24
c4 * c23
c24 % c23
c24 // c23
c24 / c23
-c24
abs(c25)
round(c24, 1)
round(c24)
floor(c25)
c24::DECIMAL(5,2) + c23::DECIMAL(12,6)
c26 + 1
c26 - c0
c27 * c27
c27 + 1::TINYINT
c28 * 2
c28 + c3
c28 / 3
c26 // 3
c26 % 7
c27 << 2
c0 >> 1
xor(c0, c1)
~c0
c3 % 2
c19 // 7
c19 % 7
c1 % 123 = 0 AND c0 > 7
extract(hour FROM c5) >= 8 AND extract(hour FROM c5) <= 18
CASE WHEN extract(hour FROM c5) BETWEEN 8 AND 18 THEN 'day' WHEN c0 IS NULL THEN 'none' ELSE 'night' END
c6 >= DATE '1994-01-01' AND c6 < DATE '1995-01-01' AND c4 BETWEEN 0.05 AND 0.07
c6 <= DATE '1998-12-01' - INTERVAL 90 DAY
c4 + 1.5
c4::DOUBLE / 3
CASE WHEN c0 > 0 THEN c1 // c0 ELSE -1 END
CASE c0 WHEN 1 THEN 'one' WHEN 2 THEN 'two' ELSE c2 END
CASE WHEN c2 SIMILAR TO '[0-9]+' THEN c2::BIGINT END
coalesce(c0, c1, 5)
nullif(c0, 1)
ifnull(c2, 'none')
if(c7, c0, c1)
c0 BETWEEN 1 AND 5
c0 NOT BETWEEN 1 AND c1
c2 BETWEEN 'a' AND 'b'
c0 IN (1, 2, 3)
c0 NOT IN (1, 2, NULL)
c2 IN ('a', 'abc')
c0 IN (c1, 7)
c1 IN (1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,32,33,34,35,36,37,38,39,40)
c0 IS DISTINCT FROM c1
c0 IS NOT NULL AND c1 IS NULL
c7 IS TRUE
c7 IS NOT FALSE
NOT (c0 > 1 OR c1 < 2)
c2 LIKE 'a%'
c2 LIKE '%c'
c2 LIKE '%b%'
c2 LIKE 'a_c'
c2 NOT LIKE 'a%c%'
c2 ILIKE 'A%'
c2 LIKE '%a\_' ESCAPE '\'
c2 GLOB 'a*'
c2 SIMILAR TO 'a.*'
regexp_matches(c2, '^a')
regexp_replace(c2, 'a(.)', '\1x', 'g')
regexp_extract(c2, '(\d+)', 1)
regexp_extract(c2, '(\d+)-(\d+)', ['a', 'b'])
c2 || '!' || c0
concat(c2, c0, NULL)
concat_ws('-', c2, c0, c7)
upper(c2) || lower(c2)
substring(c2, 2, 3)
c2[1:2]
left(c2, 2) || right(c2, 1)
trim(c2) || ltrim(c2, 'a')
position('b' IN c2)
length(c2) + strlen(c2)
string_split(c2, ',')
format('{} and {}', c0, c2)
printf('%d', c0)
starts_with(c2, 'a')
strftime(c5, '%Y-%m-%d %H:%M')
strptime('2024-01-02', '%Y-%m-%d') - c5
extract(year FROM c5)
date_part('month', c6)
date_part(['year', 'month'], c6)
date_trunc('month', c5)
date_trunc('week', c6)
date_trunc('hour', c12)
c6 + 5
c6 + INTERVAL 1 MONTH
c5 - INTERVAL 90 MINUTE
c5 + c13
c5 - TIMESTAMP '2000-01-01'
c6 - DATE '2000-01-01'
age(c5, TIMESTAMP '2000-01-01')
datediff('day', c6, DATE '2024-01-01')
date_add(c6, INTERVAL 2 DAY)
time_bucket(INTERVAL 1 HOUR, c5)
time_bucket(INTERVAL 10 SECOND, c5)
time_bucket(INTERVAL 1 MONTH, c5)
time_bucket(INTERVAL 7 DAY, c6)
time_bucket(INTERVAL 1 HOUR, c5, TIMESTAMP '2000-01-01 00:30:00')
epoch(c5)
epoch_ms(c5)
last_day(c6)
monthname(c6) || dayname(c6)
make_date(c0, 1, 1)
c12 AT TIME ZONE 'Europe/Paris'
c5 AT TIME ZONE 'America/Los_Angeles'
c12::DATE
c12::VARCHAR
c5::DATE
c6::TIMESTAMP
c5::VARCHAR
c2::INTEGER
TRY_CAST(c2 AS INTEGER)
TRY(c2::INTEGER)
c2::DATE
c0::VARCHAR
c0::DECIMAL(10,2)
c3::DECIMAL(10,2)
c3::BIGINT
c1::TINYINT
round(c3, 2)
round(c4, 1)
floor(c3) + ceil(c3)
abs(c0)
sqrt(c3)
greatest(c0, c1, 3)
least(c2, 'm')
c8[1]
c8[2:]
len(c8)
list_sum(c8)
list_sort(c8, 'DESC')
list_contains(c8, 2)
c8 || [9]
list_transform(c8, lambda x: x + c0)
list_transform(c8, lambda x, i: x * i)
list_filter(c8, lambda x: x > 1)
list_reduce(c8, lambda a, b: a + b)
list_reduce(c8, lambda a, b: a + b, 10)
[x * 2 FOR x IN c8 IF x > 1]
list_transform([[1, 2], c8], lambda l: list_transform(l, lambda y: y + len(l) + c0))
list_aggregate(c8, 'string_agg', '|')
list_aggregate(c8, 'quantile', 0.5)
list_aggregate(c8, 'quantile_cont', [0.5, 0.1])
list_aggregate(c8, 'quantile_disc', -0.25)
list_median(c8)
list_aggr(c8, 'avg')
list_aggregate(c18, 'max')
list_avg(c8)
list_stddev_pop(c8)
enum_first(c11)
enum_last(c11)
enum_range(c11)
enum_range_boundary('a'::ENUM('a', 'b', 'zz'), c11)
json_transform(c15, '{"a": "JSON"}')
json_transform('{"a": 1}', '{"a": "INTEGER"}')
from_json('{"a": [1, 2]}', '{"a": ["BIGINT"]}')
json_quote(c2)
json_array(c0, c2, c9)
json_merge_patch(c15, '{"z": 1}')
row_to_json(c9)
array_to_json(c8)
struct_keys(c9)
struct_concat(c9, {'q': c0})
struct_contains(row(c0, c0), 1)
struct_position(row(c0, c3::INTEGER), 1)
map_concat(c10, MAP {'z': 1})
map_contains(c10, 'a')
map_values(c10)
cardinality(c10)
union_extract(c14, 'n')
create_sort_key(c2, 'DESC NULLS LAST')
create_sort_key(c0, 'ASC NULLS LAST', c2, 'DESC NULLS FIRST')
list_position(c8, 3)
list_has_any(c8, [1, 7])
list_slice(c8, 1, 2)
list_reverse_sort(c8)
list_grade_up(c8)
list_where(c8, [true, false, true])
list_select(c8, [1, 3])
list_concat(c8, [1], NULL)
list_append(c8, c0)
flatten([c8, [1]])
range(0, 3)
generate_series(DATE '2024-01-01', DATE '2024-01-03', INTERVAL 1 DAY)
unbin('1010')
bar(3, 0, 10)
levenshtein(c2, 'abc')
jaccard('ab', 'bc')
translate(c2, 'ab', 'xy')
regexp_split_to_array(c2, ',')
regexp_extract_all(c2, '[0-9]+')
regexp_full_match(c2, 'a.*')
strip_accents(c2)
nfc_normalize(c2)
url_encode(c2)
ord(c2)
encode(c2)
decode(encode(c2))
uuid_extract_version(c16)
epoch_us(c5)
to_timestamp(c3)
make_timestamp(2024, 1, 2, 3, 4, 5.5)
datesub('month', c6, DATE '2024-01-31')
century(c5)
era(c5)
julian(c6)
timezone('Asia/Tokyo', c12)
date_trunc('day', c12)
c12 + INTERVAL 1 DAY
c12 - TIMESTAMPTZ '2024-01-01 00:00:00+00'
time_bucket(INTERVAL 1 DAY, c12)
isfinite(c12)
strftime(c12, '%Z %H')
list_histogram(c8)
c8[:2]
c8[1:3:2]
c8[:-:2]
c2[2:]
array_to_string(c18, ',')
list_zip(c8, c18)
c9.a
c9.b || 'x'
c9['a']
struct_pack(x := c0, y := c2)
{'k': c0, 'v': [c1]}
row(c0, c2)
struct_insert(c9, z := c0)
struct_extract(c9, 'b')
c9 = {'a': 1, 'b': 'x'}
c10['a']
map_keys(c10)
map([c2], [c0])
MAP {c2: c0}
map_entries(c10)
map_from_entries([(c2, c0)])
c11
c11::VARCHAR || 'x'
c11 = 'a'
c11 < 'b'
enum_code(c11)
c14
c14.n
union_tag(c14)
union_value(q := c0)
c15 -> 'a'
c15 ->> '$.a[0]'
json_extract_string(c15, '$.a')
json_array_length(c15)
json_object('k', c0, 'v', c2)
json_type(c15)
to_json({'a': c0})
c16
c16::VARCHAR
c17
c17::VARCHAR
base64(c17)
md5(c2)
sha256(c2)
hash(c0)
hex(c17)
c18[1]
c19 + 1
c19 * 2
c20
c20[2]
array_distance(c20, [1, 2, 3]::FLOAT[3])
c21
c21 + INTERVAL 1 HOUR
c22
bit_count(c22)
c22 & c22
c13 = INTERVAL 1 MONTH
c13 + INTERVAL 1 DAY
c13 * 2
to_days(c0)
c2 COLLATE NOCASE = 'A'
c2 < 'b' COLLATE NOCASE
chr(100) || ascii(c2)
isnan(c3) OR isinf(c3)
isfinite(c5)
typeof(c0)
alias(c0)
error('bad ' || c0)
CASE WHEN c0 > 5 THEN error('too large') ELSE c2 END
1
NULL
'text'
INTERVAL 3 MONTH
DATE '2000-01-01'
[1, 2]
{'a': 1}
list_aggregate(c8, 'sum')
list_aggr(c18, 'string_agg', '/')
array_aggregate(c8, 'max')
array_aggr(c8, 'count')
aggregate(c8, 'min')
array_to_json([c0, c1])
row_to_json({'a': c0, 'b': c2})
json_quote(c2)
from_json(c15, '{"a": "JSON"}')
from_json_strict(c15, '{"a": "JSON"}')
json_transform(c15, '{"a": "VARCHAR"}')
json_transform_strict(c15, '{"a": "VARCHAR"}')
cardinality(c10)
map_concat(c10, MAP {'z': c0})
create_sort_key(c2, 'DESC NULLS FIRST')
enum_first(c11)
enum_last(c11)
enum_range(c11)
enum_range_boundary(c11, 'zz'::ENUM('a', 'b', 'zz'))
equi_width_bins(0, c0, 3, true)
get_type(c8)::VARCHAR
struct_concat(c9, {'q': c0})
struct_contains(row(c0, 7), 7)
struct_has(row(c0, 7), c0)
struct_indexof(row(c0, 7), 7)
struct_position(row(c0, 7), c0)
struct_keys(c9)
struct_update(c9, a := c0)
union_extract(c14, 's')
union_value(q := c2)
switch(c0, MAP {1: 'one', 2: 'two'})
`), "\n")

// TestPlannedExpressions has each expression planned and bound by DuckDB, as queries are, and compares the program with DuckDB.
func TestPlannedExpressions(t *testing.T) {
	ctx := context.Background()
	d := newDirect(t)
	planner, err := bind.NewPlanner(ctx, "lake")
	if err != nil {
		t.Fatal(err)
	}
	defer planner.Close()
	source := &plan.Source{Schema: "main", Name: "g"}
	l := row.NewLayout(row.MustTypes(planned...)...)
	for i := range planned {
		source.Columns = append(source.Columns, plan.TableColumn{ID: int64(i + 1), Name: fmt.Sprint("c", i), Type: l.Types[i]})
	}
	in := d.columns(planned, 40)
	done, inGo := 0, []string(nil)
	for _, sql := range expressions {
		if _, err := d.conn.Prepare(ctx, "SELECT "+sql+" FROM g"); err != nil {
			t.Logf("skipped: %s: %s", sql, firstLine(err))
			continue
		}
		p, err := planner.Plan(ctx, bind.Query{SQL: "SELECT " + sql + " AS x FROM lake.main.g", Sources: []*plan.Source{source}})
		if err != nil {
			t.Errorf("%s: %v", sql, err)
			continue
		}
		if len(p.Reasons) > 0 {
			t.Logf("refused: %s: %s", sql, p.Reasons[0])
			continue
		}
		node, exprs := p.Root, []plan.Expr(nil)
		if project, ok := node.(*plan.Project); ok {
			node, exprs = project.Input, project.Exprs
		}
		scan, ok := node.(*plan.Scan)
		if !ok {
			t.Logf("not a projection: %s: %s", sql, p.Text())
			continue
		}
		// the scan's columns, out of all
		of := make([]plan.Expr, len(scan.Fields))
		for i, f := range scan.Fields {
			of[i] = col(l, int(f.ID)-1)
		}
		if exprs == nil {
			exprs = []plan.Expr{&plan.ColumnRef{Typed: plan.Typed{Type: scan.Fields[0].Type}}}
		}
		e := plan.Rewrite(exprs[0], func(e plan.Expr) plan.Expr {
			if c, ok := e.(*plan.ColumnRef); ok {
				return of[c.Index]
			}
			return e
		})
		if e.Result().Kind == row.Null {
			continue
		}
		if d.check(sql, sql, e, in) {
			inGo = append(inGo, sql)
		}
		done++
	}
	t.Logf("%d expressions", done)
	golden(t, "expressions", "Of the expressions of TestPlannedExpressions, those that have a path in Go.", inGo)
}

// columns is a table g of so many rows whose columns go through the types' edges.
func (d direct) columns(types []string, rows int) *zset.Batch {
	var cols []string
	for i, t := range types {
		values := append([]string{"NULL"}, edges[t]...)
		parts := make([]string, len(values))
		for k, v := range values {
			parts[k] = "((" + v + ")::" + t + ")"
		}
		cols = append(cols, fmt.Sprintf("list_value(%s)[1 + (i * %d) %% %d] AS c%d", strings.Join(parts, ", "), i%3+1, len(parts), i))
	}
	d.exec(fmt.Sprintf("CREATE OR REPLACE TABLE g AS SELECT i, %s FROM range(%d) t(i)", strings.Join(cols, ", "), rows))
	var names []string
	for i := range types {
		names = append(names, fmt.Sprint("c", i))
	}
	b, err := d.read("SELECT "+strings.Join(names, ", ")+" FROM g ORDER BY i", row.NewLayout(row.MustTypes(types...)...))
	if err != nil {
		d.Fatal(err)
	}
	return b
}
