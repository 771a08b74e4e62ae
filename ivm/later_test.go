package ivm_test

import (
	"testing"

	"github.com/vegadb/vega-flight/ducklake/laketest"
)

// What was made after a view was defined does not change what its query means: neither macros with the names of functions, which other
// programs may write into the lake, nor macros with the names of what the engine itself asks.
func TestLaterMacrosDoNotChangeAView(t *testing.T) {
	s := start(t, laketest.NewPlace(t, laketest.DuckDB), options{})
	s.exec(`CREATE TABLE t (k INTEGER, v BIGINT)`, `INSERT INTO t VALUES (-1, 2)`)
	s.run(`CREATE MATERIALIZED VIEW v AS SELECT abs(k) AS a, k + v AS s FROM lake.main.t`)
	then := s.one(`SELECT max(snapshot_id) FROM lake.snapshots()`)
	for _, sql := range []string{`CREATE MACRO abs(x) AS 777`, `CREATE MACRO "+"(a, b) AS 888::BIGINT`, `CREATE MACRO json_serialize_sql(x) AS 'none'`} {
		if err := s.lake.DDL(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	for _, sql := range []string{`REFRESH MATERIALIZED VIEW v WITH (full = true)`, `REFRESH MATERIALIZED VIEW v WITH (source_version = ` + then + `)`} {
		s.run(sql)
		if got := s.one(`SELECT a || ' ' || s FROM v`); got != "1 1" {
			t.Errorf("%s: %s", sql, got)
		}
	}
}
