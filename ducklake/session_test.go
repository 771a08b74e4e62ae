package ducklake_test

import (
	"strings"
	"testing"

	"github.com/vegadb/vega-flight/ducklake"
	"github.com/vegadb/vega-flight/ducklake/laketest"
	"github.com/vegadb/vega-flight/fault"
)

func TestStatements(t *testing.T) {
	laketest.Each(t, func(t *testing.T, k laketest.Kind) {
		c := connect(t, laketest.New(t, k))
		c.exec(`CREATE SCHEMA s`)
		c.exec(`CREATE TABLE s.t (i INTEGER, v VARCHAR)`)
		if n := c.exec(`INSERT INTO s.t VALUES (1, 'a'), (2, 'b'), (3, NULL)`); n != 3 {
			t.Errorf("%d rows inserted, want 3", n)
		}
		if n := c.exec(`UPDATE s.t SET v = 'x' WHERE i >= ?`, int64(2)); n != 2 {
			t.Errorf("%d rows updated, want 2", n)
		}
		c.exec(`USE s`)
		c.want(`SELECT * FROM t ORDER BY i`, "1|a", "2|x", "3|x")
		c.exec(`CREATE TABLE u AS SELECT sum(i) AS s, count(*) AS n FROM t`)
		c.want(`SELECT s, typeof(s), n FROM u`, "6|DECIMAL(38,0)|3")
		c.exec(`CREATE OR REPLACE TABLE u AS SELECT 'again' AS w`)
		c.want(`FROM u`, "again")
		c.exec(`CREATE TABLE IF NOT EXISTS u AS SELECT 1`)
		c.want(`FROM u`, "again")
		c.exec(`CREATE TABLE empty AS SELECT 1 AS a WITH NO DATA`)
		c.want(`FROM empty`)
		_, err := c.try(`CREATE TABLE u AS SELECT 1`)
		fails(t, err, fault.ObjectExists)
		_, err = c.try(`CREATE TABLE h (a HUGEINT)`)
		fails(t, err, fault.UnstableType)
		c.exec(`DROP TABLE u`)
		c.exec(`DROP TABLE t`)
		c.want(`SELECT table_name FROM information_schema.tables WHERE table_schema = 's' ORDER BY 1`, "empty")
	})
}

func TestSettingsDoNotLeak(t *testing.T) {
	l := laketest.New(t, laketest.DuckDB)
	a, b := connect(t, l), connect(t, l)
	a.exec(`CREATE SCHEMA s`)
	a.exec(`USE s`)
	a.exec(`SET TimeZone = 'America/New_York'`)
	const q = `SELECT current_schema(), current_setting('TimeZone'), TIMESTAMPTZ '2026-01-01 00:00:00+00'::VARCHAR`
	for range 3 { // the same pooled connections serve both in turn
		a.want(q, "s|America/New_York|2025-12-31 19:00:00-05")
		b.want(q, "main|UTC|2026-01-01 00:00:00+00")
	}
	conn, release, err := l.Acquire(ctx, ducklake.ConnSettings{})
	if err != nil {
		t.Fatal(err)
	}
	rows, err := conn.Rows(ctx, q)
	release()
	if err != nil || rows[0][0] != "main" || rows[0][1] != "UTC" {
		t.Errorf("an internal connection has %v, %v", rows, err)
	}
	if err := a.SetOption(ctx, "schema", nil); err != nil {
		t.Fatal(err)
	}
	a.exec(`RESET TimeZone`)
	a.want(q, "main|UTC|2026-01-01 00:00:00+00")
}

func TestOptions(t *testing.T) {
	l := laketest.New(t, laketest.DuckDB)
	c := connect(t, l)
	c.exec(`CREATE SCHEMA "Odd.Name"`)
	for _, ok := range []struct {
		name  string
		value any
		read  string
		want  any
	}{
		{"vega.accept_stale", true, "vega.accept_stale", true},
		{"vega.accept_stale", "off", "vega.accept_stale", false},
		{"vega.isolation", "snapshot", "vega.isolation", "snapshot"},
		{"vega.isolation", nil, "vega.isolation", "newest"},
		{"VEGA.STATEMENT_TIMEOUT", "90s", "vega.statement_timeout", "1m30s"},
		{"vega.statement_timeout", int64(250), "vega.statement_timeout", "250ms"},
		{"timezone", "Europe/Berlin", "TimeZone", "Europe/Berlin"},
		{"catalog", "LAKE", "catalog", "lake"},
		{"schema", `"odd.name"`, "schema", "Odd.Name"},
		{"search_path", "lake.main", "schema", "main"},
	} {
		if err := c.SetOption(ctx, ok.name, ok.value); err != nil {
			t.Errorf("%s = %v: %v", ok.name, ok.value, err)
		} else if got := c.Options()[ok.read]; got != ok.want {
			t.Errorf("%s = %v: %s is %v, want %v", ok.name, ok.value, ok.read, got, ok.want)
		}
	}
	for _, bad := range []struct {
		name  string
		value any
		code  *fault.Code
	}{
		{"threads", int64(1), fault.UnknownOption},
		{"vega.isolation", "serializable", fault.InvalidOption},
		{"vega.accept_stale", "perhaps", fault.InvalidOption},
		{"vega.statement_timeout", "-1s", fault.InvalidOption},
		{"vega.statement_timeout", "soon", fault.InvalidOption},
		{"TimeZone", "Mars/Olympus", fault.InvalidOption},
		{"TimeZone", "UTC'; DROP SCHEMA main; --", fault.InvalidOption},
		{"catalog", "__ducklake_metadata_lake", fault.InvalidOption},
		{"catalog", "vega", fault.InvalidOption},
		{"schema", "nowhere", fault.ObjectNotFound},
		{"schema", "__ducklake_metadata_lake.main", fault.InvalidOption},
		{"search_path", "main,lake.main", fault.InvalidOption},
		{"schema", `main" "`, fault.ObjectNotFound},
		{"schema", `"main`, fault.InvalidOption},
		{"schema", int64(4), fault.InvalidOption},
	} {
		fails(t, c.SetOption(ctx, bad.name, bad.value), bad.code)
	}
	if got := c.Settings(); got.Catalog != "lake" || got.Schema != "main" || got.TimeZone != "Europe/Berlin" {
		t.Errorf("after refused settings: %+v", got)
	}
}

func TestDroppedSchemaOfTheSession(t *testing.T) {
	l := laketest.New(t, laketest.DuckDB)
	a, b := connect(t, l), connect(t, l)
	a.exec(`CREATE SCHEMA s`)
	b.exec(`USE s`)
	b.want(`SELECT 1`, "1")
	a.exec(`DROP SCHEMA s`)
	if _, err := b.try(`SELECT 1`); err == nil {
		// DuckDB lets a connection stay where it is; either way the session must find out again.
		t.Log("a statement without names still runs")
	}
	if err := b.SetOption(ctx, "schema", "main"); err != nil {
		t.Fatal(err)
	}
	b.want(`SELECT current_schema()`, "main")
}

func TestTemporaryObjects(t *testing.T) {
	l := laketest.New(t, laketest.DuckDB)
	a, b := connect(t, l), connect(t, l)
	a.exec(`CREATE TABLE kept (i BIGINT)`)
	a.exec(`CREATE TEMP TABLE mine AS SELECT range AS i FROM range(5)`)
	a.exec(`INSERT INTO mine VALUES (10)`)
	a.exec(`INSERT INTO kept SELECT i FROM mine WHERE i > 2`)
	a.want(`SELECT i FROM kept ORDER BY 1`, "3", "4", "10")
	a.exec(`CREATE TABLE derived AS SELECT max(i) AS m FROM mine`)
	a.want(`FROM derived`, "10")
	if _, err := b.Analyze(ctx, `SELECT * FROM mine`); err == nil {
		t.Error("another session sees the temporary table")
	}
	a.exec(`DROP TABLE mine`)
	if _, err := a.Analyze(ctx, `SELECT * FROM mine`); err == nil {
		t.Error("the dropped temporary table is still there")
	}
}

func TestTemporaryObjectsInTransactions(t *testing.T) {
	c := connect(t, laketest.New(t, laketest.DuckDB))
	c.exec(`CREATE TABLE t (i INTEGER)`)
	c.exec(`CREATE TEMP TABLE old (i INTEGER)`)
	id := c.begin()
	c.exec(`CREATE TEMP TABLE early (i INTEGER)`) // the transaction has not begun: it stays
	c.exec(`INSERT INTO old VALUES (1)`)
	c.exec(`CREATE TEMP TABLE late AS SELECT 1 AS i`)
	c.exec(`INSERT INTO t SELECT i FROM late`)
	c.want(`FROM late`, "1")
	_, err := c.try(`DROP TABLE old`)
	fails(t, err, fault.DDLInTransaction)
	_, err = c.try(`CREATE OR REPLACE TEMP TABLE old AS SELECT 2 AS i`)
	fails(t, err, fault.DDLInTransaction)
	if err := c.Rollback(ctx, id); err != nil {
		t.Fatal(err)
	}
	c.want(`SELECT (SELECT count(*) FROM t), (SELECT count(*) FROM old), (SELECT count(*) FROM early)`, "0|0|0")
	_, err = c.Analyze(ctx, `FROM late`)
	fails(t, err, fault.ObjectNotFound)
	c.exec(`CREATE TEMP TABLE late AS SELECT 2 AS j`)
	c.want(`FROM late`, "2")
}

func TestCreateTableAs(t *testing.T) {
	c := connect(t, laketest.New(t, laketest.DuckDB))
	names := func() string {
		return strings.Join(c.rows(`SELECT column_name FROM information_schema.columns WHERE table_name = 't' ORDER BY ordinal_position`), " ")
	}
	for sql, want := range map[string]string{
		`SELECT 1 AS a, 2 AS a, 3 AS "A", 4 AS a_1, 5 AS a`: "a a_1 A_2 a_1_1 a_3",
		`SELECT 1 AS a_1, 2 AS a, 3 AS a`:                   "a_1 a a_2",
		`SELECT 1, 'x' -- the last line is a comment`:       "1 'x'",
		`(VALUES (1, 2))`:                                   "col0 col1",
		`WITH q AS (SELECT 7 AS i) FROM q ORDER BY i;`:      "i",
		`SELECT range::HUGEINT AS h, [range::HUGEINT] AS l, {'a': 1::UHUGEINT} AS s FROM range(3)`: "h l s",
	} {
		c.exec(`CREATE OR REPLACE TABLE t AS ` + sql)
		if got := names(); got != want {
			t.Errorf("%s: columns %q, want %q", sql, got, want)
		}
	}
	c.exec(`CREATE OR REPLACE TABLE t ("x y", y) AS SELECT ? AS a, ?`, "text", 2.5)
	if got := names(); got != "x y y" {
		t.Errorf("columns %q", got)
	}
	c.want(`SELECT "x y", y, typeof("x y"), typeof(y) FROM t`, "text|2.5|VARCHAR|DOUBLE")
	if n := c.exec(`CREATE OR REPLACE TABLE t AS SELECT range AS i FROM range(12345)`); n != 12345 {
		t.Errorf("%d rows", n)
	}
	_, err := c.try(`CREATE OR REPLACE TABLE t AS SELECT (170141183460469231731687303715884105727::HUGEINT) AS i`)
	if err == nil {
		t.Error("a value that no lake type keeps was stored")
	}
	_, err = c.try(`CREATE OR REPLACE TABLE t AS SELECT '101'::BIT AS i`)
	fails(t, err, fault.UnstableType)
	_, err = c.try(`CREATE OR REPLACE TABLE t AS SELECT error('stop') AS i FROM range(3)`)
	if err == nil {
		t.Error("no error")
	}
	c.want(`SELECT count(*) FROM t`, "12345") // what failed replaced nothing
	if n := must(c.Lake().Builds(ctx)); n != 0 {
		t.Errorf("%d builds are left", n)
	}
}

// A session whose schema was dropped can go on in another one.
func TestSchemaDroppedUnderASession(t *testing.T) {
	laketest.Each(t, func(t *testing.T, k laketest.Kind) {
		l := laketest.New(t, k)
		other := connect(t, l)
		for _, out := range []string{`USE main`, `USE lake.main`, `SET schema = 'main'`, `SET search_path = 'lake.main'`, `RESET schema`} {
			c := connect(t, l)
			c.exec(`CREATE SCHEMA s`)
			c.exec(`USE s`)
			other.exec(`DROP SCHEMA s`)
			_, err := c.try(`CREATE TABLE t (i BIGINT)`)
			fails(t, err, fault.ObjectNotFound)
			c.exec(out)
			c.exec(`CREATE TABLE t (i BIGINT)`)
			other.want(`SELECT i FROM main.t`)
			c.exec(`DROP TABLE t`)
		}
	})
}
