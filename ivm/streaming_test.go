package ivm_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/vegadb/vega-flight/ducklake/laketest"
	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/ivm"
	"github.com/vegadb/vega-flight/ivm/catalog"
)

// The statements, on a server that runs no streaming views: what they write is what another server will find.
func TestStreamingStatements(t *testing.T) {
	laketest.Each(t, func(t *testing.T, k laketest.Kind) {
		s := start(t, laketest.NewPlace(t, k), options{})
		bob := s.caller
		bob.Principal = "bob"
		s.exec(`CREATE TABLE t (k INTEGER, v BIGINT, ts TIMESTAMP)`, `INSERT INTO t VALUES (1, 2, now()::TIMESTAMP)`, `CREATE SCHEMA "My S"`)
		s.run(`CREATE MATERIALIZED VIEW m AS SELECT k FROM lake.main.t`)
		s.run(`CREATE STREAMING MATERIALIZED VIEW "My S".v (key, "the sum") WITH (initial_mode = 'future', parallelism = 2, max_staleness = '1 minute') AS
			SELECT k, sum(v) FROM lake.main.t WHERE ts IS NOT NULL GROUP BY k`)
		s.run(`CREATE STREAMING MATERIALIZED VIEW IF NOT EXISTS "My S".v AS SELECT nonsense FROM nowhere`)
		s.run(`CREATE STREAMING MATERIALIZED VIEW IF NOT EXISTS m AS SELECT nonsense FROM nowhere`)

		show := func() map[string]string {
			t.Helper()
			all := s.run(`SHOW STREAMING MATERIALIZED VIEWS`)
			if len(all) != 1 {
				t.Fatalf("%d views: %v", len(all), all)
			}
			return all[0]
		}
		v := show()
		for name, want := range map[string]string{
			"schema_name": "My S", "view_name": "v", "owner": "ann", "state": "STARTING", "reason_code": "", "reason": "no server has taken it up yet",
			"row_count": "", "generation": "", "version": "", "source_version": "", "staleness_ms": "", "max_staleness": "1 minute", "late_rows": "0", "rows_in": "",
			"initial_mode": "future", "options": "parallelism = 2, max_staleness = INTERVAL '1 minute'", "server_id": "",
		} {
			if v[name] != want {
				t.Errorf("%s is %q, want %q", name, v[name], want)
			}
		}
		if v["since"] == "" || v["created_at"] == "" || v["view_uuid"] == "" {
			t.Errorf("missing: %v", v)
		}
		if r, err := s.tryAs(t.Context(), bob, `SHOW STREAMING MATERIALIZED VIEW "My S".v`); err != nil || r[0]["reason"] != "" || r[0]["state"] != "STARTING" {
			t.Errorf("bob sees %v, %v", r, err)
		}
		if n := len(s.run(`SHOW MATERIALIZED VIEWS`)); n != 1 {
			t.Errorf("%d traditional views", n)
		}
		if n := len(s.run(`SHOW STREAMING MATERIALIZED VIEWS IN main`)); n != 0 {
			t.Errorf("%d streaming views in main", n)
		}
		made := s.run(`SHOW CREATE STREAMING MATERIALIZED VIEW "My S".v`)[0]["statement"]
		if want := `CREATE STREAMING MATERIALIZED VIEW "My S".v (key, "the sum") WITH (initial_mode = 'future', parallelism = 2, max_staleness = INTERVAL '1 minute') AS `; !strings.HasPrefix(made, want) {
			t.Errorf("made by %s", made)
		}

		// Nobody reads it, writes it or changes it by the back door.
		err := s.admit(ivm.Access{Reads: []ivm.Object{{Catalog: "lake", Schema: "My S", Name: "v"}}})
		var f *fault.Error
		if !errors.As(err, &f) || f.Code != fault.NotReady || !strings.Contains(f.Message, "STARTING: no server has taken it up yet") || !strings.Contains(f.Hint, "SHOW STREAMING") {
			t.Errorf("read: %v", err)
		}
		for _, a := range []ivm.Access{
			{Writes: []ivm.Object{{Schema: "My S", Name: "v"}}}, {Alters: []ivm.Object{{Schema: "My S", Name: "v"}}}, {Drops: []ivm.Object{{Schema: "My S", Name: "v"}}},
			{Creates: []ivm.Object{{Schema: "My S", Name: "v", Replace: true}}},
		} {
			err := s.admit(a)
			if !errors.As(err, &f) || f.Code != fault.ViewReadOnly || strings.Contains(f.Hint, "MATERIALIZED VIEW") && !strings.Contains(f.Hint, "STREAMING MATERIALIZED VIEW") {
				t.Errorf("%+v: %v", a, err)
			}
		}
		if kinds, err := s.engine.ViewKinds(t.Context()); err != nil || kinds[v["view_uuid"]] != catalog.Streaming {
			t.Errorf("kinds %v, %v", kinds, err)
		}

		// The other kind's statements.
		for _, sql := range []string{
			`REFRESH MATERIALIZED VIEW "My S".v`, `ALTER MATERIALIZED VIEW "My S".v RENAME TO w`, `ALTER MATERIALIZED VIEW "My S".v SET (max_staleness = '1s')`,
			`ALTER MATERIALIZED VIEW "My S".v OWNER TO bob`, `DROP MATERIALIZED VIEW "My S".v`, `SHOW MATERIALIZED VIEW "My S".v`, `SHOW CREATE MATERIALIZED VIEW "My S".v`,
			`ALTER STREAMING MATERIALIZED VIEW m PAUSE`, `ALTER STREAMING MATERIALIZED VIEW m REBUILD`, `ALTER STREAMING MATERIALIZED VIEW m RESET (parallelism)`,
			`DROP STREAMING MATERIALIZED VIEW m`, `SHOW STREAMING MATERIALIZED VIEW m`, `SHOW CREATE STREAMING MATERIALIZED VIEW m`, `EXPLAIN STREAMING ANALYZE m`,
		} {
			if _, err := s.try(sql); !errors.As(err, &f) || f.Code != fault.NotAView || f.Hint == "" {
				t.Errorf("%s: %v", sql, err)
			}
		}
		s.fails(fault.NotAView, `ALTER STREAMING MATERIALIZED VIEW t PAUSE`)
		s.fails(fault.ViewNotFound, `ALTER STREAMING MATERIALIZED VIEW nothing RESTART`)
		if len(s.run(`DROP STREAMING MATERIALIZED VIEW IF EXISTS nothing`)) != 1 {
			t.Error("no status")
		}

		// Its life.
		record := func() (paused bool, restarts, generation int64, mode string) {
			t.Helper()
			all, err := s.store.Control().Records(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			r := all[v["view_uuid"]]
			return r.Paused, r.Restarts, r.Generation, r.Mode
		}
		s.run(`ALTER STREAMING MATERIALIZED VIEW "My S".v PAUSE; ALTER STREAMING MATERIALIZED VIEW "My S".v RESTART; ALTER STREAMING MATERIALIZED VIEW "My S".v REBUILD`)
		if paused, restarts, generation, mode := record(); !paused || restarts != 1 || generation != 2 || mode != "future" {
			t.Errorf("%v %d %d %s", paused, restarts, generation, mode)
		}
		s.run(`ALTER STREAMING MATERIALIZED VIEW "My S".v RESUME; ALTER STREAMING MATERIALIZED VIEW "My S".v REBUILD WITH (initial_mode = 'backfill')`)
		if paused, _, generation, mode := record(); paused || generation != 3 || mode != "backfill" {
			t.Errorf("%v %d %s", paused, generation, mode)
		}
		for _, sql := range []string{`PAUSE`, `RESUME`, `RESTART`, `REBUILD`, `SET (parallelism = 3)`, `RENAME TO w`, `OWNER TO bob`} {
			if _, err := s.tryAs(t.Context(), bob, `ALTER STREAMING MATERIALIZED VIEW "My S".v `+sql); fault.CodeOf(err) != fault.PermissionDenied {
				t.Errorf("%s by somebody else: %v", sql, err)
			}
		}
		s.run(`ALTER STREAMING MATERIALIZED VIEW "My S".v SET (parallelism = 3, watermark_column = 'ts', watermark_delay = '1 minute'); ALTER STREAMING MATERIALIZED VIEW "My S".v RESET (max_staleness)`)
		if got := show(); got["options"] != "parallelism = 3, watermark_column = 'ts', watermark_delay = INTERVAL '1 minute'" || got["max_staleness"] != "" {
			t.Errorf("options %q", got["options"])
		}
		s.fails(fault.InvalidOption, `ALTER STREAMING MATERIALIZED VIEW "My S".v SET (watermark_column = 'nothing')`)
		s.fails(fault.InvalidOption, `ALTER STREAMING MATERIALIZED VIEW "My S".v SET (initial_mode = 'future')`)
		s.fails(fault.InvalidOption, `ALTER STREAMING MATERIALIZED VIEW "My S".v RESET (initial_mode)`)
		s.run(`ALTER STREAMING MATERIALIZED VIEW "My S".v RENAME TO w; ALTER STREAMING MATERIALIZED VIEW "My S".w OWNER TO bob`)
		if got := show(); got["view_name"] != "w" || got["owner"] != "bob" || got["view_uuid"] != v["view_uuid"] {
			t.Errorf("renamed: %v", got)
		}
		s.fails(fault.PermissionDenied, `DROP STREAMING MATERIALIZED VIEW "My S".w`)
		if _, err := s.tryAs(t.Context(), bob, `DROP STREAMING MATERIALIZED VIEW "My S".w`); err != nil {
			t.Error(err)
		}
		if n := len(s.run(`SHOW STREAMING MATERIALIZED VIEWS`)); n != 0 {
			t.Errorf("%d views are left", n)
		}
		if all, err := s.store.Control().Records(t.Context()); err != nil || len(all) != 0 {
			t.Errorf("rows are left: %v, %v", all, err)
		}
	})
}

// What is late is decided for each commit to a source in its turn, which a streaming view does not give: no statement puts a watermark over
// one, and it is not put there by making a table's place a view's.
func TestWatermarksAreOverTables(t *testing.T) {
	place, state := laketest.NewPlace(t, laketest.DuckDB), t.TempDir()
	s := start(t, place, options{stream: true, state: state})
	s.exec(`CREATE TABLE t (k INTEGER, ts TIMESTAMP)`, `CREATE TABLE d (k INTEGER, name VARCHAR)`, `CREATE TABLE u (k INTEGER, ts TIMESTAMP)`)
	s.run(`CREATE STREAMING MATERIALIZED VIEW a AS SELECT k, ts FROM lake.main.t;
		CREATE STREAMING MATERIALIZED VIEW b AS SELECT a.k, a.ts, name FROM lake.main.a JOIN lake.main.d USING (k)`)
	for _, sql := range []string{
		`CREATE STREAMING MATERIALIZED VIEW x WITH (watermark_column = 'ts') AS SELECT k, ts FROM lake.main.a`,
		`CREATE STREAMING MATERIALIZED VIEW x WITH (watermark_column = 'a.ts', watermark_delay = '1s') AS SELECT k, ts FROM lake.main.a`,
		`CREATE STREAMING MATERIALIZED VIEW x WITH (watermark_column = 't.ts, a.ts') AS SELECT a.k, t.ts, a.ts AS ats FROM lake.main.a JOIN lake.main.t USING (k)`,
		`CREATE STREAMING MATERIALIZED VIEW x WITH (watermark_column = 'ts') AS SELECT a.k, t.ts FROM lake.main.a JOIN lake.main.t USING (k) WHERE a.ts IS NOT NULL`,
		`CREATE STREAMING MATERIALIZED VIEW x WITH (watermark_column = 'ts') AS WITH q AS (SELECT * FROM lake.main.a) SELECT k FROM q WHERE ts IN (SELECT ts FROM q)`,
		`ALTER STREAMING MATERIALIZED VIEW b SET (watermark_column = 'ts')`,
		`ALTER STREAMING MATERIALIZED VIEW b SET (watermark_column = 'a.ts', watermark_delay = '1 minute')`,
	} {
		_, err := s.try(sql)
		var f *fault.Error
		if !errors.As(err, &f) || f.Code != fault.InvalidOption || !strings.Contains(f.Message, "main.a is a streaming view") || f.Hint == "" {
			t.Errorf("%s: %v", sql, err)
		}
		if strings.HasPrefix(sql, "CREATE") && f != nil && !strings.HasPrefix(sql[f.Position:], "watermark_column") {
			t.Errorf("%s: the place is %d", sql, f.Position)
		}
	}
	// Beside one, and below one, a table may have it.
	s.run(`CREATE STREAMING MATERIALIZED VIEW beside WITH (watermark_column = 'u.ts') AS SELECT a.k, u.ts FROM lake.main.a JOIN lake.main.u USING (k);
		ALTER STREAMING MATERIALIZED VIEW a SET (watermark_column = 'ts', watermark_delay = '1 hour')`)
	s.exec(`INSERT INTO t VALUES (1, '2026-01-01 00:00:00')`, `INSERT INTO u VALUES (1, '2026-01-01 00:00:01')`)
	s.follows("beside", `SELECT a.k, u.ts FROM lake.main.a JOIN lake.main.u USING (k)`)

	s.exec(`DROP TABLE u`)
	s.comes("beside", "SCHEMA_BLOCKED")
	s.run(`CREATE STREAMING MATERIALIZED VIEW u AS SELECT k, ts FROM lake.main.t`)
	s.until("it says why", func() bool { return strings.Contains(s.stream("beside")["reason"], "is a streaming view now") })
	s.comes("beside", "SCHEMA_BLOCKED")
	s.run(`DROP STREAMING MATERIALIZED VIEW u CASCADE`)
}

// What cannot be a streaming view makes nothing.
func TestStreamingRefusals(t *testing.T) {
	s := start(t, laketest.NewPlace(t, laketest.DuckDB), options{})
	s.exec(`CREATE TABLE t (k INTEGER, v BIGINT, ts TIMESTAMP)`, `CREATE VIEW plain AS SELECT 1 AS one`)
	s.run(`CREATE STREAMING MATERIALIZED VIEW a AS SELECT k FROM lake.main.t; CREATE MATERIALIZED VIEW empty AS SELECT k FROM lake.main.t WITH NO DATA`)

	const bad = `CREATE STREAMING MATERIALIZED VIEW x AS SELECT list(k) AS l, max(random()) AS r FROM t WHERE ts <> now()`
	_, err := s.try(bad)
	var f *fault.Error
	if !errors.As(err, &f) || f.Code != fault.PlanRefused {
		t.Fatalf("%v", err)
	}
	var said []string
	for _, r := range s.run(strings.Replace(bad, "CREATE STREAMING MATERIALIZED VIEW x AS", "EXPLAIN STREAMING", 1)) {
		for _, line := range strings.Split(r["reason"], "\n") {
			if name, _, _ := strings.Cut(line, " "); line != "" && !slices.Contains(said, name) {
				said = append(said, name)
			}
		}
	}
	for _, name := range said {
		if !strings.Contains(f.Message, "\n"+name+" at ") {
			t.Errorf("%s is missing in\n%s", name, f.Message)
		}
	}
	if len(said) < 3 || f.Position < strings.Index(bad, "SELECT") {
		t.Errorf("EXPLAIN said %v; the place is %d", said, f.Position)
	}

	for sql, want := range map[string]*fault.Code{
		`CREATE STREAMING MATERIALIZED VIEW x AS SELECT nothing FROM t`:                                     fault.SQLError,
		`CREATE STREAMING MATERIALIZED VIEW x AS SELECT k FROM nowhere`:                                     fault.ObjectNotFound,
		`CREATE STREAMING MATERIALIZED VIEW x AS SELECT k, '10:00'::TIMETZ AS z FROM t`:                     fault.PlanRefused,
		`CREATE STREAMING MATERIALIZED VIEW x AS SELECT k, v AS K FROM t`:                                   fault.InvalidParameter,
		`CREATE STREAMING MATERIALIZED VIEW x (a, b, c) AS SELECT k, v FROM t`:                              fault.InvalidParameter,
		`CREATE STREAMING MATERIALIZED VIEW a AS SELECT k FROM t`:                                           fault.ViewExists,
		`CREATE STREAMING MATERIALIZED VIEW t AS SELECT k FROM t`:                                           fault.ObjectExists,
		`CREATE STREAMING MATERIALIZED VIEW plain AS SELECT k FROM t`:                                       fault.ObjectExists,
		`CREATE STREAMING MATERIALIZED VIEW other.main.x AS SELECT k FROM t`:                                fault.ViewNotFound,
		`CREATE STREAMING MATERIALIZED VIEW nowhere.x AS SELECT k FROM t`:                                   fault.ObjectNotFound,
		`CREATE STREAMING MATERIALIZED VIEW __vega_build_x AS SELECT k FROM t`:                              fault.ReservedName,
		`CREATE STREAMING MATERIALIZED VIEW x WITH (watermark_column = 'w') AS SELECT k FROM t`:             fault.InvalidOption,
		`CREATE STREAMING MATERIALIZED VIEW x WITH (watermark_column = 'k') AS SELECT k FROM t`:             fault.InvalidOption,
		`CREATE STREAMING MATERIALIZED VIEW x WITH (watermark_column = 'a.k') AS SELECT k FROM lake.main.a`: fault.InvalidOption,
		`CREATE STREAMING MATERIALIZED VIEW x WITH (initial_mode = 'future') AS SELECT k FROM lake.main.a`:  fault.InvalidOption,
		`CREATE STREAMING MATERIALIZED VIEW x AS SELECT k FROM lake.main.empty`:                             fault.NotPopulated,
		`CREATE MATERIALIZED VIEW y AS SELECT k FROM lake.main.a`:                                           fault.NotReady,
		`CREATE STREAMING MATERIALIZED VIEW x WITH (initial_mode = 'latest') AS SELECT k FROM t`:            fault.InvalidOption,
		`ALTER STREAMING MATERIALIZED VIEW a RENAME TO t`:                                                   fault.ObjectExists,
	} {
		s.fails(want, sql)
	}
	// A create whose job fails leaves the definition.
	s.run(`DROP MATERIALIZED VIEW y`)
	if n := s.one(`SELECT count(*) FROM duckdb_tables() WHERE table_name IN ('x', '__vega_build_x')`); n != "0" {
		t.Error("something was made")
	}

	// Mixed graphs go together, or not at all.
	s.run(`CREATE MATERIALIZED VIEW over AS SELECT k FROM lake.main.a WITH NO DATA; CREATE STREAMING MATERIALIZED VIEW b AS SELECT k + 1 AS k FROM lake.main.a`)
	s.fails(fault.DependentViews, `DROP STREAMING MATERIALIZED VIEW a`)
	if kinds := s.sources(); !slices.Equal(kinds, []string{"a table", "b streaming materialized view", "empty table", "over streaming materialized view"}) {
		t.Errorf("sources: %v", kinds)
	}
	s.run(`DROP STREAMING MATERIALIZED VIEW a CASCADE`)
	if left := s.run(`SHOW STREAMING MATERIALIZED VIEWS`); len(left) != 0 || len(s.run(`SHOW MATERIALIZED VIEWS`)) != 1 {
		t.Errorf("left: %v", left)
	}
	s.clean()
}

// A table with a streaming definition in its comment becomes a view again when an administrator adopts it.
func TestAdoptStreaming(t *testing.T) {
	s := start(t, laketest.NewPlace(t, laketest.DuckDB), options{})
	s.exec(`CREATE TABLE t (k INTEGER)`, `INSERT INTO t VALUES (1)`, `CREATE TABLE w (k INTEGER)`, `CREATE TABLE bad (k INTEGER)`,
		`COMMENT ON TABLE w IS '{"kind":"query","format":1,"query":"SELECT k FROM t","vega":{"mode":"streaming","consistent":true,"options":{"parallelism":"2"}}}'`,
		`COMMENT ON TABLE bad IS '{"kind":"query","format":1,"query":"SELECT (random() * k)::INTEGER AS k FROM t","vega":{"mode":"streaming","consistent":true,"options":{}}}'`)
	admin := ivm.Caller{Principal: "root", Admin: true, Session: s.session}
	if got := s.run(`SHOW STREAMING MATERIALIZED VIEW w`)[0]; got["state"] != "UNADOPTED" || got["options"] != "parallelism = 2" {
		t.Errorf("%v", got)
	}
	for sql, want := range map[string]*fault.Code{
		`ALTER MATERIALIZED VIEW w OWNER TO ann`: fault.NotAView, `ALTER STREAMING MATERIALIZED VIEW bad OWNER TO ann`: fault.PlanRefused,
		`ALTER STREAMING MATERIALIZED VIEW w PAUSE`: fault.ViewUnadopted,
	} {
		if _, err := s.tryAs(t.Context(), admin, sql); fault.CodeOf(err) != want {
			t.Errorf("%s: %v", sql, err)
		}
	}
	if _, err := s.tryAs(t.Context(), admin, `ALTER STREAMING MATERIALIZED VIEW w OWNER TO ann`); err != nil {
		t.Fatal(err)
	}
	if got := s.run(`SHOW STREAMING MATERIALIZED VIEW w`)[0]; got["state"] != "STARTING" || got["owner"] != "ann" || got["initial_mode"] != "backfill" {
		t.Errorf("%v", got)
	}
}

func (s *server) admit(a ivm.Access) error { return s.engine.Admit(s.t.Context(), s.caller, a) }

// sources are the kinds of what the views read.
func (s *server) sources() []string {
	s.t.Helper()
	batch, err := s.engine.VegaRows(s.t.Context(), s.caller, "view_sources")
	if err != nil {
		s.t.Fatal(err)
	}
	defer batch.Release()
	var out []string
	for i := range int(batch.NumRows()) {
		out = append(out, cell(batch.Column(1), i)+" "+cell(batch.Column(6), i))
	}
	return out
}
