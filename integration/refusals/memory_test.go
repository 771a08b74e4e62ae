package refusals

import (
	"testing"

	"github.com/vegadb/vega-flight/integration/process"
)

// greedy are statements whose values DuckDB does not count against its memory limit.
var greedy = []string{
	"SELECT length(repeat('x', 3000000000))",
	"SELECT repeat('x', 3000000000)",
	"SELECT length(repeat('x', 200000000) || repeat('y', 200000000) || repeat('z', 200000000) || repeat('z', 200000000))",
	"SELECT length(range(1000000000::BIGINT))",
	"SELECT length(list(i)) FROM range(1000000000) t(i)",
	"SELECT length(string_agg(repeat('x', 1000), ',')) FROM range(10000000) t(i)",
	"SELECT sum(length(repeat('x', 10000000 + i::INTEGER))) FROM range(2000) t(i)",
	"SELECT length(format('{:2000000000}', 1))",
	"SELECT length(replace(repeat('x', 100000), 'x', repeat('y', 20000)))",
	"SELECT quantile_disc(i, 0.5) FROM range(1000000000) t(i)",
	"SELECT * FROM range(length(repeat('x', 3000000000)))",
	"CREATE TABLE huge AS SELECT repeat('x', 3000000000) AS x",
	"INSERT INTO t SELECT length(repeat('x', 3000000000)) FROM t",
	"CREATE MATERIALIZED VIEW huge AS SELECT repeat('x', 3000000000) AS x",
}

// A statement that takes more memory than there is costs itself only: it fails with a name, and the server goes on for others.
func TestMemoryOfOneStatement(t *testing.T) {
	s := process.Start(t, process.Options{Lake: newHouse(t).lake, Args: []string{"--memory-limit", "512MB", "--memory-ceiling", "1500MB", "--maintenance-interval", "0"}})
	bad, good := s.Connect(t), s.Connect(t)
	good.Must(t, "CREATE TABLE t (i BIGINT)")
	good.Must(t, "INSERT INTO t VALUES (1)")
	for _, sql := range greedy {
		_, err := bad.Query(t.Context(), sql)
		process.Refused(t, err, "MEMORY_EXHAUSTED")
		if rows := good.Must(t, "SELECT i + 1 FROM t"); len(rows) != 1 || rows[0][0] != "2" {
			t.Fatalf("after %s: %v", sql, rows)
		}
	}
	if rows := bad.Must(t, "SELECT count(*) FROM t"); rows[0][0] != "1" {
		t.Error(rows)
	}
}

// A refresh that grows in small steps is ended like a statement, before it takes what the machine has, and so fails with the same name.
func TestMemoryOfARefresh(t *testing.T) {
	s := process.Start(t, process.Options{Lake: newHouse(t).lake, Args: []string{"--memory-limit", "512MB", "--memory-ceiling", "600MB", "--maintenance-interval", "0"}})
	c := s.Connect(t)
	c.Must(t, "CREATE TABLE t AS SELECT i FROM range(300000) r(i)")
	_, err := c.Query(t.Context(), "CREATE MATERIALIZED VIEW v AS SELECT histogram(a.i * 1000 + b.i) AS h FROM t a, t b WHERE b.i < 100")
	process.Refused(t, err, "MEMORY_EXHAUSTED")
	if rows := c.Must(t, "SELECT error_code, contains(error_message, 'newest') FROM vega.jobs"); rows[0][0] != "MEMORY_EXHAUSTED" || rows[0][1] != "true" {
		t.Error(rows)
	}
	if rows := c.Must(t, "SELECT count(*) FROM t"); rows[0][0] != "300000" {
		t.Error(rows)
	}
}
