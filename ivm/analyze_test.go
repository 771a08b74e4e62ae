package ivm_test

import (
	"strconv"
	"testing"

	"github.com/vegadb/vega-flight/ducklake/laketest"
	"github.com/vegadb/vega-flight/fault"
)

// What the operators of a running view have done and remember, in the numbers of what was written.
func TestExplainStreamingAnalyze(t *testing.T) {
	laketest.Each(t, func(t *testing.T, k laketest.Kind) {
		place := laketest.NewPlace(t, k)
		s := start(t, place, options{stream: true})
		s.exec(`CREATE TABLE t (k INTEGER, v BIGINT)`, `INSERT INTO t SELECT i % 100, i FROM range(1000) r(i)`, `CREATE TABLE names (k INTEGER, name VARCHAR)`,
			`INSERT INTO names SELECT i, 'n' || i FROM range(50) r(i)`)
		const query = `SELECT name, count(*) AS n, sum(v)::DECIMAL(38,0) AS total, max(v) AS most FROM lake.main.t JOIN lake.main.names USING (k) GROUP BY name`
		s.run(`CREATE STREAMING MATERIALIZED VIEW v WITH (wait_for_ready = true, parallelism = 3) AS ` + query)
		s.follows("v", query)
		explained := s.run(`EXPLAIN STREAMING ` + query)
		analyzed := func() rows {
			t.Helper()
			out := s.run(`EXPLAIN STREAMING ANALYZE v`)
			if len(out) != len(explained) {
				t.Fatalf("%d operators, and %d of the plan", len(out), len(explained))
			}
			for i, r := range out {
				for _, c := range []string{"node_id", "parent_id", "operator", "detail", "state_kind"} {
					if r[c] != explained[i][c] {
						t.Errorf("operator %d: %s is %q, and %q in the plan", i, c, r[c], explained[i][c])
					}
				}
			}
			return out
		}
		number := func(r map[string]string, column string) int {
			t.Helper()
			n, err := strconv.Atoi(r[column])
			if err != nil {
				t.Fatalf("%s of %v: %v", column, r, err)
			}
			return n
		}
		before := analyzed()
		s.exec(`INSERT INTO t SELECT i, 5 FROM range(7) r(i)`, `DELETE FROM t WHERE k = 3 AND v = 103`)
		s.follows("v", query)
		seen := map[string]bool{}
		for i, r := range analyzed() {
			switch seen[r["operator"]] = true; r["operator"] {
			case "join":
				if in, out := number(r, "rows_in")-number(before[i], "rows_in"), number(r, "rows_out")-number(before[i], "rows_out"); in != 8 || out != 8 {
					t.Errorf("the join has taken in %d changes and given %d", in, out)
				}
				if n := number(r, "state_keys"); n < 100 {
					t.Errorf("the join remembers %d keys", n)
				}
			case "aggregate":
				if in := number(r, "rows_in") - number(before[i], "rows_in"); in != 8 {
					t.Errorf("the aggregation has taken in %d changes", in)
				}
				if n := number(r, "state_keys"); n < 50 {
					t.Errorf("the aggregation remembers %d keys", n)
				}
			default:
				continue
			}
			skew, err := strconv.ParseFloat(r["skew"], 64)
			if err != nil || skew < 1 || skew > 3 || r["shards"] != "3" || number(r, "state_bytes") <= 0 || number(r, "busy_us") < 0 {
				t.Errorf("%v, %v", err, r)
			}
		}
		if !seen["join"] || !seen["aggregate"] {
			t.Errorf("the operators are %v", seen)
		}
		// Its owner may ask, and where it runs.
		bob := s.caller
		bob.Principal = "bob"
		if _, err := s.tryAs(t.Context(), bob, `EXPLAIN STREAMING ANALYZE v`); fault.CodeOf(err) != fault.PermissionDenied {
			t.Errorf("somebody else asks: %v", err)
		}
		s.run(`ALTER STREAMING MATERIALIZED VIEW v PAUSE`)
		s.comes("v", "PAUSED")
		s.fails(fault.NotReady, `EXPLAIN STREAMING ANALYZE v`)
	})
}
