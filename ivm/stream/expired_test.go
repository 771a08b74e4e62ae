package stream_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/vegadb/vega-flight/ducklake/laketest"
)

// expire has another program forget all snapshots but the newest, whatever this server holds.
func (l *lab) expire() {
	l.t.Helper()
	var ids []string
	for _, r := range l.rowsOf(fmt.Sprintf("SELECT snapshot_id FROM ducklake_snapshots('lake') WHERE snapshot_id < %d", l.head())) {
		ids = append(ids, fmt.Sprint(r[0]))
	}
	if len(ids) > 0 {
		l.must(l.raw("CALL ducklake_expire_snapshots('lake', versions => [" + strings.Join(ids, ", ") + "])"))
	}
}

// Another program that knows of no holds forgets the history that views need: they are computed anew, and go on over no gap.
func TestSomebodyForgetsTheHistory(t *testing.T) {
	laketest.Each(t, func(t *testing.T, kind laketest.Kind) {
		l := newLab(t, kind)
		l.exec("CREATE TABLE o (id BIGINT, v BIGINT)", "INSERT INTO o SELECT i, i % 4 FROM range(40) r(i)", "CREATE TABLE c (v BIGINT, name VARCHAR)",
			"INSERT INTO c SELECT i, 'c' || i FROM range(3) r(i)",
			"CREATE TABLE other (i BIGINT)")
		l.view("sums", "SELECT v, count(*) AS n, sum(id) AS s FROM o GROUP BY v")
		l.view("named", "SELECT s.n, c.name FROM sums s LEFT JOIN c USING (v)")
		l.view("top", "SELECT id FROM o ORDER BY v DESC, id LIMIT 5")
		l.check()
		for i := range 3 {
			l.stop()
			l.exec(fmt.Sprintf("DELETE FROM o WHERE id %% 7 = %d", i), fmt.Sprintf("INSERT INTO o SELECT i, i %% 5 FROM range(%d, %d) r(i)", 100*i+100, 100*i+120),
				fmt.Sprintf("UPDATE c SET name = name || '%d'", i), "INSERT INTO o VALUES (-1, 0)")
			if i == 1 {
				l.back("") // nor does it have its state
			}
			l.expire()
			l.start()
			l.check()
			l.exec("UPDATE o SET v = v + 1 WHERE id % 3 = 0")
			l.check()
		}
		// A view over one that has nothing new since its publication was forgotten.
		l.exec("INSERT INTO other VALUES (1)")
		l.expire()
		l.view("over", "SELECT count(*) AS n FROM sums")
		l.check()
		// And while all run.
		for i := range 3 {
			l.exec(fmt.Sprintf("INSERT INTO o VALUES (%d, 1)", 1000+i), "DELETE FROM c WHERE v = 2")
			l.expire()
			l.check()
		}
	})
}
