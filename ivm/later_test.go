package ivm_test

import (
	"context"
	"testing"

	"github.com/vegadb/vega-flight/ducklake/laketest"
	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/ivm"
	"github.com/vegadb/vega-flight/ivm/refresh"
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

// pausing lets a test do something when a job is about to publish.
type pausing struct {
	refresh.Lake
	before func()
}

func (l *pausing) Publish(ctx context.Context, p refresh.Publication) (refresh.Published, error) {
	if f := l.before; f != nil {
		l.before = nil
		f()
	}
	return l.Lake.Publish(ctx, p)
}

// A replacement with other columns takes the place of its view, wherever that is by then, and of nothing else.
func TestReplacementOfAViewThatMoves(t *testing.T) {
	laketest.Each(t, func(t *testing.T, k laketest.Kind) {
		p := &pausing{}
		s := start(t, laketest.NewPlace(t, k), options{wrap: func(l refresh.Lake) refresh.Lake { p.Lake = l; return p }})
		s.exec(`CREATE TABLE t (k INTEGER)`, `INSERT INTO t VALUES (1)`)
		s.run(`CREATE MATERIALIZED VIEW v AS SELECT k FROM lake.main.t`)
		p.before = func() {
			s.run(`ALTER MATERIALIZED VIEW v RENAME TO w`)
			s.exec(`CREATE TABLE v AS SELECT 'precious' AS x`)
		}
		s.run(`CREATE OR REPLACE MATERIALIZED VIEW v AS SELECT k, k + 1 AS l FROM lake.main.t`)
		if got := s.one(`SELECT x FROM v`); got != "precious" {
			t.Errorf("the table that took the name is %s", got)
		}
		s.matches("lake.main.w", "SELECT k, k + 1 FROM lake.main.t")
		if all := s.run(`SHOW MATERIALIZED VIEWS`); len(all) != 1 || all[0]["view_name"] != "w" {
			t.Errorf("%v", all)
		}
		s.comments()
		s.clean()
		// A reader that came meanwhile keeps the columns it was bound to.
		p.before = func() { s.run(`CREATE MATERIALIZED VIEW reader AS SELECT l FROM lake.main.w WITH NO DATA`) }
		s.fails(fault.DependentViews, `CREATE OR REPLACE MATERIALIZED VIEW w AS SELECT k FROM lake.main.t`)
		s.matches("lake.main.w", "SELECT k, k + 1 FROM lake.main.t")
		s.run(`REFRESH MATERIALIZED VIEW reader`)
		s.clean()
	})
}

// A table that is gone is followed by its name, but not to the view itself.
func TestAViewDoesNotBecomeItsOwnSource(t *testing.T) {
	s := start(t, laketest.NewPlace(t, laketest.DuckDB), options{})
	s.exec(`CREATE TABLE t (k INTEGER)`, `INSERT INTO t VALUES (1)`, `CREATE TABLE u (k INTEGER)`, `INSERT INTO u VALUES (1)`)
	s.run(`CREATE MATERIALIZED VIEW v AS SELECT k FROM lake.main.t`)
	s.run(`CREATE MATERIALIZED VIEW a AS SELECT k FROM lake.main.u; CREATE MATERIALIZED VIEW b AS SELECT k FROM lake.main.a`)
	s.exec(`DROP TABLE t`, `DROP TABLE u`)
	s.run(`ALTER MATERIALIZED VIEW v RENAME TO t; ALTER MATERIALIZED VIEW b RENAME TO u`)
	s.fails(fault.ViewCycle, `REFRESH MATERIALIZED VIEW t`)
	s.fails(fault.ViewCycle, `REFRESH MATERIALIZED VIEW a`)
	s.run(`DROP MATERIALIZED VIEW t; DROP MATERIALIZED VIEW a CASCADE`)
}

// An adopted definition is the text as the gate understands it, once and for all, not whatever its names mean later.
func TestAdoptedTextIsBound(t *testing.T) {
	s := start(t, laketest.NewPlace(t, laketest.DuckDB), options{})
	s.exec(`CREATE TABLE t (k INTEGER)`, `INSERT INTO t VALUES (1)`, `CREATE MACRO f(x) AS x + 1 + (random() * 0)::INTEGER`, `CREATE TABLE forged (k INTEGER)`,
		`COMMENT ON TABLE forged IS '{"kind":"query","format":1,"query":"SELECT f(k) AS k FROM t","vega":{"mode":"traditional","consistent":true,"options":{}}}'`)
	admin := ivm.Caller{Principal: "root", Admin: true, Session: s.session}
	if _, err := s.tryAs(t.Context(), admin, `ALTER MATERIALIZED VIEW forged OWNER TO ann`); err != nil {
		t.Fatal(err)
	}
	s.exec(`CREATE OR REPLACE MACRO f(x) AS x + 100`)
	for range 2 {
		// It said that it was consistent, and is not.
		if r := s.run(`REFRESH MATERIALIZED VIEW forged`); r[0]["mode"] != "rebuild" {
			t.Errorf("%v", r)
		}
		s.matches("lake.main.forged", "SELECT 2")
	}
}

func TestNamesThatViewsCannotHave(t *testing.T) {
	s := start(t, laketest.NewPlace(t, laketest.DuckDB), options{})
	s.fails(fault.ReservedName, `CREATE MATERIALIZED VIEW __vega_build_v AS SELECT 1 AS a`)
	s.fails(fault.ReservedName, `CREATE MATERIALIZED VIEW "v.parquet" AS SELECT 1 AS a`)
	s.run(`CREATE MATERIALIZED VIEW v AS SELECT 1 AS a`)
	s.fails(fault.ReservedName, `ALTER MATERIALIZED VIEW v RENAME TO "__VEGA_BUILD_v"`)
	s.clean()
}

// The options of a replacement hold as soon as it is the view.
func TestReplacementBringsItsSchedule(t *testing.T) {
	s := start(t, laketest.NewPlace(t, laketest.DuckDB), options{})
	s.exec(`CREATE TABLE t (k INTEGER)`)
	s.run(`CREATE MATERIALIZED VIEW v AS SELECT k FROM lake.main.t`)
	next := func() string { return s.run(`SHOW MATERIALIZED VIEW v`)[0]["next_refresh_at"] }
	for _, c := range []struct {
		sql       string
		scheduled bool
	}{
		{`CREATE OR REPLACE MATERIALIZED VIEW v WITH (refresh_interval = '1 hour') AS SELECT k FROM lake.main.t`, true},
		{`CREATE OR REPLACE MATERIALIZED VIEW v AS SELECT k FROM lake.main.t`, false},
		{`CREATE OR REPLACE MATERIALIZED VIEW v WITH (refresh_cron = '@daily') AS SELECT k, 1 AS l FROM lake.main.t`, true},
		{`CREATE OR REPLACE MATERIALIZED VIEW v AS SELECT k FROM lake.main.t WITH NO DATA`, false},
	} {
		s.run(c.sql)
		if got := next(); (got != "") != c.scheduled {
			t.Errorf("%s: the next refresh is at %q", c.sql, got)
		}
	}
	s.run(`CREATE OR REPLACE MATERIALIZED VIEW v WITH (refresh_interval = '1 hour', wait = false) AS SELECT k FROM lake.main.t`)
	s.until("the schedule is there", func() bool { return next() != "" })
}
