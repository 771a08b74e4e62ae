package ducklake_test

import (
	"os"
	"strings"
	"testing"

	"github.com/vegadb/vega-flight/ducklake"
	"github.com/vegadb/vega-flight/ducklake/laketest"
	"github.com/vegadb/vega-flight/fault"
)

// A closed lake's instance is gone, also after a COMMIT that failed: the next instance of this process has the catalog
// file for itself.
func TestCloseAfterAConflict(t *testing.T) {
	if _, err := os.ReadDir("/proc/self/fd"); err != nil {
		t.Skip("the system does not tell which files are open")
	}
	laketest.Each(t, func(t *testing.T, k laketest.Kind) {
		p := laketest.NewPlace(t, k)
		l := must(ducklake.Open(ctx, p.Config))
		conflict(t, l)
		must(0, l.Close())
		if open := openFiles(t, p.Config.Catalog); k == laketest.DuckDB && len(open) > 0 {
			t.Errorf("the closed lake has %v open", open)
		}
		l = must(ducklake.Open(ctx, p.Config))
		s := must(l.NewSession(ctx, ducklake.SessionConfig{}))
		client{s, t}.want(`SELECT s FROM t`, "a")
		must(0, s.Close())
		must(0, l.Close())
	})
}

// conflict makes a COMMIT fail.
func conflict(t *testing.T, l *ducklake.Lake) {
	t.Helper()
	first, second := client{must(l.NewSession(ctx, ducklake.SessionConfig{})), t}, client{must(l.NewSession(ctx, ducklake.SessionConfig{})), t}
	first.exec(`CREATE TABLE t (i BIGINT, s VARCHAR)`)
	first.exec(`INSERT INTO t VALUES (1, 'x')`)
	tx := [2]string{must(first.Begin(ctx)), must(second.Begin(ctx))}
	first.exec(`UPDATE t SET s = 'a'`)
	second.exec(`UPDATE t SET s = 'b'`)
	must(0, first.Commit(ctx, tx[0]))
	fails(t, second.Commit(ctx, tx[1]), fault.CommitConflict)
	must(0, first.Close())
	must(0, second.Close())
}

// openFiles are the files that this process has open and whose path contains part.
func openFiles(t *testing.T, part string) (found []string) {
	t.Helper()
	for _, e := range must(os.ReadDir("/proc/self/fd")) {
		if to, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil && strings.Contains(to, part) {
			found = append(found, to)
		}
	}
	return found
}
