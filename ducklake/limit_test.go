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

// Right and full ASOF joins end, also where the lake is to have one thread. DuckDB then waited for itself for ever.
func TestASOFJoinsEnd(t *testing.T) {
	p := laketest.NewPlace(t, laketest.DuckDB)
	p.Config.Threads = 1
	c := connect(t, p.Open(t))
	c.exec(`CREATE TABLE a (k INTEGER, v INTEGER)`)
	c.exec(`CREATE TABLE b AS SELECT 1 AS k, 1 AS v`)
	for _, kind := range []string{"RIGHT", "FULL"} {
		c.want(`SELECT * FROM a ASOF `+kind+` JOIN b ON a.k = b.k AND a.v >= b.v`, "NULL|NULL|1|1")
	}
}
