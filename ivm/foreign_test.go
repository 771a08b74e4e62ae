package ivm_test

import (
	"strings"
	"testing"

	"github.com/vegadb/vega-flight/ducklake/laketest"
	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/ivm/check"
)

// foreign runs DDL as another client of the lake does, past the gate.
func (s *server) foreign(sql string) {
	s.t.Helper()
	if err := s.lake.DDL(s.t.Context(), sql); err != nil {
		s.t.Fatalf("%s: %v", sql, err)
	}
}

// state is what SHOW says of a view.
func (s *server) state(view string) string {
	s.t.Helper()
	return s.run(`SHOW MATERIALIZED VIEW ` + view)[0]["state"]
}

// The columns of a view's table are the definition's: another program that changes them stops the refreshes, with a name, until that is
// undone or the view is replaced. What was published is served all the while.
func TestForeignColumns(t *testing.T) {
	laketest.Each(t, func(t *testing.T, k laketest.Kind) {
		s := start(t, laketest.NewPlace(t, k), options{})
		s.exec(`CREATE TABLE t (k INTEGER, v BIGINT)`, `INSERT INTO t VALUES (1, 1)`)
		s.run(`CREATE MATERIALIZED VIEW v AS ` + totals)
		for do, undo := range map[string]string{
			`ADD COLUMN extra INTEGER`:       `DROP COLUMN extra`,
			`RENAME COLUMN total TO mine`:    `RENAME COLUMN mine TO total`,
			`ALTER COLUMN k SET TYPE BIGINT`: "",
		} {
			s.foreign(`ALTER TABLE lake.main.v ` + do)
			if got := s.state("v"); got != "ALTERED" {
				t.Errorf("after %s it is %s", do, got)
			}
			s.exec(`INSERT INTO t VALUES (2, 2)`)
			err := s.fails(fault.ViewAltered, `REFRESH MATERIALIZED VIEW v`)
			if !strings.Contains(err.Error(), "main.v") {
				t.Error(err)
			}
			if r := s.check(); r.OK() || r.Findings[0].Kind != check.Altered {
				t.Errorf("%v", r.Findings)
			}
			s.query(`FROM lake.main.v`)
			if undo != "" {
				s.foreign(`ALTER TABLE lake.main.v ` + undo)
			} else {
				s.run(`CREATE OR REPLACE MATERIALIZED VIEW v AS ` + totals)
			}
			if got := s.state("v"); got != "READY" {
				t.Errorf("after %s it is %s", undo, got)
			}
			s.run(`REFRESH MATERIALIZED VIEW v`)
			s.matches("lake.main.v", totals)
		}
		if r := s.check(); !r.OK() {
			t.Errorf("%v", r.Findings)
		}
	})
}

// A view whose table another program drops does not vanish: it says so until it is made again or dropped.
func TestForeignDrop(t *testing.T) {
	laketest.Each(t, func(t *testing.T, k laketest.Kind) {
		at := laketest.NewPlace(t, k)
		s := start(t, at, options{})
		s.exec(`CREATE TABLE t (k INTEGER, v BIGINT)`, `INSERT INTO t VALUES (1, 1)`, `CREATE SCHEMA s`)
		for _, v := range []string{"again", "dropped", "taken", "s.inside"} {
			s.run(`CREATE MATERIALIZED VIEW ` + v + ` AS ` + totals)
		}
		for _, v := range []string{"again", "dropped", "taken"} {
			s.foreign(`DROP TABLE lake.main.` + v)
		}
		s.foreign(`CREATE TABLE lake.main.taken (i INTEGER)`)
		s.foreign(`DROP SCHEMA lake.s CASCADE`)
		s.stop()
		s = start(t, at, options{}) // the upkeep at the start
		for _, v := range []string{"again", "dropped"} {
			if got := s.state(v); got != "TABLE_GONE" {
				t.Errorf("%s is %s", v, got)
			}
			s.fails(fault.ViewTableGone, `REFRESH MATERIALIZED VIEW `+v)
		}
		s.fails(fault.NotAView, `SHOW MATERIALIZED VIEW taken`)
		s.fails(fault.ViewNotFound, `SHOW MATERIALIZED VIEW s.inside`)
		if n := len(s.run(`SHOW MATERIALIZED VIEWS`)); n != 2 {
			t.Errorf("%d views are shown", n)
		}
		if r := s.check(); r.OK() || len(r.Findings) != 2 {
			t.Errorf("%v", r.Findings)
		}
		s.run(`DROP MATERIALIZED VIEW dropped`)
		s.run(`CREATE MATERIALIZED VIEW again AS ` + totals)
		s.matches("lake.main.again", totals)
		s.fails(fault.ViewNotFound, `REFRESH MATERIALIZED VIEW dropped`)
		s.stop()
		s = start(t, at, options{})
		if r := s.run(`SHOW MATERIALIZED VIEWS`); len(r) != 1 || r[0]["state"] != "READY" {
			t.Errorf("%v", r)
		}
		if r := s.check(); !r.OK() || len(r.Findings) > 0 {
			t.Errorf("%v", r.Findings)
		}
	})
}
