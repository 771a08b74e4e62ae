package stream_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/vegadb/vega-flight/ducklake/laketest"
	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/ivm/stream"
)

// failures are views of the tables n and m that one row fails: what puts it in, what takes it out, and what the reason says of it.
var failures = []struct{ name, query, in, out, says string }{
	{"casts", "SELECT id, t::INTEGER AS i FROM n", "INSERT INTO n VALUES (100, 'bad word', 1, 1)", "DELETE FROM n WHERE id = 100", "bad word"},
	{"overflows", "SELECT k, (sum(big::HUGEINT * 10000000000000000000) // 10000000000000000000)::BIGINT AS s FROM n GROUP BY k",
		"INSERT INTO n VALUES (101, '1', 2, 9000000000000000000), (102, '1', 2, 9000000000000000000)", "UPDATE n SET big = 1 WHERE id = 101", "(2)"},
	{"joined", "SELECT n.id, m.name FROM n JOIN m ON n.k = m.k AND m.code::INTEGER >= n.k", "INSERT INTO m VALUES (1, 'bad', 'bad code')",
		"UPDATE m SET code = '7' WHERE name = 'bad'", "bad code"},
	{"scalars", "SELECT id, (SELECT name FROM m WHERE m.k = n.k) AS name FROM n WHERE k = 3", "INSERT INTO m VALUES (3, 'second', '9')",
		"DELETE FROM m WHERE name = 'second'", "| 3)"},
}

// A row that cannot be computed stops the view, which says which one it is and shows what it had. Without the row it is right again when it
// is restarted: whether a row of its own fails, a group, a condition of a join or a subquery.
func TestErrorsHeal(t *testing.T) {
	laketest.Each(t, func(t *testing.T, kind laketest.Kind) {
		l := newLab(t, kind)
		l.exec("CREATE TABLE n (id BIGINT, t VARCHAR, k INTEGER, big BIGINT)", "INSERT INTO n SELECT i, i, i % 5, i * 1000 FROM range(20) r(i)",
			"CREATE TABLE m (k INTEGER, name VARCHAR, code VARCHAR)", "INSERT INTO m SELECT i, 'm' || i, i FROM range(5) r(i)")
		for _, f := range failures {
			l.view(f.name, f.query)
		}
		l.check()
		for _, f := range failures {
			had := l.rowsOf("SELECT * FROM " + f.name + " ORDER BY ALL")
			l.exec(f.in)
			st := l.await(f.name, stream.Failed)
			if st.Reason.Code != fault.RowFailed.Name() || !strings.Contains(st.Reason.Message, f.says) || !strings.Contains(st.Reason.Hint, "RESTART") {
				t.Errorf("%s: the reason is %+v", f.name, st.Reason)
			}
			// The row is still there: a restart says so again, and changes nothing.
			l.restart(f.name)
			l.await(f.name, stream.Failed)
			if has := l.rowsOf("SELECT * FROM " + f.name + " ORDER BY ALL"); !equalRows(had, has) {
				t.Errorf("%s showed %v and shows %v", f.name, had, has)
			}
			l.exec(f.out, "INSERT INTO n VALUES (200, '200', 3, 1)")
			l.restart(f.name)
			l.check()
		}
	})
}

func equalRows(a, b [][]any) bool { return fmt.Sprint(a) == fmt.Sprint(b) }
