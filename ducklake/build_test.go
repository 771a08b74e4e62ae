package ducklake_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/vegadb/vega-flight/ducklake"
	"github.com/vegadb/vega-flight/ducklake/laketest"
	"github.com/vegadb/vega-flight/ducklake/metadata"
	"github.com/vegadb/vega-flight/fault"
)

func TestBuildsOfAKilledProcessAreDropped(t *testing.T) {
	p := laketest.NewPlace(t, laketest.DuckDB)
	child := process(t, "crash", p)
	if err := child.Run(); err == nil {
		t.Fatal("the other process was to be killed")
	}
	l := p.Open(t)
	if n := must(l.Builds(ctx)); n != 0 {
		t.Errorf("%d builds in the journal", n)
	}
	must(0, l.Store().View(ctx, func(tx metadata.Tx) error {
		if tables, err := metadata.Tables(ctx, tx, metadata.Filter{}); err != nil || len(tables) != 0 {
			t.Errorf("tables %v, %v", tables, err)
		}
		return nil
	}))
}

// A server sweeps its own builds when it starts, and others' only when it is told that they are gone.
func TestSweepOfOtherServers(t *testing.T) {
	p := laketest.NewPlace(t, laketest.PostgreSQL)
	named := func(id string) func(*ducklake.Config) { return func(c *ducklake.Config) { c.ServerID = id } }
	one := p.Open(t, named("one"))
	must(0, one.HalfBuild(ctx, "main"))
	two := p.Open(t, named("two"))
	must(0, two.HalfBuild(ctx, "main"))
	if n := must(two.Builds(ctx)); n != 2 {
		t.Fatalf("%d builds in the journal, want 2", n)
	}
	must(0, two.Sweep(ctx, func(server string) bool { return server == "one" }))
	if n := must(two.Builds(ctx)); n != 1 {
		t.Errorf("%d builds in the journal, want 1", n)
	}
	again := p.Open(t, named("two"))
	if n := must(again.Builds(ctx)); n != 0 {
		t.Errorf("%d builds in the journal, want none", n)
	}
}

// A hidden table cannot be named, and is not listed to the gate.
func TestHiddenTables(t *testing.T) {
	l := laketest.New(t, laketest.DuckDB)
	must(0, l.HalfBuild(ctx, "main"))
	o := must(l.Objects(ctx, -1))
	if len(o.Tables) != 0 {
		t.Errorf("the gate sees %v", o.Tables)
	}
	// Neither do users, whichever list they ask for, in a session that keeps a connection of its own as in one that does not.
	c := connect(t, l)
	c.exec(`CREATE TABLE mine (a INTEGER NOT NULL)`)
	for _, own := range []bool{false, true} {
		if own {
			c.exec(`CREATE TEMP TABLE temporary (a INTEGER)`)
			tx, err := c.Begin(ctx)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { must(0, c.Rollback(ctx, tx)) }()
			c.exec(`INSERT INTO mine VALUES (1)`)
		}
		for sql, want := range map[string]string{
			`SHOW TABLES`: "mine", `SHOW TABLES FROM lake.main`: "mine", `SHOW ALL TABLES`: "mine",
			`SELECT table_name FROM duckdb_tables() WHERE database_name = 'lake'`:          "mine",
			`SELECT d.table_name FROM duckdb_tables AS d WHERE database_name = 'lake'`:     "mine",
			`SELECT table_name FROM information_schema.tables WHERE table_schema = 'main'`: "mine",
			`SELECT table_name FROM information_schema.columns`:                            "mine",
			`SELECT table_name FROM duckdb_columns() WHERE NOT internal`:                   "mine",
			`SELECT table_name FROM duckdb_constraints()`:                                  "mine",
			`SELECT relname FROM pg_catalog.pg_class`:                                      "mine",
			`SELECT tablename FROM pg_catalog.pg_tables`:                                   "mine",
			`SELECT name FROM sqlite_master`:                                               "mine",
			`SELECT view_name FROM duckdb_views()`:                                         "",
			`SELECT function_name FROM duckdb_functions() WHERE NOT internal`:              "",
		} {
			text := fmt.Sprint(c.rows(sql))
			if strings.Contains(text, "__vega_build_") || strings.Contains(text, "duckdb_tables() WHERE") || !strings.Contains(text, want) {
				t.Errorf("own connection %v: %s gives %s", own, sql, text)
			}
		}
		for _, sql := range []string{`SELECT table_name FROM system.main.duckdb_tables()`, `SELECT table_name FROM main.duckdb_tables()`, `SELECT table_name FROM pg_catalog.duckdb_tables()`} {
			if a, err := c.Analyze(ctx, sql); err == nil {
				t.Errorf("%s is admitted: %v", sql, a.Kind)
			}
		}
	}
}

// A swapped table is a table like any other: old versions, statistics, new rows, flush, merge, expiry and a second
// rename give what they give for one that the extension made.
func TestSwap(t *testing.T) {
	laketest.Each(t, func(t *testing.T, k laketest.Kind) {
		l := laketest.New(t, k)
		c := connect(t, l)
		c.exec(`CREATE TABLE t (i BIGINT, l INTEGER[], s STRUCT(a INTEGER))`)
		c.exec(`COMMENT ON TABLE t IS 'the old one'`)
		c.exec(`COMMENT ON COLUMN t.i IS 'the old column'`)
		c.exec(`INSERT INTO t SELECT range, [range], {'a': range} FROM range(5000)`)
		c.exec(`DELETE FROM t WHERE i % 10 = 3`)
		c.exec(`INSERT INTO t VALUES (-1, NULL, NULL)`)
		before := must(l.Snapshot(ctx)).ID
		c.exec(`CREATE OR REPLACE TABLE t AS SELECT range AS k, 'x' || range AS v FROM range(3000)`)
		swapped := must(l.Snapshot(ctx))
		c.want(`SELECT count(*), min(k), max(k), max(v) FROM t`, "3000|0|2999|x999")
		c.want(`SELECT comment FROM duckdb_tables() WHERE table_name = 't' AND database_name = 'lake'`, "NULL")
		read := func(sql string) string {
			t.Helper()
			conn, release, err := l.Acquire(ctx, ducklake.ConnSettings{})
			if err != nil {
				t.Fatal(err)
			}
			defer release()
			rows, err := conn.Rows(ctx, `SELECT (`+sql+`)::VARCHAR`)
			if err != nil {
				t.Errorf("%s: %v", sql, err)
				return ""
			}
			text, _ := rows[0][0].(string)
			return text
		}
		maintain := func(sql string) {
			t.Helper()
			conn, release, err := l.Acquire(ctx, ducklake.ConnSettings{})
			if err != nil {
				t.Fatal(err)
			}
			defer release()
			if _, err := conn.Exec(ctx, sql); err != nil {
				t.Errorf("%s: %v", sql, err)
			}
		}
		atBefore := func() string {
			return read(`SELECT (count(*), min(i), max(i), sum(l[1]), sum(s.a)) FROM t AT (VERSION => ` + strconv.FormatInt(before, 10) + `)`)
		}
		old := atBefore()
		if want := "(4501, -1, 4999, 11248500, 11248500)"; old != want {
			t.Errorf("the old table was %s, want %s", old, want)
		}
		// inlined rows of the new table, deletes on its file, then flush and merge
		c.exec(`INSERT INTO t VALUES (9001, 'late'), (9002, 'later')`)
		c.exec(`DELETE FROM t WHERE k < 5 OR k = 9001`)
		c.want(`SELECT count(*), min(k), max(k) FROM t`, "2996|5|9002")
		c.want(`SELECT v FROM t WHERE k >= 9000`, "later")
		maintain(`CALL ducklake_flush_inlined_data('lake')`)
		c.want(`SELECT count(*), min(k), max(k) FROM t`, "2996|5|9002")
		c.exec(`INSERT INTO t SELECT range + 20000, 'y' FROM range(2000)`)
		maintain(`CALL ducklake_merge_adjacent_files('lake')`)
		c.want(`SELECT count(*), min(k), max(k) FROM t`, "4996|5|21999")
		if got := read(`SELECT (count(*), min(k), max(k)) FROM t AT (VERSION => ` + strconv.FormatInt(swapped.ID, 10) + `)`); got != "(3000, 0, 2999)" {
			t.Errorf("at the swap the table was %s", got)
		}
		if again := atBefore(); again != old {
			t.Errorf("the old table became %s, was %s", again, old)
		}
		c.exec(`ALTER TABLE t ADD COLUMN z INTEGER DEFAULT 7`)
		c.exec(`ALTER TABLE t RENAME TO t2`)
		c.exec(`INSERT INTO t2 VALUES (-5, 'last', 8)`)
		c.want(`SELECT count(*), min(k), sum(z) FROM t2`, "4997|-5|34980")
		maintain(`CALL ducklake_expire_snapshots('lake', older_than => now())`)
		maintain(`CALL ducklake_cleanup_old_files('lake', cleanup_all => true)`)
		c.want(`SELECT count(*), min(k), max(k), sum(z) FROM t2`, "4997|-5|21999|34980")
		must(0, l.Store().View(ctx, func(tx metadata.Tx) error {
			rows, err := tx.Query(ctx, `SELECT count(*) FROM {M}ducklake_data_file WHERE table_id NOT IN (SELECT table_id FROM {M}ducklake_table)`)
			if err == nil && rows[0][0] != int64(0) {
				t.Errorf("%v files of dropped tables are left after expiry", rows[0][0])
			}
			return err
		}))
	})
}

func TestSwapRefusals(t *testing.T) {
	l := laketest.New(t, laketest.DuckDB)
	c := connect(t, l)
	c.exec(`CREATE TABLE a (i INTEGER)`)
	c.exec(`CREATE TABLE b (i INTEGER)`)
	c.exec(`CREATE VIEW v AS SELECT 1 AS i`)
	at := must(l.Snapshot(ctx)).ID
	for _, r := range []struct {
		renaming metadata.Renaming
		code     *fault.Code
	}{
		{metadata.Renaming{Schema: "main", From: "a", To: "B"}, fault.ObjectExists},
		{metadata.Renaming{Schema: "main", From: "a", To: "v"}, fault.ObjectExists},
		{metadata.Renaming{Schema: "main", From: "a", To: "b"}, fault.ObjectExists},
		{metadata.Renaming{Schema: "main", From: "a", To: "b", Replaced: 99}, fault.CommitConflict},
		{metadata.Renaming{Schema: "main", From: "a", To: "free", Replaced: 99}, fault.CommitConflict},
		{metadata.Renaming{Schema: "main", From: "a", ID: 99, To: "free"}, fault.ObjectNotFound},
		{metadata.Renaming{Schema: "main", From: "none", To: "c"}, fault.ObjectNotFound},
		{metadata.Renaming{Schema: "none", From: "a", To: "c"}, fault.ObjectNotFound},
	} {
		_, err := l.Swap(ctx, r.renaming)
		fails(t, err, r.code)
	}
	if now := must(l.Snapshot(ctx)).ID; now != at {
		t.Errorf("refused swaps made %d snapshots", now-at)
	}
	// A CREATE TABLE AS that loses the race for its name leaves nothing.
	for sql, want := range map[string]*fault.Code{`CREATE TABLE r1 AS SELECT 1 AS i`: fault.ObjectExists, `CREATE TABLE IF NOT EXISTS r2 AS SELECT 1 AS i`: nil} {
		other := connect(t, l)
		table := "r1"
		if want == nil {
			table = "r2"
		}
		a := must(c.Analyze(ctx, sql))
		l.OnceBeforePublish(func() { other.exec(`CREATE TABLE ` + table + ` (other INTEGER)`) })
		_, err := c.Exec(ctx, a)
		fails(t, err, want)
		c.want(`SELECT count(*) FROM `+table, "0")
	}
	// What took the name while the rows were computed is not what the statement was admitted to replace: it may be a view's table.
	for sql, between := range map[string]string{
		`CREATE OR REPLACE TABLE r3 AS SELECT 1 AS i`: `CREATE TABLE r3 (other INTEGER)`,
		`CREATE OR REPLACE TABLE a AS SELECT 1 AS i`:  `CREATE OR REPLACE TABLE a (other INTEGER)`,
		`CREATE OR REPLACE TABLE b AS SELECT 1 AS i`:  `DROP TABLE b`,
	} {
		other := connect(t, l)
		a := must(c.Analyze(ctx, sql))
		l.OnceBeforePublish(func() { other.exec(between) })
		if _, err := c.Exec(ctx, a); fault.CodeOf(err) != fault.ObjectExists && fault.CodeOf(err) != fault.CommitConflict {
			t.Errorf("%s with %s meanwhile: %v", sql, between, err)
		}
	}
	c.want(`SELECT table_name || ' ' || column_name FROM duckdb_columns() WHERE table_name IN ('a', 'b', 'r3') ORDER BY 1`, "a other", "r3 other")
	if n := must(l.Builds(ctx)); n != 0 {
		t.Errorf("%d builds are left", n)
	}
}
