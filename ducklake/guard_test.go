package ducklake_test

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/vegadb/vega-flight/ducklake"
	"github.com/vegadb/vega-flight/ducklake/laketest"
	"github.com/vegadb/vega-flight/fault"
)

// Whatever a session makes, statements of others mean what they meant.
func TestTemporaryObjectsStayInTheirSession(t *testing.T) {
	l := laketest.New(t, laketest.DuckDB)
	eve, ann := connect(t, l), connect(t, l)
	ann.exec(`CREATE TABLE t (a INTEGER)`)
	ann.exec(`INSERT INTO t VALUES (1)`)
	for _, sql := range []string{
		`CREATE TEMP VIEW main.t AS SELECT 666 AS a`, `CREATE TEMP MACRO main.abs(x) AS 666`, `CREATE TEMP MACRO upper(x) AS 'eve'`,
		`CREATE TEMP MACRO "+"(a, b) AS 666`, `CREATE TEMP TABLE main.mine AS SELECT 1 AS a`,
	} {
		eve.exec(sql)
	}
	for _, sql := range []string{`CREATE MACRO abs(x) AS 666`, `CREATE MACRO "+"(a, b) AS 666`} {
		if _, err := eve.try(sql); fault.CodeOf(err) != fault.ReservedName {
			t.Errorf("%s: %v", sql, err)
		}
	}
	eve.want(`SELECT a, abs(-1), upper('x'), 1 + 1 FROM t`, "666|666|eve|666")
	for range 5 {
		ann.want(`SELECT a, abs(-1), upper('x'), 1 + 1 FROM t`, "1|1|X|2")
		ann.want(`SELECT view_name FROM duckdb_views() WHERE NOT internal UNION ALL SELECT table_name FROM duckdb_tables()`, "t")
	}
}

func TestNamesThatUsersCannotGive(t *testing.T) {
	l := laketest.New(t, laketest.DuckDB)
	c := connect(t, l)
	c.exec(`CREATE TABLE t (a INTEGER)`)
	for _, sql := range []string{
		`CREATE TABLE __vega_build_x (a INTEGER)`, `CREATE TABLE "__VEGA_build_x" AS SELECT 1 AS a`, `CREATE VIEW __vega_build_v AS SELECT 1 AS a`,
		`ALTER TABLE t RENAME TO __vega_build_t`, `CREATE TABLE "x.parquet" (a INTEGER)`,
	} {
		if _, err := c.try(sql); fault.CodeOf(err) != fault.ReservedName {
			t.Errorf("%s: %v", sql, err)
		}
	}
	schema := arrow.NewSchema([]arrow.Field{{Name: "a", Type: arrow.PrimitiveTypes.Int64, Nullable: true}}, nil)
	for _, spec := range []ducklake.IngestSpec{{Table: "/data/x.parquet", Temporary: true}, {Table: "x.parquet"}, {Table: "dir/x"}, {Table: "__vega_build_y"}} {
		b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
		b.Field(0).(*array.Int64Builder).Append(1)
		r := must(array.NewRecordReader(schema, []arrow.RecordBatch{b.NewRecordBatch()}))
		_, err := c.Ingest(ctx, spec, r)
		fails(t, err, fault.ReservedName)
	}
	c.want(`SELECT table_name FROM duckdb_tables()`, "t")
}

// A text that a user chose must not look like the end of the instance.
func TestTextsDoNotEndTheServer(t *testing.T) {
	l := laketest.New(t, laketest.DuckDB)
	c := connect(t, l)
	for _, sql := range []string{`SELECT error('database has been invalidated')`, `SELECT CAST('FATAL Error: database has been invalidated' AS INTEGER)`} {
		st, err := c.Query(ctx, must(c.Analyze(ctx, sql)))
		if err == nil {
			_, err = read(st)
		}
		if err == nil {
			t.Errorf("%s: no error", sql)
		}
	}
	select {
	case <-l.Fatal():
		t.Error("the server would end")
	default:
	}
}

// EXPLAIN ANALYZE of a change is a change.
func TestExplainAnalyzeOfAChange(t *testing.T) {
	laketest.Each(t, func(t *testing.T, k laketest.Kind) {
		l := laketest.New(t, k)
		a, b := connect(t, l), connect(t, l)
		a.exec(`CREATE TABLE t (i INTEGER)`)
		locked := 0
		count := func() { l.OnCommit(func() { locked++ }) }
		count()
		a.rows(`EXPLAIN ANALYZE INSERT INTO t VALUES (1)`)
		b.want(`FROM t`, "1")
		id := a.begin()
		a.rows(`EXPLAIN (ANALYZE) INSERT INTO t VALUES (2)`)
		if _, wrote := a.InTransaction(); !wrote {
			t.Error("the transaction does not know that it has written")
		}
		a.want(`FROM t ORDER BY i`, "1", "2")
		b.want(`FROM t`, "1")
		_, err := a.try(`CREATE TABLE other (i INTEGER)`)
		fails(t, err, fault.DDLInTransaction)
		a.commit(id)
		b.want(`FROM t ORDER BY i`, "1", "2")
		if locked != 2 {
			t.Errorf("%d of 2 commits took the commit lock", locked)
		}
		if _, err := a.Query(ctx, must(a.Analyze(ctx, `EXPLAIN ANALYZE INSERT INTO t SELECT error('no')::INTEGER`))); err == nil {
			t.Error("a failing statement is explained")
		}
		b.want(`FROM t ORDER BY i`, "1", "2")
		a.exec(`INSERT INTO t VALUES (3)`)
	})
}

// What a transaction may still read stays pinned while it is open, also when its COMMIT cannot begin.
func TestAFailedCommitKeepsItsPin(t *testing.T) {
	var pins atomic.Int64
	l := laketest.New(t, laketest.DuckDB, func(c *ducklake.Config) {
		c.SpoolQuota = 1000
		c.Pin = func() func() { pins.Add(1); return func() { pins.Add(-1) } }
	})
	c := connect(t, l)
	c.exec(`CREATE TABLE t (i BIGINT)`)
	id := c.begin()
	c.exec(`INSERT INTO t VALUES (1)`)
	st := c.open(`SELECT i FROM t, range(1000000)`)
	firstRows(t, st)
	fails(t, c.Commit(ctx, id), fault.QuotaExceeded)
	if n := pins.Load(); n != 2 {
		t.Errorf("%d pins, want the open result's and the transaction's", n)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	c.commit(id)
	if n := pins.Load(); n != 0 {
		t.Errorf("%d pins are left", n)
	}
	c.want(`FROM t`, "1")
}

// The columns of the past are not those of today.
func TestCreateTableAsOfThePast(t *testing.T) {
	l := laketest.New(t, laketest.DuckDB)
	c := connect(t, l)
	c.exec(`CREATE TABLE t (a INTEGER, b INTEGER)`)
	c.exec(`INSERT INTO t VALUES (1, 2)`)
	then := must(l.Snapshot(ctx)).ID
	c.exec(`ALTER TABLE t ADD COLUMN c INTEGER`)
	c.exec(`ALTER TABLE t RENAME COLUMN b TO z`)
	c.exec(`ALTER TABLE t ALTER a TYPE BIGINT`)
	past := fmt.Sprintf(`FROM t AT (VERSION => %d)`, then)
	c.exec(`CREATE TABLE old AS ` + past)
	c.want(`FROM old`, "1|2")
	if got := c.rows(`SELECT column_name || ' ' || data_type FROM duckdb_columns() WHERE table_name = 'old' ORDER BY column_index`); !slices.Equal(got, []string{"a INTEGER", "b INTEGER"}) {
		t.Error(strings.Join(got, ", "))
	}
}
