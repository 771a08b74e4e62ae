package ivm_test

import (
	"testing"

	"github.com/vegadb/vega-flight/ducklake/laketest"
	"github.com/vegadb/vega-flight/fault"
)

// A view that was computed from another one is stale once that has content of another definition, though no base table changed; also
// through a view between them. Options of a definition and further refreshes under it make nothing stale.
func TestStaleOverARedefinedView(t *testing.T) {
	laketest.Each(t, func(t *testing.T, k laketest.Kind) {
		s := start(t, laketest.NewPlace(t, k), options{})
		s.exec(`CREATE TABLE t (k INTEGER)`, `INSERT INTO t VALUES (1), (2)`)
		s.run(`CREATE MATERIALIZED VIEW v AS SELECT k FROM lake.main.t;
			CREATE MATERIALIZED VIEW w WITH (max_staleness = '0s') AS SELECT k FROM lake.main.v;
			CREATE MATERIALIZED VIEW x WITH (max_staleness = '0s') AS SELECT k FROM lake.main.w`)
		w, x := `SELECT * FROM w`, `SELECT * FROM x`
		fresh := func(when string) {
			t.Helper()
			t.Log(when)
			s.admits(nil, w)
			s.admits(nil, x)
		}
		fresh("at first")
		s.run(`ALTER MATERIALIZED VIEW v SET (max_staleness = '1 hour')`)
		s.run(`REFRESH MATERIALIZED VIEW v WITH (full = true)`)
		fresh("other options, the same content")

		s.run(`CREATE OR REPLACE MATERIALIZED VIEW v AS SELECT k + 10 AS k FROM lake.main.t`)
		s.admits(fault.ViewStale, w)
		s.admits(fault.ViewStale, x)
		s.run(`REFRESH MATERIALIZED VIEW w`)
		s.admits(nil, w)
		s.admits(fault.ViewStale, x)
		s.run(`REFRESH MATERIALIZED VIEW x`)
		fresh("refreshed")
		s.matches("lake.main.x", `SELECT k + 10 AS k FROM lake.main.t`)

		// Without data there is nothing newer to reflect, until there is.
		s.run(`CREATE OR REPLACE MATERIALIZED VIEW v AS SELECT k + 20 AS k FROM lake.main.t WITH NO DATA`)
		fresh("nothing published under the new definition")
		s.run(`REFRESH MATERIALIZED VIEW v`)
		s.admits(fault.ViewStale, w)
		s.admits(fault.ViewStale, x)
	})
}
