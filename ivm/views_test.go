package ivm_test

import (
	"strings"
	"testing"

	"github.com/vegadb/vega-flight/ducklake/laketest"
	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/ivm"
	"github.com/vegadb/vega-flight/ivm/job"
)

const totals = `SELECT k, sum(v) AS total, count(*) AS n FROM lake.main.t GROUP BY k`

func TestCreateAndRefresh(t *testing.T) {
	laketest.Each(t, func(t *testing.T, k laketest.Kind) {
		s := start(t, laketest.NewPlace(t, k), options{})
		s.exec(`CREATE TABLE t (k INTEGER, v BIGINT)`, `INSERT INTO t SELECT i % 10, i FROM range(1000) r(i)`)
		s.run(`CREATE MATERIALIZED VIEW v AS ` + totals)
		s.matches("lake.main.v", totals)
		s.clean()

		r := s.run(`REFRESH MATERIALIZED VIEW v`)[0]
		if r["mode"] != "no_op" || r["rows_written"] != "0" {
			t.Errorf("nothing changed: %v", r)
		}
		s.exec(`INSERT INTO t VALUES (3, 7), (11, 1)`)
		r = s.run(`REFRESH MATERIALIZED VIEW v`)[0]
		if r["mode"] != "rebuild" || r["rows_written"] != "11" {
			t.Errorf("rows were added: %v", r)
		}
		s.matches("lake.main.v", totals)
		if r := s.run(`REFRESH MATERIALIZED VIEW v WITH (full = true)`)[0]; r["mode"] != "rebuild" {
			t.Errorf("full: %v", r)
		}
		s.matches("lake.main.v", totals)
		s.clean()
		s.run(`DROP MATERIALIZED VIEW v`)
		if n := s.one(`SELECT count(*) FROM duckdb_tables() WHERE table_name = 'v'`); n != "0" {
			t.Error("the table is still there")
		}
		s.clean()
	})
}

func TestCreate(t *testing.T) {
	s := start(t, laketest.NewPlace(t, laketest.DuckDB), options{})
	s.exec(`CREATE SCHEMA sales`, `CREATE TABLE t (k INTEGER, v BIGINT)`, `INSERT INTO t VALUES (1, 2)`, `CREATE VIEW plain AS SELECT 1 AS one`)

	s.run(`CREATE MATERIALIZED VIEW sales.e AS ` + totals + ` WITH NO DATA`)
	if r := s.run(`SHOW MATERIALIZED VIEW sales.e`)[0]; r["state"] != "NOT_POPULATED" {
		t.Errorf("with no data: %v", r)
	}
	s.run(`CREATE MATERIALIZED VIEW IF NOT EXISTS sales.e AS SELECT nonsense FROM nowhere`)
	s.fails(fault.ViewExists, `CREATE MATERIALIZED VIEW sales.e AS `+totals)
	s.fails(fault.ObjectExists, `CREATE MATERIALIZED VIEW t AS `+totals)
	s.fails(fault.ObjectExists, `CREATE OR REPLACE MATERIALIZED VIEW plain AS `+totals)
	s.fails(fault.ViewNotFound, `CREATE MATERIALIZED VIEW other.main.x AS `+totals)
	// Names that no table can have, since nobody could read it.
	s.fails(fault.ReservedName, `CREATE MATERIALIZED VIEW "x.parquet" AS `+totals)
	s.fails(fault.ReservedName, `CREATE MATERIALIZED VIEW __vega_build_x AS `+totals)
	s.fails(fault.ReservedName, `ALTER MATERIALIZED VIEW sales.e RENAME TO "a/b"`)
	if _, err := s.try(`CREATE MATERIALIZED VIEW nowhere.x AS ` + totals); fault.CodeOf(err) != fault.ObjectNotFound {
		t.Errorf("a schema that is not there: %v", err)
	}
	s.fails(fault.InvalidParameter, `CREATE MATERIALIZED VIEW x (a, N) AS `+totals)
	s.fails(fault.InvalidParameter, `CREATE MATERIALIZED VIEW x (a, b, c, d) AS `+totals)

	s.run(`CREATE MATERIALIZED VIEW named (a, "b c") AS ` + totals)
	s.matches("lake.main.named", totals)
	if got := s.one(`SELECT string_agg(column_name, ',' ORDER BY column_index) FROM duckdb_columns() WHERE table_name = 'named'`); got != "a,b c,n" {
		t.Errorf("columns: %s", got)
	}

	// A create whose job fails leaves the definition.
	s.exec(`CREATE TABLE words (w VARCHAR)`, `INSERT INTO words VALUES ('x')`)
	s.fails(fault.SQLError, `CREATE MATERIALIZED VIEW bad AS SELECT w::INTEGER AS n FROM lake.main.words`)
	if r := s.run(`SHOW MATERIALIZED VIEW bad`)[0]; r["state"] != "NOT_POPULATED" {
		t.Errorf("a failed create: %v", r)
	}
	s.exec(`DELETE FROM words`, `INSERT INTO words VALUES ('1')`)
	s.run(`REFRESH MATERIALIZED VIEW bad`)
	s.matches("lake.main.bad", `SELECT w::INTEGER AS n FROM lake.main.words`)

	r := s.run(`CREATE MATERIALIZED VIEW later WITH (wait = false) AS ` + totals)[0]
	if j := s.done(r["job_id"]); j.State != job.Succeeded || j.View != "main.later" {
		t.Errorf("without waiting: %+v", j)
	}
	s.matches("lake.main.later", totals)
	s.clean()
}

func TestReplace(t *testing.T) {
	laketest.Each(t, func(t *testing.T, k laketest.Kind) {
		s := start(t, laketest.NewPlace(t, k), options{})
		s.exec(`CREATE TABLE t (k INTEGER, v BIGINT)`, `INSERT INTO t SELECT i % 10, i FROM range(100) r(i)`)
		s.run(`CREATE OR REPLACE MATERIALIZED VIEW v AS ` + totals)
		uuid := s.run(`SHOW MATERIALIZED VIEW v`)[0]["view_uuid"]

		// The same columns: the same table.
		max := `SELECT k, max(v)::DECIMAL(38,0) AS total, count(*) AS n FROM lake.main.t GROUP BY k`
		s.run(`CREATE OR REPLACE MATERIALIZED VIEW v AS ` + max)
		s.matches("lake.main.v", max)
		if got := s.run(`SHOW MATERIALIZED VIEW v`)[0]; got["view_uuid"] != uuid || !strings.HasPrefix(got["query"], "SELECT k, max(v)") {
			t.Errorf("replaced: %v", got)
		}

		// A replacement that fails leaves all as it was.
		if _, err := s.try(`CREATE OR REPLACE MATERIALIZED VIEW v AS SELECT k, error('no')::DECIMAL(38,0) AS total, count(*) AS n FROM lake.main.t GROUP BY k, v`); err == nil {
			t.Error("the replacement did not fail")
		}
		if got := s.run(`SHOW MATERIALIZED VIEW v`)[0]; !strings.HasPrefix(got["query"], "SELECT k, max(v)") || got["state"] != "READY" {
			t.Errorf("after a failed replacement: %v", got)
		}
		s.matches("lake.main.v", max)

		// Other columns are another table, unless somebody reads this one.
		s.run(`CREATE MATERIALIZED VIEW w AS SELECT count(*) AS n FROM lake.main.v`)
		other := `SELECT k AS key, min(v) AS least FROM lake.main.t GROUP BY k`
		s.fails(fault.DependentViews, `CREATE OR REPLACE MATERIALIZED VIEW v AS `+other)
		s.run(`DROP MATERIALIZED VIEW w`)
		s.run(`CREATE OR REPLACE MATERIALIZED VIEW v AS ` + other)
		s.matches("lake.main.v", other)
		if got := s.run(`SHOW MATERIALIZED VIEW v`)[0]; got["view_uuid"] == uuid || !strings.HasPrefix(got["query"], "SELECT k AS key, min(v)") || got["state"] != "READY" {
			t.Errorf("replaced by another: %v", got)
		}
		if n := len(s.run(`SHOW JOBS FOR MATERIALIZED VIEW v`)); n != 4 {
			t.Errorf("%d jobs of the view, want 4", n)
		}
		s.exec(`INSERT INTO t VALUES (77, 77)`)
		s.run(`REFRESH MATERIALIZED VIEW v`)
		s.matches("lake.main.v", other)

		// Without data.
		s.run(`CREATE OR REPLACE MATERIALIZED VIEW v AS SELECT k AS key, max(v) AS least FROM lake.main.t GROUP BY k WITH NO DATA`)
		if got := s.run(`SHOW MATERIALIZED VIEW v`)[0]; got["state"] != "NOT_POPULATED" {
			t.Errorf("replaced without data: %v", got)
		}
		s.run(`REFRESH MATERIALIZED VIEW v`)
		s.matches("lake.main.v", `SELECT k AS key, max(v) AS least FROM lake.main.t GROUP BY k`)
		s.run(`CREATE OR REPLACE MATERIALIZED VIEW v AS SELECT 1 AS one WITH NO DATA`)
		if got := s.run(`SHOW MATERIALIZED VIEW v`)[0]; got["state"] != "NOT_POPULATED" {
			t.Errorf("replaced without data by another: %v", got)
		}
		s.run(`REFRESH MATERIALIZED VIEW v`)
		s.matches("lake.main.v", `SELECT 1 AS one`)
		s.clean()
		s.comments()
	})
}

func TestViewsOnViews(t *testing.T) {
	s := start(t, laketest.NewPlace(t, laketest.DuckDB), options{})
	s.exec(`CREATE TABLE t (k INTEGER, v BIGINT)`, `INSERT INTO t SELECT i % 10, i FROM range(100) r(i)`)
	s.run(`CREATE MATERIALIZED VIEW a AS ` + totals)
	overA := `SELECT sum(total) AS s FROM lake.main.a`
	s.run(`CREATE MATERIALIZED VIEW b AS ` + overA)
	s.matches("lake.main.b", overA)
	s.exec(`INSERT INTO t VALUES (1, 1000)`)

	// b is its query over a as it is.
	if r := s.run(`REFRESH MATERIALIZED VIEW b`)[0]; r["mode"] != "no_op" {
		t.Errorf("a did not change: %v", r)
	}
	if r := s.run(`SHOW MATERIALIZED VIEW b`)[0]; r["stale_since"] == "" {
		t.Errorf("b is not stale: %v", r)
	}
	s.run(`REFRESH MATERIALIZED VIEW a`)
	if r := s.run(`REFRESH MATERIALIZED VIEW b`)[0]; r["mode"] != "rebuild" {
		t.Errorf("a changed: %v", r)
	}
	s.matches("lake.main.b", overA)
	if r := s.run(`SHOW MATERIALIZED VIEW b`)[0]; r["stale_since"] != "" {
		t.Errorf("b is stale: %v", r)
	}

	s.run(`CREATE MATERIALIZED VIEW empty AS ` + totals + ` WITH NO DATA`)
	s.fails(fault.NotPopulated, `CREATE MATERIALIZED VIEW c AS SELECT count(*) AS n FROM lake.main.empty`)
	s.run(`REFRESH MATERIALIZED VIEW empty`)
	s.run(`REFRESH MATERIALIZED VIEW c`)
	s.matches("lake.main.c", `SELECT count(*) AS n FROM lake.main.empty`)

	s.fails(fault.ViewCycle, `CREATE OR REPLACE MATERIALIZED VIEW a AS SELECT 1 AS k, s AS total, 1 AS n FROM lake.main.b`)
	s.fails(fault.DependentViews, `DROP MATERIALIZED VIEW a`)
	s.fails(fault.DependentViews, `DROP MATERIALIZED VIEW a RESTRICT`)
	s.run(`DROP MATERIALIZED VIEW a CASCADE`)
	if left := s.run(`SHOW MATERIALIZED VIEWS`); len(left) != 2 {
		t.Errorf("after the cascade: %v", left)
	}
	s.run(`DROP MATERIALIZED VIEW IF EXISTS a`)
	s.fails(fault.ViewNotFound, `DROP MATERIALIZED VIEW a`)
	s.fails(fault.NotAView, `DROP MATERIALIZED VIEW t`)
	s.fails(fault.NotAView, `DROP MATERIALIZED VIEW IF EXISTS t`)
	s.clean()
}

func TestSourceVersion(t *testing.T) {
	laketest.Each(t, func(t *testing.T, k laketest.Kind) {
		s := start(t, laketest.NewPlace(t, k), options{})
		s.exec(`CREATE TABLE t (k INTEGER, v BIGINT)`, `INSERT INTO t SELECT i % 10, i FROM range(100) r(i)`)
		old := s.one(`SELECT id FROM lake.current_snapshot()`)
		s.run(`CREATE MATERIALIZED VIEW v AS ` + totals)
		s.exec(`INSERT INTO t VALUES (20, 20)`, `DELETE FROM t WHERE k = 3`)
		s.run(`REFRESH MATERIALIZED VIEW v`)
		s.matches("lake.main.v", totals)
		r := s.run(`REFRESH MATERIALIZED VIEW v WITH (source_version = ` + old + `)`)[0]
		if r["mode"] != "rebuild" || r["source_version"] != old || r["source_versions"] != `{"lake":`+old+`}` {
			t.Errorf("backwards: %v", r)
		}
		s.matches("lake.main.v", `SELECT k, sum(v) AS total, count(*) AS n FROM lake.main.t AT (VERSION => `+old+`) GROUP BY k`)
		if r := s.run(`REFRESH MATERIALIZED VIEW v WITH (source_version = ` + old + `)`)[0]; r["mode"] != "no_op" {
			t.Errorf("the same version again: %v", r)
		}
		s.run(`REFRESH MATERIALIZED VIEW v`)
		s.matches("lake.main.v", totals)
		s.fails(fault.InvalidOption, `REFRESH MATERIALIZED VIEW v WITH (source_version = 100000)`)
		s.query(`CALL ducklake_expire_snapshots('lake', versions => [` + old + `])`)
		s.fails(fault.HistoryExpired, `REFRESH MATERIALIZED VIEW v WITH (source_version = `+old+`)`)
		s.matches("lake.main.v", totals)
		s.clean()
	})
}

func TestSourcesChange(t *testing.T) {
	s := start(t, laketest.NewPlace(t, laketest.DuckDB), options{})
	s.exec(`CREATE TABLE t (k INTEGER, v BIGINT, unused INTEGER)`, `INSERT INTO t SELECT i % 10, i, 0 FROM range(100) r(i)`)
	q := `SELECT a.k AS k, sum(a.v) AS total, (SELECT count(*) FROM lake.main.t WHERE t.v > 50 AND lake.main.t.k = 1) AS n FROM lake.main.t a GROUP BY a.k`
	s.run(`CREATE MATERIALIZED VIEW v AS ` + q)
	s.matches("lake.main.v", q)
	old := s.one(`SELECT id FROM lake.current_snapshot()`)

	// What the view does not use may change at will.
	s.exec(`ALTER TABLE t DROP COLUMN unused`, `ALTER TABLE t ADD COLUMN more VARCHAR`)
	if r := s.run(`REFRESH MATERIALIZED VIEW v`)[0]; r["mode"] != "no_op" {
		t.Errorf("unused columns: %v", r)
	}

	// Renames are followed, also when the old names are given to others.
	s.exec(`ALTER TABLE t RENAME COLUMN v TO "the value"`, `ALTER TABLE t ADD COLUMN v VARCHAR`, `ALTER TABLE t RENAME TO orders`,
		`CREATE TABLE t (k VARCHAR)`, `INSERT INTO orders (k, "the value") VALUES (1, 5000)`)
	s.run(`REFRESH MATERIALIZED VIEW v`)
	now := `SELECT a.k AS k, sum(a."the value") AS total, (SELECT count(*) FROM lake.main.orders o WHERE o."the value" > 50 AND o.k = 1) AS n FROM lake.main.orders a GROUP BY a.k`
	s.matches("lake.main.v", now)
	s.run(`REFRESH MATERIALIZED VIEW v WITH (source_version = ` + old + `)`)
	s.matches("lake.main.v", `SELECT a.k AS k, sum(a.v) AS total, (SELECT count(*) FROM lake.main.t AT (VERSION => `+old+`) WHERE t.v > 50 AND t.k = 1) AS n FROM lake.main.t a AT (VERSION => `+old+`) GROUP BY a.k`)
	s.run(`REFRESH MATERIALIZED VIEW v`)
	s.matches("lake.main.v", now)

	// A used column that is retyped or dropped ends it, with its name; the content stays.
	s.exec(`ALTER TABLE orders ALTER COLUMN k TYPE BIGINT`)
	if err := s.fails(fault.SourceChanged, `REFRESH MATERIALIZED VIEW v`); !strings.Contains(err.Error(), `"k"`) {
		t.Errorf("the message does not name the column: %v", err)
	}
	s.matches("lake.main.v", now)
	s.exec(`ALTER TABLE orders DROP COLUMN "the value"`)
	s.fails(fault.SourceChanged, `REFRESH MATERIALIZED VIEW v`)

	// A dropped table, and one that is made again.
	s.exec(`DROP TABLE t`, `DROP TABLE orders`)
	if err := s.fails(fault.SourceChanged, `REFRESH MATERIALIZED VIEW v`); !strings.Contains(err.Error(), "main.t") {
		t.Errorf("the message does not name the table: %v", err)
	}
	s.exec(`CREATE TABLE t (v BIGINT, k INTEGER, other DATE)`, `INSERT INTO t VALUES (60, 1, NULL), (7, 2, NULL)`)
	if r := s.run(`REFRESH MATERIALIZED VIEW v`)[0]; r["mode"] != "rebuild" {
		t.Errorf("made again: %v", r)
	}
	s.matches("lake.main.v", q)
	if r := s.run(`REFRESH MATERIALIZED VIEW v`)[0]; r["mode"] != "no_op" {
		t.Errorf("the new table is known: %v", r)
	}
	s.exec(`DROP TABLE t`, `CREATE TABLE t (v BIGINT, k VARCHAR)`)
	s.fails(fault.SourceChanged, `REFRESH MATERIALIZED VIEW v`)
	s.clean()
}

func TestNoOp(t *testing.T) {
	laketest.Each(t, func(t *testing.T, k laketest.Kind) {
		s := start(t, laketest.NewPlace(t, k), options{})
		s.exec(`CREATE TABLE t (k INTEGER, v BIGINT)`, `CREATE TABLE other (x INTEGER)`, `INSERT INTO t SELECT i % 10, i FROM range(100) r(i)`)
		s.run(`CREATE MATERIALIZED VIEW v AS ` + totals)
		s.run(`CREATE MATERIALIZED VIEW dice AS SELECT random() AS r FROM lake.main.t`)
		mode := func(view, want string) {
			t.Helper()
			r := s.run(`REFRESH MATERIALIZED VIEW ` + view)[0]
			if r["mode"] != want {
				t.Errorf("%s: %v, want %s", view, r, want)
			}
		}
		mode("v", "no_op")
		version := s.run(`SHOW MATERIALIZED VIEW v`)[0]["version"]
		s.exec(`INSERT INTO other VALUES (1)`, `CREATE TABLE third (x INTEGER)`, `COMMENT ON TABLE t IS 'a source'`, `INSERT INTO t SELECT * FROM t WHERE false`)
		mode("v", "no_op")
		mode("dice", "rebuild")
		s.query(`CALL ducklake_flush_inlined_data('lake')`)
		s.query(`CALL ducklake_merge_adjacent_files('lake')`)
		mode("v", "no_op")
		if got := s.run(`SHOW MATERIALIZED VIEW v`)[0]["version"]; got != version {
			t.Errorf("no_op moved the version from %s to %s", version, got)
		}
		s.exec(`DELETE FROM t WHERE v = 5`)
		mode("v", "rebuild")
		s.matches("lake.main.v", totals)
		s.exec(`UPDATE t SET v = v + 1 WHERE k = 2`)
		mode("v", "rebuild")
		s.matches("lake.main.v", totals)

		// Somebody else writes into the view itself: the next refresh takes it away.
		s.query(`INSERT INTO lake.main.v VALUES (99, 99, 99)`)
		mode("v", "rebuild")
		s.matches("lake.main.v", totals)
		s.clean()
	})
}

func TestAlter(t *testing.T) {
	s := start(t, laketest.NewPlace(t, laketest.DuckDB), options{})
	s.exec(`CREATE TABLE t (k INTEGER, v BIGINT)`, `INSERT INTO t VALUES (1, 2)`)
	s.run(`CREATE MATERIALIZED VIEW v AS ` + totals)
	shown := func() map[string]string { t.Helper(); return s.run(`SHOW MATERIALIZED VIEW v`)[0] }
	uuid := shown()["view_uuid"]

	s.run(`ALTER MATERIALIZED VIEW v SET (refresh_cron = '*/5 * * * *', refresh_timezone = 'Europe/Berlin', max_staleness = '1 hour')`)
	if r := shown(); r["refresh_cron"] != "*/5 * * * *" || r["refresh_timezone"] != "Europe/Berlin" || r["next_refresh_at"] == "" || r["max_staleness"] != "1 hour" {
		t.Errorf("set: %v", r)
	}
	s.run(`ALTER MATERIALIZED VIEW v SET (refresh_interval = '1 day')`)
	if r := shown(); r["refresh_cron"] != "" || r["refresh_interval"] != "1 day" {
		t.Errorf("an interval takes the place of a cron: %v", r)
	}
	s.run(`ALTER MATERIALIZED VIEW v RESET (refresh_interval)`)
	if r := shown(); r["refresh_interval"] != "" || r["next_refresh_at"] != "" || r["max_staleness"] != "1 hour" {
		t.Errorf("reset: %v", r)
	}
	s.fails(fault.InvalidOption, `ALTER MATERIALIZED VIEW v SET (refresh_cron = 'never')`)
	s.fails(fault.UnknownOption, `ALTER MATERIALIZED VIEW v SET (speed = 'high')`)
	s.comments()

	s.fails(fault.ObjectExists, `ALTER MATERIALIZED VIEW v RENAME TO t`)
	s.run(`ALTER MATERIALIZED VIEW v RENAME TO "V 2"`)
	s.fails(fault.ViewNotFound, `REFRESH MATERIALIZED VIEW v`)
	s.exec(`INSERT INTO t VALUES (3, 4)`)
	s.run(`REFRESH MATERIALIZED VIEW "V 2"`)
	s.matches(`lake.main."V 2"`, totals)
	s.run(`ALTER MATERIALIZED VIEW "V 2" RENAME TO v`)
	if r := shown(); r["view_uuid"] != uuid {
		t.Errorf("a rename changed the identity: %v", r)
	}

	bob := ivm.Caller{Principal: "bob", Session: s.session}
	for _, sql := range []string{
		`REFRESH MATERIALIZED VIEW v`, `DROP MATERIALIZED VIEW v`, `ALTER MATERIALIZED VIEW v RENAME TO w`, `ALTER MATERIALIZED VIEW v OWNER TO bob`,
		`ALTER MATERIALIZED VIEW v RESET (max_staleness)`, `CREATE OR REPLACE MATERIALIZED VIEW v AS SELECT 1 AS x`,
	} {
		if _, err := s.tryAs(t.Context(), bob, sql); fault.CodeOf(err) != fault.PermissionDenied {
			t.Errorf("%s by somebody else: %v", sql, err)
		}
	}
	s.run(`ALTER MATERIALIZED VIEW v OWNER TO bob`)
	if _, err := s.tryAs(t.Context(), bob, `REFRESH MATERIALIZED VIEW v`); err != nil {
		t.Error(err)
	}
	s.fails(fault.PermissionDenied, `REFRESH MATERIALIZED VIEW v`)
	s.clean()
}

// A comment that got lost or forged is restored, and a definition without a row is adopted by an administrator only.
func TestCommentsAndAdoption(t *testing.T) {
	place := laketest.NewPlace(t, laketest.DuckDB)
	s := start(t, place, options{})
	s.exec(`CREATE TABLE t (k INTEGER, v BIGINT)`, `INSERT INTO t VALUES (1, 2)`)
	s.run(`CREATE MATERIALIZED VIEW v AS ` + totals)
	definition := s.one(`SELECT comment FROM duckdb_tables() WHERE table_name = 'v'`)
	s.query(`COMMENT ON TABLE lake.main.v IS 'mine'`)
	s.stop()

	s = start(t, place, options{})
	s.comments()
	s.exec(`CREATE TABLE copy (k INTEGER, total DECIMAL(38,0), n BIGINT)`)
	s.query(`COMMENT ON TABLE lake.main.copy IS '` + strings.ReplaceAll(definition, "'", "''") + `'`)
	if r := s.run(`SHOW MATERIALIZED VIEW "copy"`)[0]; r["state"] != "UNADOPTED" {
		t.Errorf("%v", r)
	}
	s.fails(fault.ViewUnadopted, `REFRESH MATERIALIZED VIEW "copy"`)
	s.fails(fault.PermissionDenied, `ALTER MATERIALIZED VIEW "copy" OWNER TO ann`)
	admin := s.caller
	admin.Admin = true
	if _, err := s.tryAs(t.Context(), admin, `ALTER MATERIALIZED VIEW "copy" OWNER TO ann`); err != nil {
		t.Fatal(err)
	}
	s.run(`REFRESH MATERIALIZED VIEW "copy"`)
	s.matches(`lake.main.copy`, totals)
}

// A definition is bound in the session that writes it, and means the same ever after.
func TestBinding(t *testing.T) {
	s := start(t, laketest.NewPlace(t, laketest.DuckDB), options{})
	s.exec(`CREATE SCHEMA sales`, `CREATE TABLE sales.t (k INTEGER, v BIGINT, ts TIMESTAMPTZ)`, `CREATE TABLE t (k INTEGER)`,
		`INSERT INTO sales.t SELECT i % 10, i, TIMESTAMPTZ '2026-01-01 22:30:00+00' + INTERVAL (i) HOUR FROM range(100) r(i)`)

	// The search path and the time zone of the session are part of the meaning.
	s.exec(`USE sales`, `SET TimeZone = 'Asia/Tokyo'`)
	s.run(`CREATE MATERIALIZED VIEW days AS SELECT date_trunc('day', ts)::VARCHAR AS day, count(*) AS n FROM t GROUP BY ALL`)
	s.exec(`USE main`, `SET TimeZone = 'UTC'`)
	const days = `SELECT strftime(timezone('Asia/Tokyo', ts), '%Y-%m-%d 00:00:00+09') AS day, count(*) AS n FROM lake.sales.t GROUP BY ALL`
	s.matches("lake.sales.days", days)
	s.exec(`INSERT INTO sales.t VALUES (1, 1, TIMESTAMPTZ '2026-06-01 16:00:00+00')`)
	s.run(`REFRESH MATERIALIZED VIEW sales.days`)
	s.matches("lake.sales.days", days)

	// Stars are expanded, plain views and macros pinned.
	s.exec(`CREATE VIEW big AS SELECT * FROM sales.t WHERE v > 50`, `CREATE MACRO twice(x) AS x * 2`)
	s.run(`CREATE MATERIALIZED VIEW star AS SELECT *, twice(v) AS w FROM big`)
	const star = `SELECT k, v, ts, v * 2 AS w FROM lake.sales.t WHERE v > 50`
	s.matches("lake.main.star", star)
	s.exec(`CREATE OR REPLACE VIEW big AS SELECT * FROM sales.t WHERE v > 90`, `CREATE OR REPLACE MACRO twice(x) AS x * 3`,
		`ALTER TABLE sales.t ADD COLUMN more INTEGER`, `INSERT INTO sales.t (k, v) VALUES (5, 500)`)
	s.run(`REFRESH MATERIALIZED VIEW star`)
	s.matches("lake.main.star", star)
	s.exec(`DROP VIEW big`)
	s.exec(`UPDATE sales.t SET v = v + 1`)
	s.run(`REFRESH MATERIALIZED VIEW star`)
	s.matches("lake.main.star", star)

	s.exec(`CREATE TEMP TABLE mine (x INTEGER)`)
	s.fails(fault.TemporarySource, `CREATE MATERIALIZED VIEW x AS SELECT * FROM mine`)
	s.exec(`CREATE VIEW over_star AS SELECT * FROM star`)
	s.fails(fault.ViewCycle, `CREATE OR REPLACE MATERIALIZED VIEW star AS SELECT k, v, ts, w FROM over_star`)
	if _, err := s.try(`CREATE MATERIALIZED VIEW x AS SELECT * FROM read_text('/etc/passwd')`); err == nil {
		t.Error("a view over a file")
	}
	if _, err := s.try(`CREATE MATERIALIZED VIEW x AS SELECT nonsense FROM t`); err == nil || !strings.Contains(err.Error(), "nonsense") {
		t.Errorf("a column that is not there: %v", err)
	}
	s.clean()
}

// HUGEINT, which the lake does not keep, becomes DECIMAL(38,0); what does not fit is an error and leaves the content.
func TestTypes(t *testing.T) {
	s := start(t, laketest.NewPlace(t, laketest.DuckDB), options{})
	s.exec(`CREATE TABLE t (k INTEGER, v BIGINT)`, `INSERT INTO t VALUES (1, 9223372036854775807), (1, 9223372036854775807)`)
	s.run(`CREATE MATERIALIZED VIEW v AS SELECT k, sum(v) AS total, [k, v] AS l, {'a': k, 'b': 'x'} AS s, MAP {k: v} AS m, v::DOUBLE AS d,
		DATE '2026-01-01' AS day, NULL::VARCHAR AS nothing, 'it''s'::BLOB AS b FROM t GROUP BY k, v`)
	if got := s.one(`SELECT data_type FROM duckdb_columns() WHERE table_name = 'v' AND column_name = 'total'`); got != "DECIMAL(38,0)" {
		t.Errorf("total is %s", got)
	}
	if got := s.one(`SELECT total::VARCHAR FROM lake.main.v`); got != "18446744073709551614" {
		t.Errorf("total is %s", got)
	}
	s.run(`CREATE MATERIALIZED VIEW w AS SELECT sum(v) * 9223372036854775807 AS x FROM t WITH NO DATA`)
	s.fails(fault.SQLError, `REFRESH MATERIALIZED VIEW w`)
	if got := s.run(`SHOW MATERIALIZED VIEW w`)[0]["state"]; got != "NOT_POPULATED" {
		t.Errorf("state %s", got)
	}
	s.clean()
}
