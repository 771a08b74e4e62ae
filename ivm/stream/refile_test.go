package stream_test

import (
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/vegadb/vega-flight/ducklake/laketest"
	"github.com/vegadb/vega-flight/ducklake/maintain"
	"github.com/vegadb/vega-flight/ducklake/metadata"
	"github.com/vegadb/vega-flight/ivm/stream"
)

// files are how many data files a view's table has.
func (l *lab) files(name string) (n int64) {
	l.t.Helper()
	l.must(l.lake.Store().View(l.ctx, func(tx metadata.Tx) error {
		rows, err := tx.Query(l.ctx, `SELECT count(*) FROM {M}ducklake_data_file WHERE table_id = $1 AND end_snapshot IS NULL`, l.views[name].Table.ID)
		if err == nil {
			n, _ = rows[0][0].(int64)
		}
		return err
	}))
	return n
}

// A view that is changed all the time has few files, however often; what subscribers are told of it stays exact.
func TestFilesStayFew(t *testing.T) {
	for _, kind := range []laketest.Kind{laketest.DuckDB, laketest.PostgreSQL} {
		t.Run(fmt.Sprint(kind), func(t *testing.T) {
			var given exact
			l := newLab(t, kind, given.on)
			l.publisher.InlineRows = 10 // what is more becomes a file
			l.exec("CREATE TABLE o (k BIGINT, v BIGINT)", "INSERT INTO o SELECT i, 0 FROM range(3000) r(i)")
			l.view("a", "SELECT k, sum(v) AS s FROM o GROUP BY k")
			l.view("b", "SELECT s, count(*) AS n FROM a GROUP BY s")
			l.check()
			epochs, most := 400, int64(0)
			if testing.Short() {
				epochs = 150
			}
			for i := range epochs {
				l.exec(fmt.Sprintf("UPDATE o SET v = v + 1 WHERE k < 30 OR k = %d", 30+i)) // one row of each file lives on
				l.settle()
				if i%25 == 24 {
					_, err := maintain.New(maintain.Config{
						Store: l.lake.Store(), Lock: l.lake.CommitLock(), Lake: l.lake.Name(), Publisher: l.publisher, Owner: l.owner, Log: slog.New(slog.DiscardHandler),
						Servers: &maintain.Servers{Store: l.lake.Store(), Lease: time.Hour}, Acquire: l.acquire, FlushRows: 100, MergeFiles: 8,
					}).RunOnce(l.ctx)
					l.must(err)
					most = max(most, l.files("a"))
				}
			}
			l.check()
			t.Logf("%d epochs: at most %d files, %d now", epochs, most, l.files("a"))
			if most > 100 { // those since the last look, and those that a look leaves
				t.Errorf("%d epochs have left %d files", epochs, most)
			}
			l.stop()
			l.start()
			l.exec("DELETE FROM o WHERE k % 2 = 0")
			l.check()
			l.must(given.check())
			if st := l.await("a", stream.Running); st.Figures.Healed.Load() > 0 {
				t.Error("files of its own were taken for somebody else's")
			}
		})
	}
}
