package streamcrash

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/vegadb/vega-flight/integration/process"
)

// house is an embedded lake and the server on it.
type house struct {
	t     *testing.T
	lake  string
	state string
	s     *process.Server
	c     *process.Client
}

func newHouse(t *testing.T, more ...string) *house {
	t.Helper()
	lake := filepath.Join(t.TempDir(), "lake")
	h := &house{t: t, lake: lake, state: filepath.Join(lake, "catalog.ducklake.state")}
	h.start(nil, more...)
	return h
}

func (h *house) start(wrap []string, more ...string) {
	h.t.Helper()
	h.s = process.Start(h.t, process.Options{Lake: h.lake, Wrap: wrap, Args: append([]string{"--shutdown-grace", "1s"}, more...)})
	h.c = h.s.Connect(h.t)
}

func (h *house) do(statements ...string) {
	h.t.Helper()
	for _, sql := range statements {
		h.c.Must(h.t, sql)
	}
}

// reaches waits until a view is in a state.
func (h *house) reaches(name, state string) (s status) {
	h.t.Helper()
	process.Until(h.t, name+" is "+state, func() bool { s = statuses(h.t, h.c)[name]; return s.state == state }, func() any { return s })
	return s
}

// right compares views with their queries, when they are fresh.
func (h *house) right(queries map[string]string) {
	h.t.Helper()
	names := make([]string, 0, len(queries))
	for name := range queries {
		names = append(names, name)
	}
	fresh(h.t, h.c, names...)
	for name, query := range queries {
		if n := h.c.Value(h.t, fmt.Sprintf("SELECT count(*) FROM ((FROM %s EXCEPT ALL (%s)) UNION ALL ((%s) EXCEPT ALL FROM %s))", name, query, query, name)); n != "0" {
			h.t.Errorf("view %s differs from its query in %s rows", name, n)
		}
	}
}

// clean checks the lake, and that nothing is kept of views that are gone.
func (h *house) clean() {
	h.t.Helper()
	if out, err := process.Run(h.t, "check", h.s.Flight); err != nil {
		h.t.Errorf("check: %v\n%s", err, out)
	}
	var left []string
	process.Until(h.t, "the state of views that are gone is gone", func() bool {
		left = nil
		alive := map[string]bool{}
		for _, row := range h.c.Must(h.t, "SELECT view_uuid FROM vega.streaming_views") {
			alive[row[0]] = true
		}
		entries, err := os.ReadDir(h.state)
		if err != nil && !os.IsNotExist(err) {
			h.t.Fatal(err)
		}
		for _, e := range entries {
			if !alive[e.Name()] {
				left = append(left, e.Name())
			}
		}
		return len(left) == 0
	}, func() any { return left })
}

const (
	wide  = "CREATE TABLE wide AS SELECT i % 200000 AS k, i AS v FROM range(1500000) t(i)"
	ofAll = "SELECT k, count(*) AS n, sum(v)::BIGINT AS s, min(v) AS low, max(v) AS high FROM wide GROUP BY k" // takes a while to compute
)

func TestDroppedInEveryState(t *testing.T) {
	h := newHouse(t)
	h.do(wide, "CREATE TABLE t (k INTEGER, v VARCHAR)", "INSERT INTO t VALUES (1, '1'), (2, '2')", "CREATE TABLE gone (k INTEGER)")
	const good = "SELECT k, count(*) AS n FROM t GROUP BY k"
	again := func(state string, statements ...string) {
		t.Helper()
		if statements == nil {
			statements = []string{"DROP STREAMING MATERIALIZED VIEW v CASCADE"}
		}
		h.do(statements...)
		// The name is free, and what was there does not come back.
		h.do("CREATE STREAMING MATERIALIZED VIEW v WITH (wait_for_ready = true) AS " + good)
		h.right(map[string]string{"v": good})
		h.do("DROP STREAMING MATERIALIZED VIEW v")
		if n := h.c.Value(t, "SELECT count(*) FROM vega.streaming_views"); n != "0" {
			t.Errorf("%s: %s views are left", state, n)
		}
		if t.Failed() {
			t.Fatalf("after a drop of a view that was %s", state)
		}
	}
	create := func(query string) string { return "CREATE STREAMING MATERIALIZED VIEW v AS " + query }

	h.do(create(ofAll))
	again("STARTING")

	h.do(create(ofAll))
	h.reaches("v", "BACKFILLING")
	again("BACKFILLING")

	h.do(create(good), "INSERT INTO t SELECT i, i FROM range(1000) t(i)")
	again("RUNNING, with changes on their way")

	h.do(create(good), "CREATE STREAMING MATERIALIZED VIEW d AS SELECT n, count(*) AS groups FROM v GROUP BY n", "ALTER STREAMING MATERIALIZED VIEW d REBUILD")
	again("read by another one that is rebuilt")

	h.do(create(ofAll))
	h.reaches("v", "RUNNING")
	h.do(alter+"v REBUILD", "DROP STREAMING MATERIALIZED VIEW v")
	h.do(create(ofAll))
	h.reaches("v", "RUNNING")
	h.do(alter + "v SET (parallelism = 3)")
	again("being rescaled")

	h.do(create(good))
	h.reaches("v", "RUNNING")
	h.do(alter + "v PAUSE")
	h.reaches("v", "PAUSED")
	again("PAUSED")

	h.do("INSERT INTO t VALUES (3, 'x')", create("SELECT k, v::INTEGER AS v FROM t"))
	if s := h.reaches("v", "FAILED"); !strings.Contains(s.reason, "ROW_FAILED") {
		t.Errorf("%+v", s)
	}
	again("FAILED")

	h.do(create("SELECT k, count(*) AS n FROM gone GROUP BY k"))
	h.reaches("v", "RUNNING")
	h.do(alter+"v PAUSE", "DROP STREAMING MATERIALIZED VIEW v", create("SELECT k, count(*) AS n FROM gone GROUP BY k"))
	h.reaches("v", "RUNNING")
	again("made again under its name")

	// While no server was there to drop anything, and while it comes back.
	h.do(create(ofAll))
	h.reaches("v", "RUNNING")
	h.s.Kill()
	h.start(nil)
	again("RECOVERING")
	h.clean()
}

func TestASchemaDroppedUnderItsViews(t *testing.T) {
	h := newHouse(t)
	h.do("CREATE SCHEMA s", "CREATE SCHEMA other", "CREATE TABLE s.t (k INTEGER, v INTEGER)", "CREATE TABLE t (k INTEGER, v INTEGER)",
		"INSERT INTO s.t SELECT i % 10, i FROM range(1000) t(i)", "INSERT INTO t SELECT i % 10, i FROM range(1000) t(i)",
		"CREATE STREAMING MATERIALIZED VIEW s.a AS SELECT k, count(*) AS n FROM s.t GROUP BY k",
		"CREATE STREAMING MATERIALIZED VIEW s.b AS SELECT n, count(*) AS m FROM s.a GROUP BY n",
		"CREATE STREAMING MATERIALIZED VIEW s.paused AS SELECT k, v FROM t", "CREATE MATERIALIZED VIEW s.old AS SELECT k, v FROM t")
	fresh(t, h.c)
	h.do(alter + "s.paused PAUSE")
	drop := func() error { _, err := h.c.Query(t.Context(), "DROP SCHEMA s CASCADE"); return err }
	// Views of other schemas would go too, and that is not what it says.
	h.do("CREATE STREAMING MATERIALIZED VIEW other.c AS SELECT x.n, t.v FROM s.a x JOIN main.t t ON t.k = x.k")
	process.Refused(t, drop(), "DEPENDENT_VIEWS_EXIST")
	h.do("INSERT INTO s.t VALUES (100, 1)", "DROP STREAMING MATERIALIZED VIEW other.c")
	if err := drop(); err != nil {
		t.Fatal(err)
	}
	if rows := h.c.Must(t, "SELECT schema_name, view_name, state FROM vega.streaming_views WHERE schema_name <> 'main'"); len(rows) != 0 {
		t.Errorf("left: %v", rows)
	}
	h.do("CREATE SCHEMA s", "CREATE TABLE s.t (k INTEGER, v INTEGER)", "INSERT INTO s.t VALUES (1, 2)",
		"CREATE STREAMING MATERIALIZED VIEW s.a WITH (wait_for_ready = true) AS SELECT k, count(*) AS n FROM s.t GROUP BY k")
	if rows := h.c.Must(t, "SELECT schema_name, view_name, state FROM vega.streaming_views WHERE schema_name <> 'main'"); len(rows) != 1 {
		t.Errorf("there are: %v", rows)
	}
	if rows := h.c.Must(t, "SHOW MATERIALIZED VIEWS IN s"); len(rows) != 0 {
		t.Errorf("there are: %v", rows)
	}
	h.right(map[string]string{"s.a": "SELECT k, count(*) AS n FROM s.t GROUP BY k"})
	h.clean()
}

func TestManyViewsMadeAtOnce(t *testing.T) {
	h := newHouse(t)
	h.do("CREATE TABLE t (k INTEGER, v INTEGER)", "INSERT INTO t SELECT i % 100, i FROM range(10000) t(i)")
	const n = 50
	query := func(i int) string {
		return fmt.Sprintf("SELECT k %% %d AS k, count(*) AS n, sum(v)::BIGINT AS s FROM t GROUP BY k %% %d", i+2, i+2)
	}
	var wg sync.WaitGroup
	for i := range n {
		c := h.s.Connect(t)
		wg.Go(func() {
			for _, sql := range []string{
				fmt.Sprintf("CREATE STREAMING MATERIALIZED VIEW v%d WITH (wait_for_ready = true) AS %s", i, query(i)),
				fmt.Sprintf("INSERT INTO t VALUES (%d, 1)", i),
			} {
				if _, err := c.Query(t.Context(), sql); err != nil {
					t.Errorf("%s: %v", sql, err)
				}
			}
		})
	}
	wg.Wait()
	queries := map[string]string{}
	for i := range n {
		queries[fmt.Sprintf("v%d", i)] = query(i)
	}
	h.right(queries)
	h.s.Kill()
	h.start(nil)
	h.do("DELETE FROM t WHERE v % 7 = 0")
	h.right(queries)
	for i := range n {
		c := h.s.Connect(t)
		wg.Go(func() {
			if _, err := c.Query(t.Context(), fmt.Sprintf("DROP STREAMING MATERIALIZED VIEW v%d", i)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	h.clean()
}

func TestASourceGoesWhileItIsRead(t *testing.T) {
	h := newHouse(t)
	h.do(wide, "CREATE STREAMING MATERIALIZED VIEW v AS "+ofAll)
	h.reaches("v", "BACKFILLING")
	h.do("DROP TABLE wide")
	s := h.reaches("v", "SCHEMA_BLOCKED")
	if !strings.Contains(s.reason, "wide") {
		t.Errorf("%+v", s)
	}
	h.do("CREATE TABLE wide AS SELECT i % 10 AS k, i AS v FROM range(1000) t(i)")
	h.right(map[string]string{"v": ofAll})
	h.clean()
}

func TestStoppedInTheMiddleOfABackfill(t *testing.T) {
	h := newHouse(t)
	h.do(wide, "CREATE STREAMING MATERIALIZED VIEW v AS "+ofAll, "CREATE STREAMING MATERIALIZED VIEW w AS SELECT n, count(*) AS m FROM v GROUP BY n")
	for range 2 {
		h.reaches("v", "BACKFILLING")
		if err := h.s.Stop(); err != nil {
			t.Fatalf("the process ended badly: %v", err)
		}
		h.start(nil)
	}
	h.do("INSERT INTO wide SELECT i, i FROM range(10) t(i)")
	h.right(map[string]string{"v": ofAll, "w": "SELECT n, count(*) AS m FROM v GROUP BY n"})
	h.do(alter + "v REBUILD")
	if err := h.s.Stop(); err != nil {
		t.Fatalf("the process ended badly: %v", err)
	}
	h.start(nil)
	h.right(map[string]string{"v": ofAll, "w": "SELECT n, count(*) AS m FROM v GROUP BY n"})
	h.clean()
}
