package flights

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vegadb/vega-flight/ducklake/extension"
	"github.com/vegadb/vega-flight/integration/process"
)

// tpchQueries are those that run; the engine's own tests have all that it can maintain.
var tpchQueries = []int{1, 3, 4, 5, 6, 7, 10, 12, 13, 14, 18, 21}

// TestTPCH follows RF1 (new orders) and RF2 (old ones go), and changes of other tables.
func TestTPCH(t *testing.T) {
	scale := os.Getenv("VEGA_TPCH")
	if scale == "" {
		scale = "0.01"
	}
	file, err := extension.Find(process.ExtensionDir(t), "tpch")
	if err != nil {
		t.Fatalf("%v; make deps fetches it", err)
	}
	o := newOracle(t)
	o.exec("LOAD '"+file+"'", "CREATE SCHEMA dbgen", "CALL dbgen(sf = "+scale+", schema = 'dbgen')")
	s := process.Start(t, process.Options{Lake: filepath.Join(t.TempDir(), "lake")})
	c := s.Connect(t)
	w := connection{s.Connect(t), o}
	for _, name := range []string{"region", "nation", "supplier", "part", "partsupp", "customer", "orders", "lineitem"} {
		o.exec("CREATE TABLE " + name + " AS FROM dbgen." + name)
		o.ingest(c, name, "FROM "+name)
	}
	var names []string
	for _, q := range o.rows("SELECT query_nr::BIGINT, query FROM tpch_queries() WHERE query_nr IN (" + strings.Trim(strings.ReplaceAll(fmt.Sprint(tpchQueries), " ", ","), "[]") + ")") {
		name, sql := fmt.Sprintf("q%d", q[0]), strings.TrimRight(strings.TrimSpace(q[1].(string)), ";")
		c.Must(t, "CREATE STREAMING MATERIALIZED VIEW "+name+" WITH (wait_for_ready = true) AS "+sql)
		o.exec("CREATE VIEW " + name + " AS " + sql)
		names = append(names, name)
	}
	filled := map[string]bool{} // what is always empty tests little
	check := func(step int) {
		settle(t, c)
		for _, name := range names {
			if o.compare(c, name) > 0 {
				filled[name] = true
			}
		}
		if t.Failed() {
			t.Fatalf("step %d", step)
		}
	}
	check(0)
	for i, ch := range refreshFunctions() {
		w.commit(t, ch)
		o.exec(ch.text())
		check(i + 1)
	}
	if len(filled) < 8 {
		t.Errorf("of %d queries only these ever have rows: %v", len(names), filled)
	}
	if out, err := process.Run(t, "check", s.Flight); err != nil {
		t.Errorf("check: %v\n%s", err, out)
	}
}

// refreshFunctions are RF1 and RF2 twice, and changes of what does not change in TPC-H. New orders are old ones under new numbers: dates,
// prices and keys stay likely.
func refreshFunctions() (all []change) {
	for i := 1; i <= 2; i++ {
		all = append(all,
			change{into: "orders", query: fmt.Sprintf("SELECT * REPLACE (o_orderkey + %d AS o_orderkey) FROM dbgen.orders WHERE hash(o_orderkey + %d) %% 200 = 0", 100_000_000*i, i)},
			change{into: "lineitem", query: fmt.Sprintf("SELECT * REPLACE (l_orderkey + %d AS l_orderkey) FROM dbgen.lineitem WHERE hash(l_orderkey + %d) %% 200 = 0", 100_000_000*i, i)},
			change{sql: fmt.Sprintf("DELETE FROM lineitem WHERE hash(l_orderkey + %d) %% 200 = 1", i)},
			change{sql: fmt.Sprintf("DELETE FROM orders WHERE hash(o_orderkey + %d) %% 200 = 1", i)})
	}
	return append(all,
		change{sql: "UPDATE lineitem SET l_quantity = l_quantity + 10, l_shipmode = 'MAIL', l_returnflag = 'R' WHERE l_orderkey % 97 = 3"},
		change{sql: "UPDATE customer SET c_mktsegment = 'BUILDING', c_acctbal = -c_acctbal, c_nationkey = (c_nationkey + 1) % 25 WHERE c_custkey % 50 = 7"},
		change{sql: "DELETE FROM nation WHERE n_name = 'JAPAN'"},
		change{sql: "UPDATE supplier SET s_nationkey = (s_nationkey + 5) % 25 WHERE s_suppkey % 10 = 3"})
}
