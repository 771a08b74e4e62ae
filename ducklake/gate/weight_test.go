package gate

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/vegadb/vega-flight/fault"
)

// Texts on which DuckDB's binder dies, or goes on for hours without hearing an interrupt.
func TestTextsThatEndTheBinder(t *testing.T) {
	_, s := newGate(t, newRealLake(t, append(append([]string{}, sales...), "CREATE MACRO twice(x) AS x + x")...))
	ctx := context.Background()
	for name, sql := range map[string]string{
		"a long name":          "SELECT a" + strings.Repeat(".a", 100_000) + " FROM t",
		"a long quoted name":   `SELECT "a"` + strings.Repeat(`."a"`, 100_000),
		"arrows":               "SELECT b" + strings.Repeat("->'a'", 30) + " FROM t",
		"text arrows":          "SELECT b" + strings.Repeat("->>'a'", 30) + " FROM t",
		"nested arrows":        "SELECT " + strings.Repeat("(", 30) + "b" + strings.Repeat("->'a')", 30) + " FROM t",
		"arrows to the right":  "SELECT b" + strings.Repeat("->(b", 30) + strings.Repeat(")", 30) + " FROM t",
		"arrows of arguments":  "SELECT coalesce(b" + strings.Repeat("->'a'", 10) + ", b)" + strings.Repeat("->'a'", 10) + " FROM t",
		"arguments of a macro": "SELECT " + strings.Repeat("twice(", 25) + "a" + strings.Repeat(")", 25) + " FROM t",
		"a long text":          "SELECT '" + strings.Repeat("x", maxSQL) + "'",
	} {
		if _, err := s.Analyze(ctx, sql, Env{}); fault.CodeOf(err) != fault.SyntaxError && fault.CodeOf(err) != fault.StatementForbidden {
			t.Errorf("%s: %.200v", name, err)
		}
	}
	for _, sql := range []string{
		"SELECT b::JSON->'a'->'b'->>'c' FROM t WHERE (b::JSON->'x') = '1' AND (b::JSON->'y') = '2'", "SELECT t.a, lake.main.t.b FROM t", "VALUES (1)" + strings.Repeat(", (1)", 50_000),
		"SELECT a IN (1" + strings.Repeat(", 1.5", 50_000) + ") FROM t", "SELECT twice(twice(twice(a))) FROM v", "SELECT list_transform([1], x -> x + 1), list_transform([1], y -> y + 1) FROM t",
	} {
		if _, err := s.Analyze(ctx, sql, Env{}); err != nil {
			t.Errorf("%.100s: %.200v", sql, err)
		}
	}
}

// What views and macros expand to is bounded, whoever made them and wherever they lie.
func TestWhatAStatementBecomesIsBounded(t *testing.T) {
	ctx := context.Background()
	stored := append([]string{}, sales...)
	stored = append(stored, "CREATE VIEW v0 AS SELECT a FROM t", "CREATE MACRO m0(x) AS x + x")
	for i := range 8 {
		stored = append(stored, fmt.Sprintf("CREATE VIEW v%d AS SELECT x.a FROM v%d x, v%d y", i+1, i, i), fmt.Sprintf("CREATE MACRO m%d(x) AS m%d(x) + m%d(x)", i+1, i, i))
	}
	_, s := newGate(t, newRealLake(t, stored...))
	for _, c := range []struct {
		sql string
		ok  bool
	}{
		{"SELECT * FROM v6", true}, {"SELECT m6(a) FROM t", true}, {"SELECT v8 FROM (SELECT a AS v8 FROM t) ORDER BY v8", true}, {"SELECT a AS v8 FROM t v8", true},
		{"SELECT 1 FROM v8" + strings.Repeat(", v8", 20), false}, {"SELECT 1 FROM v8" + strings.Repeat(" JOIN lake.main.v8 USING (a)", 20), false}, {"SELECT m4(m4(m4(m4(a)))) FROM t", false}, {"SELECT m4(x := m4(x := m4(x := m4(a)))) FROM t", false},
		{"CREATE VIEW w AS SELECT 1 AS a FROM (v8 a CROSS JOIN v8 b)" + strings.Repeat(", (FROM v8)", 20), false},
	} {
		if _, err := s.Analyze(ctx, c.sql, Env{}); (err == nil) != c.ok || err != nil && fault.CodeOf(err) != fault.StatementForbidden {
			t.Errorf("%s: %v", c.sql, err)
		}
	}
	// Temporary ones count too, also when they are replaced by what they are made of.
	run(t, s, "CREATE TEMP VIEW mine AS SELECT * FROM v8")
	run(t, s, "CREATE TEMP MACRO f(x) AS m6(x)")
	if _, err := s.Analyze(ctx, "SELECT f(f(f(1))) FROM mine", Env{}); fault.CodeOf(err) != fault.StatementForbidden {
		t.Error(err)
	}
	run(t, s, "CREATE TEMP MACRO g(x) AS x")
	run(t, s, "CREATE OR REPLACE TEMP MACRO g(x) AS g(x) + g(x)")
	if _, err := s.Analyze(ctx, "SELECT g(1)", Env{}); fault.CodeOf(err) != fault.StatementForbidden {
		t.Errorf("a macro that calls itself: %v", err)
	}
}

// Functions that a deeply nested value takes through the end of the stack.
func TestFunctionsThatRecurse(t *testing.T) {
	_, s := newGate(t, newRealLake(t, sales...))
	ctx := context.Background()
	for _, sql := range []string{
		"SELECT json_structure(b) FROM t", "SELECT json_group_structure(b) FROM t", "SELECT json_contains(b, '1') FROM t", "SELECT json_merge_patch(b, b) FROM t", "SELECT b::JSON.json_structure() FROM t",
		"SELECT json_transform(b, b) FROM t", "SELECT json_transform(b, repeat('[', 9)) FROM t", "SELECT from_json(b, ?) FROM t", "SELECT from_json(b, '" + strings.Repeat("[", maxShape) + "') FROM t",
		"SELECT (b).from_json_strict('a' || 'b') FROM t", "SELECT json_deserialize_sql(b) FROM t", "SELECT b::JSON::VARIANT FROM t", "SELECT a FROM t WHERE CAST(b AS VARIANT) IS NULL",
		"SELECT TRY_CAST([b::JSON] AS VARIANT[]) FROM t", "SELECT {'x': b}::STRUCT(x VARIANT) FROM t", "SELECT variant_typeof(b::JSON) FROM t", "INSERT INTO t SELECT a, b::JSON::VARIANT::VARCHAR FROM t",
		"CREATE VIEW w AS SELECT b::JSON::VARIANT::VARCHAR AS c FROM t", "CREATE TABLE w AS SELECT MAP {1: b}::MAP(INTEGER, VARIANT)::VARCHAR AS c FROM t",
		"CREATE TEMP TABLE w(x VARIANT)", "CREATE TABLE w(a INTEGER, x VARIANT[])", "ALTER TABLE t ADD COLUMN x VARIANT", "ALTER TABLE t ALTER b TYPE VARIANT", "ALTER TABLE t ALTER b SET DATA TYPE VARIANT", "CREATE MACRO w(x VARIANT) AS x",
		`SELECT b::"variant" AS c FROM t`, "SELECT b :: /* */ VARIANT AS c FROM t", "CREATE MACRO w(x) AS x::VARIANT", "SELECT make_type('VARIANT')",
	} {
		if _, err := s.Analyze(ctx, sql, Env{}); fault.CodeOf(err) != fault.StatementForbidden {
			t.Errorf("%.100s: %.200v", sql, err)
		}
	}
	for _, sql := range []string{
		`SELECT json_transform(b, '{"a": "INTEGER"}'), from_json(b, '["JSON"]'), (b).from_json($$"JSON"$$) FROM t`, "SELECT b AS variant, 'AS VARIANT' AS c, count(*) AS n FROM t GROUP BY variant, c ORDER BY variant", "SELECT x.variant, variant FROM (SELECT a AS variant FROM t) x WHERE variant > 1 AND x.variant < 3",
		"CREATE TABLE w(variant INTEGER, other INTEGER)", "ALTER TABLE t ADD COLUMN variant INTEGER", "ALTER TABLE t RENAME COLUMN a TO variant", "SELECT count(DISTINCT variant), max(variant) FROM (SELECT a AS variant FROM t)",
		"SELECT CASE WHEN variant = 1 THEN variant ELSE variant END FROM (SELECT a AS variant FROM t)", "SELECT b::JSON::STRUCT(a INTEGER) FROM t",
		"SELECT json_extract(b, '$.a'), json_keys(b), json_valid(b) FROM t",
	} {
		if _, err := s.Analyze(ctx, sql, Env{}); err != nil {
			t.Errorf("%s: %v", sql, err)
		}
	}
}
