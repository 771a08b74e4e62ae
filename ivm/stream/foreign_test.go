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
