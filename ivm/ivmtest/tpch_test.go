package ivmtest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vegadb/vega-flight/ducklake/extension"
)

// tpchTables are TPC-H's, in an order in which they can be made.
var tpchTables = []string{"region", "nation", "supplier", "part", "partsupp", "customer", "orders", "lineitem"}

// TestTPCH maintains the 22 queries over the refresh functions: new orders come (RF1), old ones go (RF2), and rows of every
// table change. $VEGA_TPCH is the scale factor.
func TestTPCH(t *testing.T) {
	scale := os.Getenv("VEGA_TPCH")
	if scale == "" {
		scale = "0.1"
	}
	dir := os.Getenv(extension.DirEnv)
	if dir == "" {
		dir = filepath.Join("..", "..", ".build", "extensions")
	}
	file := extension.Path(dir, "tpch")
	if _, err := os.Stat(file); err != nil {
		t.Fatalf("DuckDB's extension tpch is not in %s; make deps fetches it", filepath.Dir(file))
	}
	l := newLab(t, nil)
	ctx := t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(l.Exec(ctx, "LOAD '"+file+"'"))
	must(l.Exec(ctx, "CREATE SCHEMA dbgen; CALL dbgen(sf = "+scale+", schema = 'dbgen')"))
	queries, err := l.Rows(ctx, "SELECT query_nr::INTEGER, query FROM tpch_queries() ORDER BY 1")
	must(err)
	w, err := l.World(ctx)
	must(err)
	for _, name := range tpchTables {
		must(w.Table(ctx, fmt.Sprintf("CREATE TABLE %s AS FROM dbgen.%s", name, name), false))
	}
	views := 0
	var refused []string
	for _, q := range queries {
		name := fmt.Sprintf("q%v", q[0])
		sql := strings.TrimRight(strings.TrimSpace(q[1].(string)), ";")
		_, err := w.View(ctx, name, sql, Options{Scale: 1e7})
		var why *Refused
		if errors.As(err, &why) {
			refused = append(refused, name+": "+why.Reasons[0].String())
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			if v := w.Named(name); v != nil {
				must(w.forget(v))
			}
			continue
		}
		views++
	}
	// New orders are old ones under new numbers: dates, prices and keys stay likely.
	refresh := func(i int) string {
		return fmt.Sprintf(`INSERT INTO orders SELECT * REPLACE (o_orderkey + %[1]d AS o_orderkey) FROM dbgen.orders WHERE hash(o_orderkey + %[2]d) %% 1000 = 0;
			INSERT INTO lineitem SELECT * REPLACE (l_orderkey + %[1]d AS l_orderkey) FROM dbgen.lineitem WHERE hash(l_orderkey + %[2]d) %% 1000 = 0`, 100000000*i, i)
	}
	remove := func(i int) string {
		return fmt.Sprintf(`DELETE FROM lineitem WHERE hash(l_orderkey + %[1]d) %% 1000 = 1; DELETE FROM orders WHERE hash(o_orderkey + %[1]d) %% 1000 = 1`, i)
	}
	steps := []string{
		refresh(1), remove(1), refresh(2) + ";" + remove(2),
		"UPDATE lineitem SET l_quantity = l_quantity + 10, l_shipmode = 'MAIL', l_returnflag = 'R' WHERE l_orderkey % 97 = 3",
		"UPDATE orders SET o_custkey = o_custkey % 500 + 1, o_orderstatus = 'F' WHERE o_orderkey % 89 = 1",
		"UPDATE customer SET c_mktsegment = 'BUILDING', c_acctbal = -c_acctbal, c_nationkey = (c_nationkey + 1) % 25 WHERE c_custkey % 50 = 7",
		"UPDATE supplier SET s_nationkey = (s_nationkey + 5) % 25 WHERE s_suppkey % 10 = 3; UPDATE partsupp SET ps_supplycost = ps_supplycost / 2, ps_availqty = ps_availqty * 3 WHERE ps_partkey % 20 = 1",
		"UPDATE part SET p_type = 'ECONOMY ANODIZED STEEL', p_size = 15, p_name = 'forest green ' || p_name, p_container = 'MED BOX', p_brand = 'Brand#23' WHERE p_partkey % 40 = 11",
		"DELETE FROM customer WHERE c_custkey % 100 = 8; DELETE FROM part WHERE p_partkey % 100 = 9; DELETE FROM nation WHERE n_name = 'JAPAN'",
		"INSERT INTO nation SELECT * FROM dbgen.nation WHERE n_name = 'JAPAN'; UPDATE region SET r_name = 'EUROPE' WHERE r_name = 'ASIA'",
	}
	for i, dml := range steps {
		must(w.Exec(ctx, dml))
		deltas, err := w.deltas(ctx)
		must(err)
		for _, v := range append([]*View{}, w.views...) {
			if err := v.step(ctx, deltas); err != nil {
				t.Errorf("step %d: %v", i+1, err)
				must(w.forget(v))
			}
		}
	}
	golden(t, refused)
	t.Logf("%d of %d queries, %d steps", views, len(queries), len(steps))
	must(w.Close(ctx))
}
