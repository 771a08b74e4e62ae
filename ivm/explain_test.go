package ivm_test

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/vegadb/vega-flight/ducklake/laketest"
	"github.com/vegadb/vega-flight/fault"
)

func TestExplainStreaming(t *testing.T) {
	s := start(t, laketest.NewPlace(t, laketest.DuckDB), options{})
	s.exec(`CREATE TABLE t (k INTEGER, v BIGINT, ts TIMESTAMP, s STRUCT(x INTEGER))`, `CREATE TABLE "Other T" (k INTEGER, note VARCHAR)`,
		`CREATE VIEW big AS SELECT k, v FROM t WHERE v > 10`, `CREATE MACRO twice(x) AS x * 2`, `CREATE VIEW wild AS SELECT k, random() AS r FROM t`,
		`CREATE TABLE shapes (k INTEGER, g GEOMETRY)`, `CREATE SCHEMA other`, `CREATE TABLE other.t (k INTEGER)`)

	rows := s.run(`EXPLAIN STREAMING SELECT b.k, twice(sum(v)) AS s, o.note FROM big b LEFT JOIN "Other T" o USING (k) GROUP BY ALL HAVING count(*) > 1`)
	var got []string
	for _, r := range rows {
		got = append(got, strings.Join([]string{r["node_id"], r["parent_id"], r["operator"], r["input_mode"], r["output_mode"], r["key"], r["state_kind"], r["state_bound"], r["partitioning"], r["admitted"], r["reason"]}, "|"))
	}
	want := []string{
		"0||project|upsert|upsert|(k, note)|none||any|true|",
		"1|0|filter|upsert|upsert|(k, note)|none||any|true|",
		"2|1|aggregate|retract|upsert|(k, note)|groups|groups(#2)|hash(k, note)|true|",
		"3|2|join|retract|retract|row|join_sides|rows(#4) + rows(#6)|hash(k)|true|",
		"4|3|filter|retract|retract|row|none||any|true|",
		"5|4|scan|retract|retract|row|none||any|true|",
		"6|3|scan|retract|retract|row|none||any|true|",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if d := rows[5]["detail"]; d != "t (k, v)" {
		t.Errorf("the scan: %s", d)
	}

	// All reasons at once, with their places in the statement.
	const bad = `EXPLAIN STREAMING SELECT list(k) AS l, max(random()) AS r FROM t WHERE ts <> now()`
	reasons := map[string]bool{}
	for _, r := range s.run(bad) {
		if r["admitted"] == "true" != (r["reason"] == "") {
			t.Errorf("admitted %s with the reason %q", r["admitted"], r["reason"])
		}
		for _, line := range strings.Split(r["reason"], "\n") {
			if line != "" {
				name, _, _ := strings.Cut(line, ":")
				reasons[name] = true
			}
		}
	}
	for _, want := range []struct{ code, word string }{{"NO_TOTAL_ORDER", "list"}, {"VOLATILE_FUNCTION", "random"}, {"CLOCK_OUTSIDE_FILTER", "now"}} {
		if name := want.code + " at " + strconv.Itoa(strings.Index(bad, want.word)); !reasons[name] {
			t.Errorf("%s is missing among %v", name, reasons)
		}
	}

	for sql, want := range map[string]string{
		`EXPLAIN STREAMING SELECT k FROM wild WHERE r > 0.5`:                      "VOLATILE_FUNCTION",
		`EXPLAIN STREAMING SELECT k FROM wild`:                                    "",
		`EXPLAIN STREAMING SELECT k FROM other.t`:                                 "",
		`EXPLAIN STREAMING SELECT k FROM t WHERE ts > now() - INTERVAL 1 HOUR`:    "",
		`EXPLAIN STREAMING SELECT current_date AS d, k FROM t`:                    "CLOCK_OUTSIDE_FILTER",
		`EXPLAIN STREAMING SELECT k, current_user AS u FROM t`:                    "VOLATILE_FUNCTION",
		`EXPLAIN STREAMING SELECT k FROM t TABLESAMPLE 10%`:                       "SAMPLE",
		`EXPLAIN STREAMING SELECT x.k FROM t x POSITIONAL JOIN other.t y`:         "POSITIONAL_JOIN",
		`EXPLAIN STREAMING SELECT k, time '10:00'::TIMETZ AS z FROM t`:            "UNSTABLE_TYPE",
		`EXPLAIN STREAMING SELECT k, g FROM shapes`:                               "UNSTABLE_TYPE",
		`EXPLAIN STREAMING (SELECT k FROM t)`:                                     "",
		`EXPLAIN STREAMING SELECT k FROM t WHERE k = '101'::BIT::INTEGER`:         "",
		`EXPLAIN STREAMING SELECT DISTINCT ON (k) k, v FROM t ORDER BY k, v`:      "",
		`EXPLAIN STREAMING SELECT k, (SELECT max(v) FROM big) AS m FROM t`:        "",
		`EXPLAIN STREAMING WITH x AS (SELECT k FROM big) FROM x UNION ALL FROM x`: "",
	} {
		found := ""
		for _, r := range s.run(sql) {
			if name, _, _ := strings.Cut(r["reason"], " "); r["reason"] != "" {
				found = strings.TrimSuffix(name, ":")
			}
		}
		if found != want {
			t.Errorf("%s: %q, want %q", sql, found, want)
		}
	}

	if text := s.run(`EXPLAIN STREAMING (FORMAT text) SELECT k FROM t`); len(text) != 1 || !strings.Contains(text[0]["plan"], "scan t (k)") {
		t.Errorf("text: %v", text)
	}
	var tree struct {
		Admitted bool
		Plan     struct {
			NodeID   int `json:"node_id"`
			Operator string
			Inputs   []struct{ Operator string }
		}
	}
	doc := s.run(`EXPLAIN STREAMING (FORMAT json) SELECT k FROM t WHERE v > 1`)
	if err := json.Unmarshal([]byte(doc[0]["plan"]), &tree); err != nil || !tree.Admitted || tree.Plan.Operator != "project" || len(tree.Plan.Inputs) != 1 {
		t.Errorf("json: %v %+v", err, tree)
	}

	_, err := s.try(`EXPLAIN STREAMING SELECT nothing FROM t`)
	if f, ok := err.(*fault.Error); !ok || f.Code != fault.SQLError || f.Position != len(`EXPLAIN STREAMING SELECT `) {
		t.Errorf("an unknown column: %v", err)
	}
	s.fails(fault.ObjectNotFound, `EXPLAIN STREAMING SELECT k FROM nowhere`)
	s.fails(fault.InvalidParameter, `EXPLAIN STREAMING DROP TABLE t`)
}
