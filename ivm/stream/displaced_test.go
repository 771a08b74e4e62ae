package stream_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/vegadb/vega-flight/ducklake/laketest"
	"github.com/vegadb/vega-flight/ivm/ddl"
	"github.com/vegadb/vega-flight/ivm/stream"
)

// The state of views is removed while they run, idle and busy: they say so, compute it again, and write it where it belongs.
func TestStateIsRemovedWhileItIsUsed(t *testing.T) {
	l := newLab(t, laketest.DuckDB)
	l.options = ddl.Options{{Name: "checkpoint_interval", Value: ddl.Value{Kind: ddl.Duration, Duration: 100 * time.Millisecond}}}
	l.exec("CREATE TABLE o (id BIGINT, v BIGINT)", "INSERT INTO o SELECT i, i % 100 FROM range(10000) r(i)")
	l.view("a", "SELECT v, count(*) AS n FROM o GROUP BY v")
	l.check()
	folder := filepath.Join(l.dir, l.views["a"].UUID)
	gone := map[string]func(){
		"all of it": func() { l.must(os.RemoveAll(l.dir)) },
		"a view's":  func() { l.must(os.RemoveAll(folder)) },
		"its files": func() {
			files, err := filepath.Glob(filepath.Join(folder, "*", "*"))
			l.must(err)
			if len(files) == 0 {
				t.Error("there are none")
			}
			for _, f := range files {
				l.must(os.RemoveAll(f))
			}
		},
		"another one's in its place": func() {
			l.must(os.Rename(folder, folder+".away"))
			l.must(os.CopyFS(folder, os.DirFS(folder+".away")))
			l.must(os.RemoveAll(folder + ".away"))
		},
	}
	for what, remove := range gone {
		t.Run(what, func(t *testing.T) {
			before := l.await("a", stream.Running).Figures
			l.anew("a", func() {
				remove()
				l.exec("INSERT INTO o VALUES (-1, 5), (-2, 700)", "DELETE FROM o WHERE id = 7")
			})
			l.check()
			if now := l.await("a", stream.Running).Figures; now == before {
				t.Error("the view was not made again")
			}
			if _, err := os.Stat(filepath.Join(folder, "1", "LOCK")); err != nil {
				t.Error(err)
			}
		})
	}
	l.anew("a", func() { l.must(os.RemoveAll(folder)) }) // nothing changes
	l.stop()
	l.start()
	l.exec("INSERT INTO o VALUES (-3, 6)")
	l.check()
}
