package streamcrash

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/vegadb/vega-flight/integration/process"
)

// The folder of the lake's files is moved away under a running server, and comes back: who needs the files is told so, a view that cannot be
// computed says why, and all goes on by itself.
func TestTheFilesOfTheLakeAreAway(t *testing.T) {
	h := newHouse(t)
	const names = "SELECT t.k, n.name FROM t JOIN n USING (k)"
	h.do("CREATE TABLE t (k INTEGER, v INTEGER)", "INSERT INTO t SELECT i % 10, i FROM range(20000) t(i)", "CREATE TABLE n (k INTEGER, name VARCHAR)",
		"CREATE STREAMING MATERIALIZED VIEW v WITH (wait_for_ready = true) AS "+perKey, "CREATE STREAMING MATERIALIZED VIEW names WITH (wait_for_ready = true) AS "+names,
		"INSERT INTO n SELECT i, 'n' || i FROM range(5) t(i)")
	queries := map[string]string{"v": perKey, "names": names}
	h.right(queries)
	data := filepath.Join(h.lake, "data")
	away := func() {
		t.Helper()
		if err := os.Rename(data, data+" elsewhere"); err != nil {
			t.Fatal(err)
		}
	}
	back := func() {
		t.Helper()
		process.Until(t, "the files are back", func() bool { // something may have begun to write there
			return os.RemoveAll(data) == nil && os.Rename(data+" elsewhere", data) == nil
		}, func() any { return data })
	}
	generation := func() string {
		return h.c.Value(t, "SELECT generation FROM vega.streaming_views WHERE view_name = 'v'")
	}
	away()
	for _, sql := range []string{"SELECT sum(v) FROM t", "DELETE FROM t WHERE v = 7"} {
		_, err := h.c.Query(t.Context(), sql)
		process.Refused(t, err, "LAKE_UNREADABLE")
	}
	h.do(alter + "v REBUILD")
	var s status
	process.Until(t, "the view says why it is not rebuilt", func() bool { s = statuses(t, h.c)["v"]; return s.reason != "" }, func() any { return s })
	if now := generation(); now != "1" {
		t.Errorf("generation %s is published without its sources", now)
	}
	// Neither does a view begin that is made now, nor a server that starts now serve.
	if _, err := h.c.Query(t.Context(), "CREATE STREAMING MATERIALIZED VIEW late AS SELECT max(v) AS v FROM t"); err == nil {
		process.Until(t, "the new view says why it does not begin", func() bool { s = statuses(t, h.c)["late"]; return s.reason != "" }, func() any { return s })
		queries["late"] = "SELECT max(v) AS v FROM t"
	}
	back()
	h.do("INSERT INTO t VALUES (3, 3)", "DELETE FROM t WHERE v = 7")
	h.right(queries)
	process.Until(t, "the next generation is there", func() bool { return generation() == "2" }, func() any { return statuses(t, h.c) })
	h.do("DELETE FROM n WHERE k = 1")
	h.right(queries)
	h.clean()
}
