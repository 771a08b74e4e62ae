package gate

import (
	"context"
	"fmt"
	"reflect"
	"sync"
	"testing"

	"github.com/vegadb/vega-flight/fault"
)

// run analyses a statement as main's session and tells the gate that it was run.
func run(t *testing.T, s *Session, sql string) *Analysis {
	t.Helper()
	ctx := context.Background()
	a, err := s.Analyze(ctx, sql, Env{})
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	if err := s.Applied(ctx, a); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return a
}

func TestTemporaryObjects(t *testing.T) {
	g, s := newGate(t, newRealLake(t, sales...))
	ctx := context.Background()
	for _, sql := range []string{
		"CREATE TEMP TABLE mine(a INTEGER, b VARCHAR)", "CREATE OR REPLACE TEMP TABLE copied AS SELECT a, b, now() AS n FROM t AT (VERSION => 5)", "CREATE TEMPORARY TABLE IF NOT EXISTS mine AS SELECT 1 AS z",
		"CREATE TEMP VIEW seen AS SELECT * FROM mine JOIN t USING (a)", "CREATE TEMP MACRO ten(x) AS x * 10", "ALTER TABLE mine ADD COLUMN c DOUBLE",
	} {
		a := run(t, s, sql)
		if a.Effect == nil || a.Effect.Kind != TempDDL || a.DDL || !a.TouchesTemp || a.ReadOnly {
			t.Errorf("%s: %+v", sql, a)
		}
	}
	if err := s.CreatedTemp(ctx, "ingested", []Column{{Name: "x y", Type: "DECIMAL(10,2)"}}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ sql, reads, writes string }{
		{"SELECT a, c FROM mine", "temp.main.mine", ""}, {"FROM temp.mine", "temp.main.mine", ""}, {"FROM copied", "temp.main.copied", ""}, {"FROM seen", lakeT + " temp.main.mine", ""},
		{`SELECT "x y" FROM ingested`, "temp.main.ingested", ""}, {"SELECT ten(a) FROM t", lakeT, ""}, {"INSERT INTO mine SELECT a, b, 1 FROM t", lakeT, "temp.main.mine"},
		{"INSERT INTO t SELECT a, b FROM mine", "temp.main.mine", lakeT}, {"DELETE FROM mine", "temp.main.mine", "temp.main.mine"}, {"CREATE TABLE n AS SELECT * FROM mine", "temp.main.mine", ""},
	} {
		a := run(t, s, c.sql)
		if names(a.Reads) != c.reads || names(a.Writes) != c.writes || !a.TouchesTemp {
			t.Errorf("%s: reads %s, writes %s, temp %v", c.sql, names(a.Reads), names(a.Writes), a.TouchesTemp)
		}
	}
	if _, err := s.Analyze(ctx, "CREATE VIEW w AS FROM mine", Env{}); fault.CodeOf(err) != fault.TemporarySource {
		t.Error(err)
	}
	if _, err := s.Analyze(ctx, "COMMENT ON TABLE mine IS 'x'", Env{}); fault.CodeOf(err) != fault.StatementForbidden {
		t.Error(err)
	}
	// A temporary table hides the lake's, also from the cache of other sessions.
	other, err := g.NewSession()
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := other.Close(); err != nil {
			t.Error(err)
		}
	}()
	run(t, other, "SELECT count(*) FROM t")
	run(t, s, "CREATE TEMP TABLE t AS SELECT 1 AS other")
	if a := run(t, s, "SELECT count(*) FROM t"); names(a.Reads) != "temp.main.t" {
		t.Error(names(a.Reads))
	}
	if a := run(t, other, "SELECT count(*) FROM t"); names(a.Reads) != lakeT {
		t.Error(names(a.Reads))
	}
	if _, err := other.Analyze(ctx, "FROM mine", Env{}); fault.CodeOf(err) != fault.ObjectNotFound {
		t.Error(err)
	}
	if a := run(t, s, "DROP TABLE t"); len(a.Drops) != 1 || a.Drops[0].Catalog != tempCatalog || a.DDL {
		t.Errorf("%+v", a.Drops)
	}
	if a := run(t, s, "DROP TABLE t"); len(a.Drops) != 1 || a.Drops[0].Catalog != "lake" || a.Drops[0].ID == 0 || !a.DDL {
		t.Errorf("%+v", a.Drops)
	}
	for _, sql := range []string{"DROP VIEW seen", "DROP MACRO ten", "DROP TABLE mine", "DROP TABLE copied", "DROP TABLE ingested"} {
		run(t, s, sql)
	}
	if a := run(t, s, "FROM lake.main.t"); a.TouchesTemp || len(s.temp) != 0 {
		t.Error(a.TouchesTemp, s.temp)
	}
}

func TestWhatDDLIsAbout(t *testing.T) {
	_, s := newGate(t, newRealLake(t, sales...))
	ctx := context.Background()
	show := func(refs []ObjectRef) string {
		out := ""
		for _, r := range refs {
			out += fmt.Sprintf("%s %s.%s.%s", r.Type, r.Catalog, r.Schema, r.Name)
			for flag, on := range map[string]bool{" exists": r.Exists, " id": r.ID != 0} {
				if on && flag == " exists" {
					out += flag
				}
			}
			if r.ID != 0 {
				out += " id"
			}
			if r.IfExists {
				out += " if"
			}
			if r.Replace {
				out += " replace"
			}
			if r.Cascade {
				out += " cascade"
			}
			if r.Column != "" {
				out += " column " + r.Column
			}
			if r.Renamed != "" {
				out += " to " + r.Renamed
			}
		}
		return out
	}
	for _, c := range []struct{ schema, sql, creates, drops, alters, columns string }{
		{"main", "CREATE TABLE n(a HUGEINT, b STRUCT(x UHUGEINT, y INTEGER[]), c BIT)", "table lake.main.n", "", "",
			"[{a HUGEINT DECIMAL(38,0)} {b STRUCT(x UHUGEINT, y INTEGER[]) STRUCT(x DECIMAL(38,0), y INTEGER[])} {c BIT }]"},
		{"sales", "CREATE OR REPLACE TABLE orders(a INTEGER)", "table lake.sales.orders exists id replace", "", "", "[{a INTEGER INTEGER}]"},
		{"sales", "CREATE TABLE IF NOT EXISTS lake.n AS SELECT sum(id) AS s FROM orders", "table lake.sales.n if", "", "", "[{s HUGEINT DECIMAL(38,0)}]"},
		{"main", "CREATE TABLE sales.n(x, y) AS SELECT a, b FROM t", "table lake.sales.n", "", "", "[{x INTEGER INTEGER} {y VARCHAR VARCHAR}]"},
		{"main", "CREATE VIEW w AS FROM t", "view lake.main.w", "", "", "[]"},
		{"main", "CREATE SCHEMA IF NOT EXISTS Sales", "schema lake.sales. exists if", "", "", "[]"},
		{"main", "CREATE MACRO lake.sales.m(x) AS x", "macro lake.sales.m", "", "", "[]"},
		{"main", "CREATE MACRO m(x) AS TABLE SELECT x", "table macro lake.main.m", "", "", "[]"},
		{"sales", "DROP TABLE T", "", "table lake.main.t exists id", "", "[]"},
		{"main", "DROP TABLE IF EXISTS sales.ORDERS", "", "table lake.sales.orders exists id if", "", "[]"},
		{"main", "DROP SCHEMA sales CASCADE", "", "schema lake.sales. exists cascade", "", "[]"},
		{"main", "DROP VIEW v", "", "view lake.main.v exists", "", "[]"},
		{"main", "DROP MACRO plus", "", "macro lake.main.plus exists", "", "[]"},
		{"main", "ALTER TABLE t ADD COLUMN z UINTEGER", "", "", "table lake.main.t exists id", "[{z UINTEGER UINTEGER}]"},
		{"main", "ALTER TABLE t ALTER COLUMN a SET DATA TYPE HUGEINT", "", "", "table lake.main.t exists id", "[{a HUGEINT DECIMAL(38,0)}]"},
		{"main", "ALTER TABLE t RENAME TO u", "", "", "table lake.main.t exists id to u", "[]"},
		{"main", "ALTER TABLE t RENAME a TO z", "", "", "table lake.main.t exists id", "[]"},
		{"main", "COMMENT ON COLUMN sales.orders.id IS 'x'", "", "", "table lake.sales.orders exists id column id", "[]"},
		{"main", "COMMENT ON VIEW sales.big IS NULL", "", "", "view lake.sales.big exists", "[]"},
	} {
		a, err := s.Analyze(ctx, c.sql, Env{Catalog: "lake", Schema: c.schema})
		if err != nil {
			t.Errorf("%s: %v", c.sql, err)
			continue
		}
		if show(a.Creates) != c.creates || show(a.Drops) != c.drops || show(a.Alters) != c.alters || fmt.Sprint(a.Columns) != c.columns {
			t.Errorf("%s\n\tcreates %s\n\tdrops %s\n\talters %s\n\tcolumns %v", c.sql, show(a.Creates), show(a.Drops), show(a.Alters), a.Columns)
		}
		if !a.DDL || a.ReadOnly || a.Returns() {
			t.Errorf("%s: DDL %v, read only %v", c.sql, a.DDL, a.ReadOnly)
		}
	}
	a := run(t, s, "CREATE TABLE n AS SELECT a /* x */ FROM t WHERE b = $1 WITH NO DATA;")
	if a.Query != "SELECT a /* x */ FROM t WHERE b = $1" || !a.NoData || len(a.Params) != 1 {
		t.Errorf("%q %v %v", a.Query, a.NoData, a.Params)
	}
}

func TestEffects(t *testing.T) {
	_, s := newGate(t, newRealLake(t, sales...))
	for sql, want := range map[string]SessionEffect{
		"USE lake":                                {Kind: UseSchema, Catalog: "lake", Schema: "main"},
		"USE SALES":                               {Kind: UseSchema, Catalog: "lake", Schema: "sales"},
		"SET search_path = 'lake.sales'":          {Kind: UseSchema, Catalog: "lake", Schema: "sales"},
		"SET schema = main":                       {Kind: UseSchema, Catalog: "lake", Schema: "main"},
		"SET TimeZone = 'Europe/Paris'":           {Kind: SetOption, Option: "timezone", Value: "Europe/Paris"},
		"SET SESSION vega.accept_stale = true":    {Kind: SetOption, Option: "vega.accept_stale", Value: true},
		"SET vega.statement_timeout = 1_000":      {Kind: SetOption, Option: "vega.statement_timeout", Value: int64(1000)},
		"SET vega.isolation TO snapshot":          {Kind: SetOption, Option: "vega.isolation", Value: "snapshot"},
		"RESET TimeZone":                          {Kind: ResetOption, Option: "timezone"},
		"SET TIME ZONE LOCAL":                     {Kind: ResetOption, Option: "timezone"},
		"SET VARIABLE x = (SELECT max(a) FROM t)": {Kind: SetVariable},
	} {
		a := run(t, s, sql)
		if a.Effect == nil || !reflect.DeepEqual(*a.Effect, want) {
			t.Errorf("%s: %+v", sql, a.Effect)
		}
		if a.ReadOnly || a.DDL {
			t.Errorf("%s: read only %v, DDL %v", sql, a.ReadOnly, a.DDL)
		}
	}
}

func TestResults(t *testing.T) {
	_, s := newGate(t, newRealLake(t, sales...))
	for _, c := range []struct {
		sql, columns, params string
		returns, readOnly    bool
	}{
		{"SELECT a, sum(a) AS s FROM t WHERE b = $1 GROUP BY a", "[{a INTEGER INTEGER} {s HUGEINT DECIMAL(38,0)}]", "[{1 VARCHAR}]", true, true},
		{"INSERT INTO t VALUES (?, ?)", "[{Count BIGINT BIGINT}]", "[{1 INTEGER} {2 VARCHAR}]", false, false},
		{"DELETE FROM t RETURNING b", "[{b VARCHAR VARCHAR}]", "[]", true, false},
		{"EXPLAIN DELETE FROM t", "[{explain_key VARCHAR VARCHAR} {explain_value VARCHAR VARCHAR}]", "[]", true, true},
		{"EXPLAIN ANALYZE DELETE FROM t", "[{explain_key VARCHAR VARCHAR} {explain_value VARCHAR VARCHAR}]", "[]", true, false},
		{"SHOW TABLES", "[{name VARCHAR VARCHAR}]", "[]", true, true},
		{"SELECT snapshot_id FROM t", "[{snapshot_id BIGINT BIGINT}]", "[]", true, true},
	} {
		a := run(t, s, c.sql)
		if fmt.Sprint(a.Columns) != c.columns || fmt.Sprint(a.Params) != c.params || a.Returns() != c.returns || a.ReadOnly != c.readOnly {
			t.Errorf("%s: %v %v returns %v read only %v", c.sql, a.Columns, a.Params, a.Returns(), a.ReadOnly)
		}
	}
}

// The shadow follows the lake: what was, is no more.
func TestSyncFollows(t *testing.T) {
	lake := newRealLake(t, sales...)
	g, s := newGate(t, lake)
	ctx := context.Background()
	sync := func(sqls ...string) {
		t.Helper()
		for _, sql := range sqls {
			lake.must(sql)
		}
		if err := g.Sync(ctx, lake); err != nil {
			t.Fatal(err)
		}
	}
	ok := func(sql string) *Analysis {
		t.Helper()
		a, err := s.Analyze(ctx, sql, Env{})
		if err != nil {
			t.Errorf("%s: %v", sql, err)
			return &Analysis{}
		}
		return a
	}
	fails := func(sql string) {
		t.Helper()
		if _, err := s.Analyze(ctx, sql, Env{}); err == nil {
			t.Errorf("%s is admitted", sql)
		}
	}
	version := g.now().mirror.version
	first := ok("FROM t")
	sync()
	if g.now().mirror.version != version || ok("FROM t") != first {
		t.Error("nothing moved, but the cache is gone")
	}
	sync("ALTER TABLE lake.main.t ADD COLUMN c DOUBLE")
	if len(ok("FROM t").Columns) != 3 {
		t.Error("the new column is not seen")
	}
	ok("FROM v")
	sync("ALTER TABLE lake.main.t RENAME COLUMN a TO z")
	fails("SELECT a FROM t")
	fails("FROM v")
	sync("ALTER TABLE lake.main.t RENAME COLUMN z TO a")
	ok("FROM v")
	sync("ALTER TABLE lake.main.t RENAME TO Tee", "CREATE OR REPLACE VIEW lake.main.v AS SELECT 1 AS one")
	fails("FROM t")
	if ref := ok("FROM TEE").Reads[0]; ref.Name != "Tee" || ref.ID != first.Reads[0].ID || ref.UUID != first.Reads[0].UUID {
		t.Errorf("%+v", ref)
	}
	ok("SELECT one FROM v")
	sync("DROP MACRO lake.main.plus", "CREATE MACRO lake.main.plus(x) AS 'text'", "CREATE SCHEMA lake.extra", "CREATE TABLE lake.extra.e(a INTEGER)")
	if ok("SELECT plus(1)").Columns[0].Type != "VARCHAR" {
		t.Error("the new macro is not seen")
	}
	ok("FROM extra.e")
	ok("FROM lake.extra.table_changes('e', 0, 1)")
	sync("DROP TABLE lake.extra.e", "DROP SCHEMA lake.extra")
	fails("FROM extra.e")
	if _, err := s.Analyze(ctx, "FROM Tee", Env{Catalog: "lake", Schema: "extra"}); fault.CodeOf(err) != fault.ObjectNotFound {
		t.Error(err)
	}
	// A table that is made again is another one.
	was := ok("FROM sales.customer").Reads[0]
	sync("DROP TABLE lake.sales.customer", "CREATE TABLE lake.sales.customer(id INTEGER, name VARCHAR, region VARCHAR)")
	if now := ok("FROM sales.customer").Reads[0]; now.UUID == was.UUID {
		t.Error("the new table has the old one's identity")
	}
}

func TestManySessionsAtOnce(t *testing.T) {
	lake := newRealLake(t, sales...)
	g, _ := newGate(t, lake)
	ctx := context.Background()
	objects, err := lake.Objects(ctx, -1)
	if err != nil {
		t.Fatal(err)
	}
	moving := fixedLake{objects}
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			s, err := g.NewSession()
			if err != nil {
				t.Error(err)
				return
			}
			for j := range 25 {
				for _, sql := range []string{fmt.Sprintf("SELECT a + %d FROM t JOIN v USING (a)", j), "INSERT INTO t VALUES (1, 'x')", fmt.Sprintf("CREATE TABLE x%d(a INTEGER)", i), "CREATE TABLE same(a INTEGER)"} {
					if _, err := s.Analyze(ctx, sql, Env{}); err != nil {
						t.Errorf("%s: %v", sql, err)
					}
				}
				if _, err := s.Bind(ctx, fmt.Sprintf("SELECT plus(%d), a FROM v", j), Env{}); err != nil && fault.CodeOf(err) != fault.CommitConflict {
					t.Error(err)
				}
				if j%8 == i {
					if err := g.Sync(ctx, moving); err != nil {
						t.Error(err)
					}
				}
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

// fixedLake says each time that the schema moved.
type fixedLake struct{ o *Objects }

func (f fixedLake) Objects(_ context.Context, have int64) (*Objects, error) {
	o := *f.o
	o.SchemaVersion = have + 1
	return &o, nil
}

func TestLakeType(t *testing.T) {
	for sql, want := range map[string]string{
		"INTEGER": "INTEGER", "HUGEINT": "DECIMAL(38,0)", "UHUGEINT[]": "DECIMAL(38,0)[]", "DECIMAL(10,2)": "DECIMAL(10,2)", "DECIMAL(10,2)[][]": "DECIMAL(10,2)[][]",
		"TIMESTAMP WITH TIME ZONE": "TIMESTAMP WITH TIME ZONE", "STRUCT(a HUGEINT, \"b \"\"c\" MAP(VARCHAR, HUGEINT[]))": "STRUCT(a DECIMAL(38,0), \"b \"\"c\" MAP(VARCHAR, DECIMAL(38,0)[]))",
		"BIT": "", "INTEGER[3]": "INTEGER[]", "ENUM('a', 'b')": "VARCHAR", "UNION(a INTEGER)": "", "INTERVAL": "", "": "", "unknown": "", "STRUCT(a BIT)": "", "BIGNUM": "", "MAP(INTEGER, ENUM('x)'))": "MAP(INTEGER, VARCHAR)", "STRUCT(a INTEGER": "",
	} {
		if got := LakeType(sql); got != want {
			t.Errorf("%s: %q, want %q", sql, got, want)
		}
	}
}
