package ivm_test

import (
	"context"
	"strings"
	"testing"

	"github.com/vegadb/vega-flight/ducklake"
	"github.com/vegadb/vega-flight/ducklake/laketest"
	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/ivm"
)

func TestShow(t *testing.T) {
	laketest.Each(t, func(t *testing.T, k laketest.Kind) {
		s := start(t, laketest.NewPlace(t, k), options{})
		s.exec(`CREATE TABLE t (k INTEGER, v BIGINT)`, `INSERT INTO t VALUES (1, 2), (2, 3)`, `CREATE SCHEMA "My S"`)
		s.run(`CREATE MATERIALIZED VIEW v WITH (max_staleness = '1 hour', refresh_cron = '0 3 1 1 *', refresh_timezone = 'Europe/Berlin') AS FROM lake.main.t;
			CREATE MATERIALIZED VIEW "My S"."The View" (a, "b c") AS FROM lake.main.v WITH NO DATA`)

		all := s.run(`SHOW MATERIALIZED VIEWS`)
		if len(all) != 2 {
			t.Fatalf("%d views", len(all))
		}
		quiet, v := all[0], all[1]
		for name, want := range map[string]string{
			"schema_name": "main", "view_name": "v", "owner": "ann", "state": "READY", "row_count": "2", "generation": "1", "staleness_ms": "0", "stale_since": "",
			"max_staleness": "1 hour", "refresh_cron": "0 3 1 1 *", "refresh_timezone": "Europe/Berlin", "refresh_interval": "", "failed_refreshes": "0",
			"last_error": "", "job_id": "", "query": `FROM (SELECT "k", "v" FROM "lake"."main"."t") AS "t"`,
		} {
			if v[name] != want {
				t.Errorf("%s is %q, want %q", name, v[name], want)
			}
		}
		if v["next_refresh_at"] == "" || v["version"] == "" || v["source_version"] == "" || v["refreshed_at"] == "" || v["view_uuid"] == "" {
			t.Errorf("missing: %v", v)
		}
		for name, want := range map[string]string{"view_name": "The View", "state": "NOT_POPULATED", "row_count": "", "generation": "", "version": "", "staleness_ms": "", "refreshed_at": ""} {
			if quiet[name] != want {
				t.Errorf("%s is %q, want %q", name, quiet[name], want)
			}
		}
		s.exec(`INSERT INTO t VALUES (3, 3)`)
		if r := s.run(`SHOW MATERIALIZED VIEW v`); len(r) != 1 || r[0]["stale_since"] == "" {
			t.Errorf("a stale view: %v", r)
		}
		for sql, want := range map[string]int{
			`SHOW MATERIALIZED VIEWS IN main`: 1, `SHOW MATERIALIZED VIEWS IN lake."my s"`: 1, `SHOW STREAMING MATERIALIZED VIEWS`: 0,
		} {
			r, err := s.try(sql)
			if err != nil || len(r) != want {
				t.Errorf("%s: %d rows, %v", sql, len(r), err)
			}
		}
		s.fails(fault.ObjectNotFound, `SHOW MATERIALIZED VIEWS IN nowhere`)
		s.fails(fault.ObjectNotFound, `SHOW MATERIALIZED VIEWS IN other.main`)
		s.fails(fault.ViewNotFound, `SHOW MATERIALIZED VIEW nothing`)
		s.fails(fault.NotAView, `SHOW MATERIALIZED VIEW t`)
		s.fails(fault.NotAView, `SHOW CREATE MATERIALIZED VIEW t`)

		// A statement that has nothing to do gives what was announced for it.
		if r := s.run(`CREATE MATERIALIZED VIEW IF NOT EXISTS v WITH (wait = false) AS SELECT 1 AS a`); r[0]["status"] != "CREATE MATERIALIZED VIEW" || r[0]["job_id"] != "" {
			t.Errorf("nothing to do: %v", r)
		}

		// The statement makes the same view again.
		made := s.run(`SHOW CREATE MATERIALIZED VIEW "My S"."The View"`)[0]
		if want := `CREATE MATERIALIZED VIEW "My S"."The View" (a, "b c") AS FROM (SELECT "k", "v" FROM "lake"."main"."v") AS "v" WITH DATA`; made["statement"] != want {
			t.Errorf("got  %s\nwant %s", made["statement"], want)
		}
		before := s.run(`SHOW CREATE MATERIALIZED VIEW v`)[0]["statement"]
		s.run(`DROP MATERIALIZED VIEW v CASCADE`)
		s.run(before)
		if after := s.run(`SHOW CREATE MATERIALIZED VIEW v`)[0]["statement"]; after != before {
			t.Errorf("made again as\n%s\nnot\n%s", after, before)
		}
	})
}

func TestShowJobs(t *testing.T) {
	laketest.Each(t, func(t *testing.T, k laketest.Kind) {
		s := start(t, laketest.NewPlace(t, k), options{})
		ctx := context.Background()
		bob := s.caller
		bob.Principal = "bob"
		root := s.caller
		root.Principal, root.Admin = "root", true
		s.exec(`CREATE TABLE t (k INTEGER)`, `INSERT INTO t VALUES (1)`)
		s.run(`CREATE MATERIALIZED VIEW v AS FROM lake.main.t`)
		s.run(`REFRESH MATERIALIZED VIEW v`)
		if _, err := s.tryAs(ctx, bob, `CREATE MATERIALIZED VIEW w AS SELECT k // 0 AS k FROM lake.main.t WHERE error('the number ' || k) IS NULL`); err == nil {
			t.Fatal("a query that fails made a view")
		}
		count := func(c ivm.Caller, sql string, want int) rows {
			t.Helper()
			r, err := s.tryAs(ctx, c, sql)
			if err != nil || len(r) != want {
				t.Errorf("%s as %s: %d rows, %v; want %d", sql, c.Principal, len(r), err, want)
			}
			return r
		}
		mine := count(s.caller, `SHOW JOBS`, 2)
		theirs := count(bob, `SHOW JOBS`, 1)
		count(root, `SHOW JOBS`, 3)
		count(root, `SHOW JOBS LIMIT 1`, 1)
		count(root, `SHOW JOBS FOR MATERIALIZED VIEW v`, 2)
		count(bob, `SHOW JOBS FOR MATERIALIZED VIEW v`, 0)
		if mine[0]["kind"] != "REFRESH" || mine[0]["state"] != "SUCCEEDED" || mine[0]["progress"] != "1" || !strings.Contains(mine[0]["result"], `"mode":"no_op"`) || mine[1]["kind"] != "CREATE" {
			t.Errorf("jobs %v", mine)
		}
		if j := theirs[0]; j["state"] != "FAILED" || j["error_code"] == "" || !strings.Contains(j["error_message"], "the number 1") || j["finished_at"] == "" {
			t.Errorf("failed job %v", j)
		}
		id := theirs[0]["job_id"]
		count(bob, `SHOW JOB '`+id+`'`, 1)
		count(root, `SHOW JOB '`+id+`'`, 1)
		s.fails(fault.JobNotFound, `SHOW JOB '`+id+`'`)
		s.fails(fault.JobNotFound, `SHOW JOB 'none'`)
		s.fails(fault.JobNotFound, `CANCEL JOB '`+id+`'`)
		s.fails(fault.ViewNotFound, `SHOW JOBS FOR MATERIALIZED VIEW none`)

		// The same in the reserved catalog, for each caller their own.
		for _, c := range []struct {
			caller      ivm.Caller
			table       string
			want        int64
			mustMention string
		}{
			{s.caller, "jobs", 2, "REFRESH"}, {bob, "JOBS", 1, "the number 1"}, {root, "jobs", 3, "ann"},
			{s.caller, "materialized_views", 2, "NOT_POPULATED"}, {bob, "view_sources", 2, `"k"`}, {bob, "streaming_views", 0, ""},
		} {
			batch, err := s.engine.VegaRows(ctx, c.caller, c.table)
			if err != nil {
				t.Fatal(err)
			}
			text, err := batch.MarshalJSON()
			if err != nil || batch.NumRows() != c.want || !strings.Contains(string(text), c.mustMention) {
				t.Errorf("vega.%s as %s: %s, %v", c.table, c.caller.Principal, text, err)
			}
			batch.Release()
		}
		if _, err := s.engine.VegaRows(ctx, root, "secrets"); fault.CodeOf(err) != fault.ObjectNotFound {
			t.Errorf("an unknown table: %v", err)
		}
	})
}

// The DDL of the reserved catalog is what DuckDB takes, and its tables take the rows.
func TestVegaTables(t *testing.T) {
	lake := laketest.New(t, laketest.DuckDB)
	conn, release, err := lake.Acquire(context.Background(), ducklake.ConnSettings{})
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	for _, sql := range ivm.VegaDDL() {
		if _, err := conn.Exec(context.Background(), strings.Replace(sql, "CREATE TABLE ", "CREATE TABLE memory.main.", 1)); err != nil {
			t.Errorf("%s: %v", sql, err)
		}
	}
}
