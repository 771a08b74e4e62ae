package stream_test

import (
	"testing"

	"github.com/vegadb/vega-flight/ducklake/laketest"
)

// Another program writes inlined rows in a schema version in which the table did not change.
func TestAnotherProgramWrites(t *testing.T) {
	f := newFate()
	l := newLab(t, laketest.PostgreSQL, f.on)
	f.join(l)
	l.exec("CREATE TABLE o (id BIGINT, v BIGINT)")
	l.view("a", "SELECT v, count(*) AS n FROM o GROUP BY v")
	l.check()
	l.exec("CREATE TABLE other (id BIGINT)", "INSERT INTO o VALUES (1, 1)")
	l.check()
	for _, sql := range []string{"INSERT INTO o VALUES (2, 2)", "UPDATE o SET v = 1 WHERE id = 2", "DELETE FROM o WHERE id = 1"} {
		if _, err := f.foreign.Exec(l.ctx, sql); err != nil {
			t.Fatal(err)
		}
		l.check()
	}
}

// Columns of nested types are followed, with whatever names their fields have.
func TestNestedColumns(t *testing.T) {
	l := newLab(t, laketest.DuckDB)
	l.exec(`CREATE TABLE o (id BIGINT, s STRUCT(a INTEGER, "B b" VARCHAR, "select" DATE), l STRUCT(x DECIMAL(9,2))[], m MAP(VARCHAR, INTEGER[]))`)
	l.view("a", `SELECT id, s, s.a AS a, s."B b" AS b, l, m FROM o`)
	l.view("b", `SELECT s, count(*) AS n FROM a GROUP BY s`)
	l.check()
	l.exec("INSERT INTO o VALUES (1, {'a': 1, 'B b': 'x', 'select': DATE '2024-01-01'}, [{'x': 1.5}, NULL], MAP {'k': [1, NULL]}), (2, NULL, NULL, NULL)")
	l.check()
	l.exec("UPDATE o SET id = 3 WHERE id = 1", "DELETE FROM o WHERE id = 2")
	l.check()
}
