package stream_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/vegadb/vega-flight/ducklake/laketest"
)

// Views go on from older checkpoints, over what was published since, or without any.
func TestRecovery(t *testing.T) {
	l := newLab(t, laketest.DuckDB)
	l.exec("CREATE TABLE o (id BIGINT, k BIGINT, v DOUBLE)", "CREATE TABLE c (k BIGINT, name VARCHAR)", "INSERT INTO c SELECT i, 'c' || i FROM range(4) r(i)")
	l.view("sums", "SELECT k, count(*) AS n, min(v) AS least FROM o GROUP BY k")
	l.view("joined", "SELECT o.id, c.name FROM o LEFT JOIN c USING (k)")
	l.view("named", "SELECT name, count(*) AS n FROM joined GROUP BY name")
	l.view("top", "SELECT id, v FROM o ORDER BY v DESC, id LIMIT 5")
	r := rand.New(rand.NewPCG(1, 2))
	id := 0
	write := func() {
		switch r.IntN(5) {
		case 0:
			l.exec(fmt.Sprintf("DELETE FROM o WHERE id %% 7 = %d", r.IntN(7)))
		case 1:
			l.exec(fmt.Sprintf("UPDATE o SET k = %d WHERE id %% 5 = %d", r.IntN(6), r.IntN(5)))
		case 2:
			l.exec(fmt.Sprintf("UPDATE c SET name = name || 'x' WHERE k = %d", r.IntN(4)))
		default:
			l.exec(fmt.Sprintf("INSERT INTO o SELECT i, i %% 6, (i * 37 %% 101)::DOUBLE FROM range(%d, %d) r(i)", id, id+20))
			id += 20
		}
	}
	var kept []string
	for range 8 {
		for range 1 + r.IntN(3) {
			write()
		}
		if r.IntN(2) == 0 {
			l.check()
		}
		l.stop()
		kept = append(kept, l.keep())
		switch r.IntN(4) {
		case 0:
			l.back("")
		case 1, 2:
			l.back(kept[r.IntN(len(kept))])
		}
		if r.IntN(2) == 0 {
			write()
		}
		l.start()
		l.check()
	}
}
