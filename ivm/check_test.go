package ivm_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/vegadb/vega-flight/ducklake/laketest"
	"github.com/vegadb/vega-flight/ivm/bind"
	"github.com/vegadb/vega-flight/ivm/check"
)

func (s *server) check() check.Report {
	s.t.Helper()
	return s.checkWith(nil)
}

// checkWith is check with something that happens before each view is looked at.
func (s *server) checkWith(before func(view string)) check.Report {
	s.t.Helper()
	binder := &bind.Binder{Lake: s.lake}
	r, err := check.Run(s.t.Context(), check.Config{
		Lake: s.lake, Store: s.store, Text: &bind.Text{Lake: s.lake.Name(), Parse: binder.Parse}, Servers: s.servers, Progress: before,
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return r
}

func kinds(r check.Report) []check.Kind {
	var out []check.Kind
	for _, f := range r.Findings {
		out = append(out, f.Kind)
	}
	slices.Sort(out)
	return out
}

// A refresh that publishes while the lake is checked is no finding.
func TestCheckBesideRefreshes(t *testing.T) {
	laketest.Each(t, func(t *testing.T, k laketest.Kind) {
		s := start(t, laketest.NewPlace(t, k), options{})
		s.exec(`CREATE TABLE t (k INTEGER, v BIGINT)`, `INSERT INTO t VALUES (1, 1)`)
		s.run(`CREATE MATERIALIZED VIEW v AS ` + totals)
		r := s.checkWith(func(string) {
			s.exec(`INSERT INTO t VALUES (2, 2)`)
			s.run(`REFRESH MATERIALIZED VIEW v`)
		})
		if len(r.Findings) != 0 || r.Compared != 1 {
			t.Fatalf("%+v", r)
		}
	})
}

func TestCheck(t *testing.T) {
	laketest.Each(t, func(t *testing.T, k laketest.Kind) {
		s := start(t, laketest.NewPlace(t, k), options{})
		s.exec(`CREATE TABLE t (k INTEGER, v BIGINT, d DOUBLE)`, `INSERT INTO t SELECT i % 10, i, i / 7 FROM range(1000) r(i)`)
		s.run(`CREATE MATERIALIZED VIEW v AS ` + totals)
		s.run(`CREATE MATERIALIZED VIEW over_v AS SELECT max(total) AS m FROM lake.main.v`)
		s.run(`CREATE MATERIALIZED VIEW floats AS SELECT k, avg(d) AS a FROM lake.main.t GROUP BY k`)
		s.run(`CREATE MATERIALIZED VIEW dice AS SELECT random() AS r FROM lake.main.t`)
		s.run(`CREATE MATERIALIZED VIEW later AS ` + totals + ` WITH NO DATA`)
		// Everything moves on; the views still are what they were computed from.
		s.exec(`INSERT INTO t VALUES (3, 3, 3)`, `ALTER TABLE t RENAME COLUMN v TO w`, `ALTER TABLE t RENAME TO u`)
		s.run(`REFRESH MATERIALIZED VIEW v`)
		r := s.check()
		if !r.OK() || r.Views != 5 || r.Compared != 4 || !slices.Equal(kinds(r), []check.Kind{check.NotReproducible}) || r.Findings[0].View != "main.dice" {
			t.Fatalf("a lake in order: %+v", r)
		}

		s.query(`INSERT INTO lake.main.v VALUES (99, 99, 99)`)
		s.query(`DELETE FROM lake.main.floats WHERE k = 1`)
		s.query(`COMMENT ON TABLE lake.main.over_v IS 'lost'`)
		s.sql(`UPDATE {M}vega_views SET definition = definition || ' ' WHERE view_name = 'later'`)
		s.sql(`INSERT INTO {M}vega_holds VALUES ('nobody', 0, 1, true, now())`)
		s.sql(`INSERT INTO {M}vega_staged VALUES ('main/t/vega-x', 'no job', 1, 'ghost', 1, now())`)
		folder := filepath.Join(s.lake.DataPath(), "main", "t", "vega-lost")
		if err := os.MkdirAll(folder, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, "a.parquet"), nil, 0o644); err != nil {
			t.Fatal(err)
		}
		r = s.check()
		want := []check.Kind{check.Comment, check.Definition, check.Differs, check.Differs, check.Hold, check.NotReproducible, check.Rows, check.Rows, check.Staging, check.Staging}
		slices.Sort(want)
		if r.OK() || !slices.Equal(kinds(r), want) {
			t.Errorf("a lake out of order: %v", r.Findings)
		}
		s.sql(`DELETE FROM {M}vega_holds WHERE holder = 'nobody'`)
	})
}
