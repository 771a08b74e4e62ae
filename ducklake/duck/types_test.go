package duck

import (
	"context"
	"fmt"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// read reads a whole result.
func read(t testing.TB, c *Conn, sql string, args ...any) (*arrow.Schema, []arrow.RecordBatch) {
	t.Helper()
	r, err := c.Query(context.Background(), sql, args...)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	defer r.Close()
	var batches []arrow.RecordBatch
	for r.Next() {
		b := r.RecordBatch()
		for i := range b.Columns() {
			if v, ok := b.Column(i).(interface{ ValidateFull() error }); ok {
				if err := v.ValidateFull(); err != nil {
					t.Fatalf("%s: column %d: %v", sql, i, err)
				}
			}
		}
		b.Retain()
		batches = append(batches, b)
	}
	if err := r.Err(); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return r.Schema(), batches
}

// sameThroughArrow reads a query as Arrow, gives the batches back to DuckDB
// and lets DuckDB compare. cast restores column x's type.
func sameThroughArrow(t *testing.T, c *Conn, query, cast string) {
	t.Helper()
	schema, batches := read(t, c, query)
	r, err := array.NewRecordReader(schema, batches)
	if err != nil {
		t.Fatal(err)
	}
	release, err := c.RegisterArrow("arrow_back", r)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	exec(t, c, "CREATE OR REPLACE TEMP TABLE back AS SELECT "+cast+" AS x FROM arrow_back")
	if err := release(); err != nil {
		t.Fatal(err)
	}
	for _, diff := range []string{
		fmt.Sprintf("SELECT x::VARCHAR FROM (FROM back EXCEPT ALL (%s))", query),
		fmt.Sprintf("SELECT x::VARCHAR FROM ((%s) EXCEPT ALL FROM back)", query),
	} {
		if d := rows(t, c, diff); len(d) > 0 {
			t.Errorf("%s\n  %d rows differ, the first is %.200v", diff, len(d), d[0][0])
		}
	}
}

func TestAllTypesThroughArrow(t *testing.T) {
	c := open(t)
	exec(t, c, "SET TimeZone = 'Asia/Tokyo'")
	for _, row := range rows(t, c, "SELECT column_name, column_type FROM (DESCRIBE FROM test_all_types())") {
		name, typ := row[0].(string), row[1].(string)
		t.Run(name, func(t *testing.T) {
			query, cast := fmt.Sprintf("SELECT %s AS x FROM test_all_types()", quoteName(name)), "x::"+typ
			switch name {
			case "hugeint", "uhugeint":
				query = fmt.Sprintf("SELECT (x // 10)::%s AS x FROM (%s)", typ, query)
			case "bit":
				cast = "x::VARCHAR::BIT"
			case "union":
				query += " WHERE x IS NOT NULL" // Arrow's unions have no NULL of their own
			case "geometry":
				query = "SELECT x::VARCHAR AS x FROM (" + query + ")"
				cast = "x"
			}
			sameThroughArrow(t, c, query, cast)
			// The schema is known before anything runs, and is the Reader's.
			s, err := c.Prepare(context.Background(), query)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			schema, err := s.Schema()
			if err != nil {
				t.Fatal(err)
			}
			if got, _ := read(t, c, query); !got.Equal(schema) || !got.Field(0).Nullable {
				t.Errorf("prepared %s, read %s", schema, got)
			}
			if got := s.Columns()[0].Type; name != "geometry" && got != typ {
				t.Errorf("type %q, DuckDB calls it %q", got, typ)
			}
		})
	}
}

// DuckDB hands out vectors of many shapes (constant, dictionary, sequence,
// sliced); the conversion relies on them being flat by then.
func TestVectorShapesThroughArrow(t *testing.T) {
	c := open(t)
	exec(t, c, `CREATE TABLE t AS SELECT i, i % 7 = 0 AS b, CASE WHEN i % 5 = 0 THEN NULL ELSE i END AS n, 'text ' || (i % 13) || repeat('y', i % 23) AS s,
		[i, NULL, i + 1] AS l, {'a': i, 'b': [repeat('z', i % 17)]} AS st, MAP {i: 'v' || i} AS m FROM range(30000) r(i)`)
	for _, q := range []string{
		"SELECT s AS x FROM t WHERE i % 3 = 1",
		"SELECT b AS x FROM t",
		"SELECT n AS x FROM t",
		"SELECT NULL::INTEGER AS x FROM t",
		"SELECT n::DECIMAL(18,3) AS x FROM t",
		"SELECT l AS x FROM t WHERE i % 3 = 1",
		"SELECT st AS x FROM t WHERE i % 31 = 1",
		"SELECT st.b AS x FROM t WHERE i % 3 = 1",
		"SELECT m AS x FROM t WHERE i % 3 = 1",
		"SELECT [1, 2, 3] AS x FROM t WHERE i < 5000",
		"SELECT {'k': 'constant', 'l': ['a', NULL]} AS x FROM t WHERE i < 5000",
		"SELECT {'k': i, 'l': s, 'm': {'n': n}} AS x FROM t WHERE i % 3 = 1",
		"SELECT [s, 'c', n::VARCHAR] AS x FROM t WHERE i % 3 = 1",
		"SELECT [[s], NULL, [n::VARCHAR]] AS x FROM t WHERE i % 30 = 1",
		"SELECT list(n ORDER BY i) AS x FROM t GROUP BY i % 100",
		"SELECT list({'i': i, 's': s} ORDER BY i) AS x FROM t GROUP BY i % 1000",
		"SELECT CASE WHEN i % 2 = 0 THEN {'a': i, 's': s} END AS x FROM t",
		"SELECT CASE WHEN i % 2 = 0 THEN [s, s] END AS x FROM t",
		"SELECT list_filter([i, n, 3], e -> e % 2 = 0) AS x FROM t",
		"SELECT list_sort(l)[2:] AS x FROM t",
		"SELECT unnest(l) AS x FROM t",
		"SELECT array_value(i, n, 7) AS x FROM t WHERE i % 3 = 1",
		"SELECT array_value({'s': s}, NULL) AS x FROM t WHERE i % 3 = 1",
		"SELECT union_value(k := s) AS x FROM t WHERE i % 3 = 1",
		"SELECT map_from_entries([(s, l), ('other', NULL)]) AS x FROM t WHERE i % 30 = 1",
		"SELECT t2.s AS x FROM t JOIN t t2 ON t.i = t2.i + 1 WHERE t2.i % 3 = 0",
		"SELECT t2.st AS x FROM t LEFT JOIN (FROM t WHERE i % 2 = 0) t2 ON t.i = t2.i",
		"SELECT t2.l AS x FROM t LEFT JOIN (FROM t WHERE i % 2 = 0) t2 ON t.i = t2.i",
		"SELECT lag(l) OVER (ORDER BY i) AS x FROM t",
	} {
		t.Run(q, func(t *testing.T) { sameThroughArrow(t, c, q, "x") })
	}
}

func TestRowsAsText(t *testing.T) {
	c := open(t)
	for _, row := range rows(t, c, "SELECT column_name FROM (DESCRIBE FROM test_all_types())") {
		name := row[0].(string)
		for i, r := range rows(t, c, fmt.Sprintf("SELECT %[1]s::VARCHAR, %[1]s FROM test_all_types()", quoteName(name))) {
			if got, ok := r[1].(string); ok && got != r[0] {
				t.Errorf("%s, row %d: %s, DuckDB writes %s", name, i, got, r[0])
			}
		}
	}
	for _, x := range []string{
		"12.5::DECIMAL(18,3)", "-0.001::DECIMAL(5,3)", "0::DECIMAL(38,38)", "INTERVAL '1 year -2 months 3 days'", "INTERVAL '-1 day 25:00:00.5'",
		"INTERVAL 0 DAY", "TIME '01:02:03.4567'", "'01:02:03+05:30:10'::TIMETZ", "'-12345678901234567890123456789'::BIGNUM", "0::BIGNUM", "'1'::BIT",
		"['a b', 'it''s', '', 'null', 'x,y', '{', 'plain', NULL]", "{'a b': 1, 'it''s': 'x'}", "MAP {'a=b': 1.5, 'c': NULL}", "row(1, 'x')", "uuid()",
		"[1.5::FLOAT, 2::DOUBLE]", "[true, NULL]", "['2020-01-02'::DATE]", "['a\\b']",
	} {
		r := rows(t, c, fmt.Sprintf("SELECT v::VARCHAR, v FROM (SELECT %s AS v)", x))[0]
		if fmt.Sprint(r[1]) != r[0] {
			t.Errorf("%s: %v, DuckDB writes %v", x, r[1], r[0])
		}
	}
}
