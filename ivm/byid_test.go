package ivm_test

import (
	"context"
	"testing"

	"github.com/vegadb/vega-flight/ducklake/laketest"
	"github.com/vegadb/vega-flight/fault"
	sink "github.com/vegadb/vega-flight/ivm/sink/lake"
)

// Another program takes a view's name, for a table of its own, just before the view is dropped or its comment is written. Its table stays
// what it is.
func TestANameTakenMeanwhile(t *testing.T) {
	laketest.Each(t, func(t *testing.T, k laketest.Kind) {
		var s *server
		var at string
		taken := make(chan struct{}, 2)
		take := func(name string) func() error {
			return func() error {
				if at != name {
					return nil
				}
				at = ""
				defer func() { taken <- struct{}{} }()
				ctx := context.Background()
				if err := s.lake.DDL(ctx, `ALTER TABLE lake.main.v RENAME TO moved_`+name); err != nil {
					return err
				}
				if err := s.lake.DDL(ctx, `CREATE TABLE lake.main.v (theirs INTEGER)`); err != nil {
					return err
				}
				return s.lake.DDL(ctx, `COMMENT ON TABLE lake.main.v IS 'theirs'`)
			}
		}
		s = start(t, laketest.NewPlace(t, k), options{faults: sink.Faults{DroppingTable: take("drop"), Commenting: take("comment")}})
		s.exec(`CREATE TABLE t (k INTEGER)`, `INSERT INTO t VALUES (1)`)
		comment := func(name string) string {
			return s.one(`SELECT comment FROM duckdb_tables() WHERE database_name = 'lake' AND table_name = '` + name + `'`)
		}

		s.run(`CREATE MATERIALIZED VIEW v AS FROM lake.main.t`)
		at = "drop"
		s.run(`DROP MATERIALIZED VIEW v`)
		<-taken
		if got := comment("v"); got != "theirs" {
			t.Errorf("their table's comment: %s", got)
		}
		if n := s.one(`SELECT count(*) FROM duckdb_tables() WHERE database_name = 'lake' AND table_name = 'moved_drop'`); n != "0" {
			t.Error("the view's table is there")
		}
		s.exec(`DROP TABLE v`)

		s.run(`CREATE MATERIALIZED VIEW v AS FROM lake.main.t`)
		at = "comment"
		s.run(`CREATE OR REPLACE MATERIALIZED VIEW v AS SELECT k + 1 AS k FROM lake.main.t`)
		<-taken // the comment follows the commit that ended the job
		written := func() bool {
			return s.one(`SELECT count(*) FROM duckdb_tables() WHERE database_name = 'lake' AND table_name = 'moved_comment' AND comment LIKE '%k + 1%'`) == "1"
		}
		for !written() {
			s.pause()
		}
		if got := comment("v"); got != "theirs" {
			t.Errorf("their table's comment: %s", got)
		}
		s.comments()
		s.matches("lake.main.moved_comment", `SELECT k + 1 AS k FROM lake.main.t`)
		s.fails(fault.NotAView, `REFRESH MATERIALIZED VIEW v`)
		s.clean()
	})
}
