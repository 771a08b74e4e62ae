package ducklake_test

import (
	"testing"

	"github.com/vegadb/vega-flight/ducklake/laketest"
)

// A join does not filter what a LIMIT on one of its sides chooses among. DuckDB did so in about a third of the runs: only with more
// than one thread, and then as they happen to run.
func TestJoinsWithLimitedRows(t *testing.T) {
	c := connect(t, laketest.New(t, laketest.DuckDB))
	c.exec(`CREATE TABLE facts AS SELECT i AS id, (i * 7919) % 1000 AS k, i % 50 AS a FROM range(100000) t(i)`)
	c.exec(`CREATE TABLE few AS SELECT i AS a FROM range(3) t(i)`)
	for range 40 {
		c.want(`SELECT count(*), sum(id) FROM (FROM facts ORDER BY k, id LIMIT 1000) s JOIN few USING (a)`, "100|4950000")
		c.want(`SELECT count(*), sum(id) FROM (FROM facts ORDER BY k, id LIMIT 1000) s WHERE a IN (FROM few)`, "100|4950000")
		c.want(`SELECT count(*) FROM (SELECT a, count(*) AS n FROM facts GROUP BY a ORDER BY n DESC, a DESC LIMIT 10) s JOIN few USING (a)`, "0")
	}
}
