package gate

import (
	"context"
	"strings"
	"testing"

	"github.com/vegadb/vega-flight/fault"
)

// DuckDB takes CREATE TEMP … main.x for an object of the connection. Taken for one of the lake it would be made on a connection that
// other sessions get next.
func TestTemporaryObjectsOfMain(t *testing.T) {
	_, s := newGate(t, newRealLake(t, sales...))
	for _, sql := range []string{
		"CREATE TEMP VIEW main.t AS SELECT 666 AS a", "CREATE TEMPORARY VIEW main.t AS SELECT 1 AS a", "CREATE LOCAL TEMP VIEW MAIN.t AS SELECT 1 AS a",
		`CREATE OR REPLACE TEMP VIEW "main".t AS SELECT 1 AS a`, "CREATE TEMP TABLE main.x(a INTEGER)", "CREATE TEMP TABLE main.y AS SELECT 1 AS a",
		"CREATE TEMP MACRO main.abs(x) AS 666", "CREATE TEMP FUNCTION main.upper(x) AS 'x'", "CREATE TEMP VIEW temp.main.v AS SELECT 1 AS a",
		"CREATE TEMP TABLE temp.z(a INTEGER)",
	} {
		a, err := s.Analyze(context.Background(), sql, Env{})
		if err != nil {
			t.Errorf("%s: %v", sql, err)
			continue
		}
		if a.DDL || !a.TouchesTemp || len(a.Creates) != 1 || a.Creates[0].Catalog != tempCatalog || a.Effect == nil || a.Effect.Kind != TempDDL {
			t.Errorf("%s: %+v", sql, a)
		}
	}
	for _, sql := range []string{"CREATE TEMP VIEW sales.v AS SELECT 1 AS a", "CREATE TEMP MACRO lake.main.f(x) AS 1", "CREATE TEMP TABLE lake.x(a INTEGER)", "CREATE TEMP MACRO sales.f(x) AS 1"} {
		if a, err := s.Analyze(context.Background(), sql, Env{}); err == nil {
			t.Errorf("admitted: %s %+v", sql, a)
		} else if code := fault.CodeOf(err); code == nil || code == fault.InternalError {
			t.Errorf("%s: %v", sql, err)
		}
	}
}

// A temporary table that was not made by SQL may have any name; once it is gone such a name would be a file's.
func TestTemporaryTablesWithFileNames(t *testing.T) {
	ctx := context.Background()
	_, s := newGate(t, newRealLake(t, sales...))
	const name = "/data/x.parquet"
	if err := s.CreatedTemp(ctx, name, []Column{{Name: "a", Type: "INTEGER"}}); err != nil {
		t.Fatal(err)
	}
	for _, sql := range []string{`FROM "` + name + `"`, `SELECT * FROM t, temp."` + name + `"`, `INSERT INTO "` + name + `" VALUES (1)`, `DELETE FROM "` + name + `"`} {
		if _, err := s.Analyze(ctx, sql, Env{}); fault.CodeOf(err) != fault.StatementForbidden {
			t.Errorf("%s: %v", sql, err)
		}
	}
	if _, err := s.Analyze(ctx, `DROP TABLE "`+name+`"`, Env{}); err != nil && !strings.Contains(err.Error(), "file") {
		t.Error(err)
	}
}

// A macro of the lake that has a function's or operator's name would be called by everybody, whatever they mean.
func TestMacrosCannotTakeAFunctionsPlace(t *testing.T) {
	ctx := context.Background()
	_, s := newGate(t, newRealLake(t, sales...))
	for _, sql := range []string{
		"CREATE MACRO abs(x) AS 1", `CREATE MACRO "+"(a, b) AS a - b`, "CREATE OR REPLACE MACRO sales.Upper(x) AS x", "CREATE MACRO count(x) AS 1", `CREATE MACRO "||"(a, b) AS a`,
		"CREATE MACRO json_extract(x) AS x", "CREATE MACRO duckdb_tables() AS TABLE SELECT 1 AS x", "CREATE FUNCTION range(n) AS TABLE SELECT n",
	} {
		if _, err := s.Analyze(ctx, sql, Env{}); fault.CodeOf(err) != fault.ReservedName {
			t.Errorf("%s: %v", sql, err)
		}
	}
	for _, sql := range []string{"CREATE TEMP MACRO abs(x) AS 1", "CREATE MACRO plus_one(x) AS x + 1"} {
		if _, err := s.Analyze(ctx, sql, Env{}); err != nil {
			t.Errorf("%s: %v", sql, err)
		}
	}
}
