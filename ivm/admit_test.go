package ivm_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/vegadb/vega-flight/ducklake/gate"
	"github.com/vegadb/vega-flight/ducklake/laketest"
	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/ivm"
	"github.com/vegadb/vega-flight/ivm/catalog"
)

// access is what the gate found out about a statement, in the engine's words.
func access(a *gate.Analysis) ivm.Access {
	tables := func(refs []gate.TableRef) (out []ivm.Object) {
		for _, r := range refs {
			out = append(out, ivm.Object{Catalog: r.Catalog, Schema: r.Schema, Name: r.Name, UUID: r.UUID})
		}
		return out
	}
	objects := func(refs []gate.ObjectRef) (out []ivm.Object) {
		for _, r := range refs {
			out = append(out, ivm.Object{Catalog: r.Catalog, Schema: r.Schema, Name: r.Name, UUID: r.UUID,
				IsSchema: r.Type == gate.SchemaObject, Replace: r.Replace, IfNotExists: r.IfExists, Cascade: r.Cascade})
		}
		return out
	}
	return ivm.Access{Reads: tables(a.Reads), Writes: tables(a.Writes), Creates: objects(a.Creates), Drops: objects(a.Drops), Alters: objects(a.Alters)}
}

// admitted asks about a statement of DuckDB's own; nil is admitted.
func (s *server) admitted(c ivm.Caller, sql string) *fault.Code {
	s.t.Helper()
	a, err := s.session.Analyze(context.Background(), sql)
	if err != nil {
		s.t.Fatalf("%s: %v", sql, err)
	}
	err = s.engine.Admit(context.Background(), c, access(a))
	if err != nil && fault.CodeOf(err) == nil {
		s.t.Fatalf("%s: %v has no name", sql, err)
	}
	return fault.CodeOf(err)
}

func (s *server) admits(want *fault.Code, statements ...string) {
	s.t.Helper()
	for _, sql := range statements {
		if got := s.admitted(s.caller, sql); got != want {
			s.t.Errorf("%s: %v, want %v", sql, codeName(got), codeName(want))
		}
	}
}

func codeName(c *fault.Code) string {
	if c == nil {
		return "admitted"
	}
	return c.Name()
}

func TestViewsAreReadOnly(t *testing.T) {
	laketest.Each(t, func(t *testing.T, k laketest.Kind) {
		s := start(t, laketest.NewPlace(t, k), options{})
		s.exec(`CREATE TABLE t (k INTEGER, v BIGINT)`, `INSERT INTO t VALUES (1, 2)`, `CREATE SCHEMA a`, `CREATE SCHEMA empty`)
		s.run(`CREATE MATERIALIZED VIEW v AS FROM lake.main.t; CREATE MATERIALIZED VIEW a.w AS FROM lake.main.v`)
		s.exec(`CREATE VIEW plain AS FROM v`)
		s.admits(fault.ViewReadOnly,
			`INSERT INTO v VALUES (1, 1)`, `INSERT INTO lake.main."V" SELECT * FROM t`, `UPDATE v SET k = 2`, `DELETE FROM v`, `TRUNCATE v`,
			`MERGE INTO v USING t ON v.k = t.k WHEN MATCHED THEN DELETE`, `INSERT INTO v VALUES (1, 1) RETURNING k`,
			`ALTER TABLE v ADD COLUMN x INTEGER`, `ALTER TABLE v RENAME TO z`, `ALTER TABLE a.w DROP COLUMN k`,
			`COMMENT ON TABLE v IS 'x'`, `COMMENT ON COLUMN v.k IS 'x'`,
			`DROP TABLE v`, `DROP TABLE IF EXISTS a.w`, `CREATE OR REPLACE TABLE v (a INTEGER)`, `CREATE OR REPLACE TABLE v AS SELECT 1 AS a`)
		s.admits(nil,
			`SELECT * FROM v`, `SELECT * FROM plain`, `INSERT INTO t SELECT * FROM v`, `UPDATE t SET v = 1`, `DELETE FROM t`, `DROP TABLE t`,
			`ALTER TABLE t ADD COLUMN x INTEGER`, `COMMENT ON TABLE t IS 'x'`, `CREATE TABLE IF NOT EXISTS v (a INTEGER)`, `CREATE TABLE a.v (x INTEGER)`,
			`DROP VIEW plain`, `CREATE TEMP TABLE v (a INTEGER)`, `DROP SCHEMA empty`, `CREATE SCHEMA b`)
		// What is refused is refused before anything happened.
		s.matches("lake.main.v", "FROM lake.main.t")

		s.admits(fault.DependentViews, `DROP SCHEMA a`)
		s.admits(nil, `DROP SCHEMA a CASCADE`)
		s.run(`CREATE MATERIALIZED VIEW reader AS FROM lake.a.w`)
		s.admits(fault.DependentViews, `DROP SCHEMA a CASCADE`)
		s.run(`DROP MATERIALIZED VIEW reader`)
		eve := ivm.Caller{Principal: "eve"}
		if got := s.admitted(eve, `DROP SCHEMA a CASCADE`); got != fault.PermissionDenied {
			t.Errorf("a stranger drops a schema with views: %v", codeName(got))
		}
		eve.Admin = true
		if got := s.admitted(eve, `DROP SCHEMA a CASCADE`); got != nil {
			t.Errorf("an administrator drops a schema with views: %v", codeName(got))
		}
		// A rename by another program keeps the view a view.
		if err := s.lake.DDL(context.Background(), `ALTER TABLE v RENAME TO renamed`); err != nil {
			t.Fatal(err)
		}
		s.admits(fault.ViewReadOnly, `DELETE FROM renamed`)
		s.exec(`CREATE TABLE v (a INTEGER)`)
		s.admits(nil, `DELETE FROM v`)
	})
}

func TestReadsNeedContent(t *testing.T) {
	laketest.Each(t, func(t *testing.T, k laketest.Kind) {
		s := start(t, laketest.NewPlace(t, k), options{})
		s.exec(`CREATE TABLE t (k INTEGER, v BIGINT)`, `INSERT INTO t VALUES (1, 2)`)
		s.run(`CREATE MATERIALIZED VIEW v AS FROM lake.main.t WITH NO DATA`)
		s.exec(`CREATE VIEW plain AS SELECT k FROM v`)
		reads := []string{`SELECT * FROM v`, `SELECT * FROM plain`, `WITH x AS (FROM v) SELECT * FROM x`, `SELECT 1 WHERE EXISTS (SELECT 1 FROM v)`,
			`INSERT INTO t SELECT * FROM v`, `CREATE TABLE c AS FROM v`, `SELECT * FROM t UNION ALL FROM v`, `DELETE FROM t WHERE k IN (SELECT k FROM v)`}
		s.admits(fault.NotPopulated, reads...)
		s.fails(fault.NotPopulated, `CREATE MATERIALIZED VIEW over AS FROM lake.main.v`)
		s.run(`REFRESH MATERIALIZED VIEW v`)
		s.admits(nil, reads...)
		s.run(`CREATE OR REPLACE MATERIALIZED VIEW v AS FROM lake.main.t WITH NO DATA`)
		s.admits(fault.NotPopulated, reads[0])
	})
}

func TestStaleReads(t *testing.T) {
	laketest.Each(t, func(t *testing.T, k laketest.Kind) {
		s := start(t, laketest.NewPlace(t, k), options{})
		s.exec(`CREATE TABLE t (k INTEGER, v BIGINT)`, `CREATE TABLE other (k INTEGER)`, `INSERT INTO t VALUES (1, 2)`)
		// A limit of nothing makes every unreflected commit too old, so that no clock decides.
		s.run(`CREATE MATERIALIZED VIEW v AS FROM lake.main.t; CREATE MATERIALIZED VIEW w WITH (max_staleness = '0s') AS FROM lake.main.v; CREATE MATERIALIZED VIEW lax WITH (max_staleness = '1 hour') AS FROM lake.main.t`)
		both := []string{`SELECT * FROM w`, `SELECT * FROM lax`}
		s.admits(nil, both...)
		s.exec(`INSERT INTO other VALUES (1)`, `ALTER TABLE t ADD COLUMN x INTEGER`)
		s.admits(nil, both...)

		s.exec(`INSERT INTO t VALUES (2, 2, 2)`)
		s.admits(fault.ViewStale, both[0])
		s.admits(nil, both[1], `SELECT * FROM v`)
		for _, c := range []struct {
			may, does bool
			want      *fault.Code
		}{{false, false, fault.ViewStale}, {false, true, fault.ViewStale}, {true, false, fault.ViewStale}, {true, true, nil}} {
			if got := s.admitted(ivm.Caller{Principal: "x", MayAcceptStale: c.may, AcceptStale: c.does}, both[0]); got != c.want {
				t.Errorf("%+v: %v", c, codeName(got))
			}
		}
		// Refreshing what is between is not enough, nor is refreshing in the wrong order.
		s.run(`REFRESH MATERIALIZED VIEW w`)
		s.admits(fault.ViewStale, both[0])
		s.run(`REFRESH MATERIALIZED VIEW v`)
		s.admits(fault.ViewStale, both[0])
		s.run(`REFRESH MATERIALIZED VIEW w`)
		s.admits(nil, both...)
		// Moving rows about is no change.
		conn, release, err := s.lake.Acquire(context.Background(), s.session.Settings())
		if err != nil {
			t.Fatal(err)
		}
		_, err = conn.Exec(context.Background(), `CALL ducklake_flush_inlined_data('lake')`)
		if release(); err != nil {
			t.Fatal(err)
		}
		s.admits(nil, both...)
		// Options are looked at as they are now.
		s.exec(`DELETE FROM t WHERE k = 2`)
		s.admits(fault.ViewStale, both[0])
		s.run(`ALTER MATERIALIZED VIEW w RESET (max_staleness)`)
		s.admits(nil, both[0])
		s.run(`ALTER MATERIALIZED VIEW lax SET (max_staleness = '0 s')`)
		s.admits(fault.ViewStale, both[1])
		// Going back to an older state is stale again.
		s.run(`REFRESH MATERIALIZED VIEW lax`)
		version := s.run(`SHOW MATERIALIZED VIEW lax`)[0]["source_version"]
		s.exec(`INSERT INTO t VALUES (3, 3, 3)`)
		s.run(`REFRESH MATERIALIZED VIEW lax`)
		s.admits(nil, both[1])
		s.run(`REFRESH MATERIALIZED VIEW lax WITH (source_version = ` + version + `)`)
		s.admits(fault.ViewStale, both[1])
		// The source is gone: its dropping is not reflected.
		s.run(`REFRESH MATERIALIZED VIEW lax`)
		s.exec(`DROP TABLE t`)
		s.admits(fault.ViewStale, both[1])
	})
}

func TestUnusableDefinitions(t *testing.T) {
	laketest.Each(t, func(t *testing.T, k laketest.Kind) {
		s := start(t, laketest.NewPlace(t, k), options{})
		s.exec(`CREATE TABLE t (k INTEGER)`, `INSERT INTO t VALUES (1)`)
		s.run(`CREATE MATERIALIZED VIEW v AS FROM lake.main.t; CREATE MATERIALIZED VIEW w AS FROM lake.main.t`)
		s.meddle(`UPDATE {M}vega_views SET definition = definition || ' ' WHERE view_name = 'v'`)
		s.admits(fault.DefinitionInvalid, `SELECT * FROM v`)
		s.admits(nil, `SELECT * FROM w`)
		s.fails(fault.DefinitionInvalid, `REFRESH MATERIALIZED VIEW v`)
		if got := s.run(`SHOW MATERIALIZED VIEW v`)[0]["state"]; got != "DEFINITION_UNREADABLE" {
			t.Errorf("state %s", got)
		}
		// It can still be dropped.
		s.run(`DROP MATERIALIZED VIEW v`)

		newer := strings.Replace(s.one(`SELECT comment FROM duckdb_tables() WHERE table_name = 'w'`), `"format":1`, `"format":2`, 1)
		s.meddle(`UPDATE {M}vega_views SET definition = $1, hash = $2 WHERE view_name = 'w'`, newer, catalog.HashDefinition(newer))
		s.admits(fault.DefinitionTooNew, `SELECT * FROM w`)
		s.fails(fault.DefinitionTooNew, `REFRESH MATERIALIZED VIEW w`)
		s.fails(fault.DefinitionTooNew, `CREATE MATERIALIZED VIEW over AS FROM lake.main.w`)
		s.admits(fault.ViewReadOnly, `DELETE FROM w`)
		if got := s.run(`SHOW MATERIALIZED VIEW w`)[0]["state"]; got != "DEFINITION_TOO_NEW" {
			t.Errorf("state %s", got)
		}
	})
}

func TestForgedDefinition(t *testing.T) {
	laketest.Each(t, func(t *testing.T, k laketest.Kind) {
		s := start(t, laketest.NewPlace(t, k), options{})
		s.exec(`CREATE TABLE t (k INTEGER)`, `INSERT INTO t VALUES (1)`, `CREATE TABLE f (k INTEGER)`, `INSERT INTO f VALUES (7)`,
			`COMMENT ON TABLE f IS '{"kind":"query","format":1,"query":"SELECT k FROM lake.main.t"}'`)
		// The comment alone changes nothing.
		s.admits(nil, `INSERT INTO f VALUES (8)`, `SELECT * FROM f`, `COMMENT ON TABLE f IS NULL`)
		err := s.fails(fault.ViewUnadopted, `REFRESH MATERIALIZED VIEW f`)
		if !strings.Contains(err.Error(), "ALTER MATERIALIZED VIEW main.f OWNER TO") {
			t.Errorf("no way out is told: %v", err)
		}
		s.fails(fault.ViewUnadopted, `DROP MATERIALIZED VIEW f`)
		if r := s.run(`SHOW MATERIALIZED VIEW f`)[0]; r["state"] != "UNADOPTED" || r["owner"] != "" || r["row_count"] != "" {
			t.Errorf("shown as %v", r)
		}
		s.fails(fault.PermissionDenied, `ALTER MATERIALIZED VIEW f OWNER TO ann`)
		s.caller.Admin = true
		s.run(`ALTER MATERIALIZED VIEW f OWNER TO ann`)
		s.caller.Admin = false
		s.admits(fault.ViewReadOnly, `INSERT INTO f VALUES (8)`)
		s.run(`REFRESH MATERIALIZED VIEW f`)
		s.matches("lake.main.f", "SELECT k FROM lake.main.t")
	})
}

// What one server does holds for the next statement on another one.
func TestAdmissionAcrossServers(t *testing.T) {
	at := laketest.NewPlace(t, laketest.PostgreSQL)
	one := start(t, at, options{id: "one"})
	two := start(t, at, options{id: "two"})
	one.exec(`CREATE TABLE t (k INTEGER)`, `INSERT INTO t VALUES (1)`)
	one.run(`CREATE MATERIALIZED VIEW v AS FROM lake.main.t WITH NO DATA`)
	read := `SELECT * FROM v`
	two.admits(fault.NotPopulated, read)
	two.admits(fault.ViewReadOnly, `DELETE FROM v`)
	one.run(`REFRESH MATERIALIZED VIEW v`)
	two.admits(nil, read)
	one.exec(`INSERT INTO t VALUES (2)`)
	two.admits(nil, read)
	one.run(`ALTER MATERIALIZED VIEW v SET (max_staleness = '0s')`)
	two.admits(fault.ViewStale, read)
	one.run(`REFRESH MATERIALIZED VIEW v`)
	two.admits(nil, read)
	two.exec(`INSERT INTO t VALUES (3)`)
	one.admits(fault.ViewStale, read)
	one.run(`CREATE OR REPLACE MATERIALIZED VIEW v AS FROM lake.main.t WITH NO DATA`)
	two.admits(fault.NotPopulated, read)
	one.run(`DROP MATERIALIZED VIEW v`)
	one.exec(`CREATE TABLE v (k INTEGER)`)
	two.admits(nil, read, `DELETE FROM v`)
}

// Statements are admitted while views come, go and are refreshed.
func TestAdmissionIsConcurrent(t *testing.T) {
	s := start(t, laketest.NewPlace(t, laketest.DuckDB), options{})
	s.exec(`CREATE TABLE t (k INTEGER)`, `INSERT INTO t VALUES (1)`)
	s.run(`CREATE MATERIALIZED VIEW v WITH (max_staleness = '0s') AS FROM lake.main.t`)
	a, err := s.session.Analyze(context.Background(), `SELECT * FROM v`)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for ctx.Err() == nil {
				err := s.engine.Admit(context.Background(), s.caller, access(a))
				if c := fault.CodeOf(err); err != nil && c != fault.ViewStale {
					t.Error(err)
				}
			}
		})
	}
	for range 5 {
		s.exec(`INSERT INTO t VALUES (2)`)
		s.run(`CREATE MATERIALIZED VIEW w AS FROM lake.main.v`)
		s.run(`REFRESH MATERIALIZED VIEW v`)
		s.admits(nil, `SELECT * FROM v`)
		s.run(`DROP MATERIALIZED VIEW w`)
	}
	cancel()
	readers.Wait()
}

// BenchmarkAdmit measures what admission adds to a statement when nothing changed since the last one.
func BenchmarkAdmit(b *testing.B) {
	for _, k := range laketest.Kinds {
		s := start(b, laketest.NewPlace(b, k), options{})
		s.exec(`CREATE TABLE t (k INTEGER)`, `INSERT INTO t VALUES (1)`)
		s.run(`CREATE MATERIALIZED VIEW v AS FROM lake.main.t; CREATE MATERIALIZED VIEW w WITH (max_staleness = '1 hour') AS FROM lake.main.t`)
		for _, sql := range []string{`SELECT * FROM t`, `SELECT * FROM v`, `SELECT * FROM w`, `INSERT INTO t VALUES (1)`} {
			a, err := s.session.Analyze(b.Context(), sql)
			if err != nil {
				b.Fatal(err)
			}
			acc := access(a)
			b.Run(k.String()+"/"+sql, func(b *testing.B) {
				for b.Loop() {
					if err := s.engine.Admit(b.Context(), s.caller, acc); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
