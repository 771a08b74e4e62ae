package flightsql

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vegadb/vega-flight/ducklake"
	"github.com/vegadb/vega-flight/fault"
)

// inFolder is a lake whose folder has a name that is hard to find in a text.
func inFolder(dir string) func(*ducklake.Config) {
	return func(c *ducklake.Config) { c.Catalog = filepath.Join(dir, "lake") }
}

// Plans name files relative to the lake, in each format, whatever the folder's name is.
func TestPlansDoNotTellWhereTheLakeIs(t *testing.T) {
	for _, name := range []string{"plain", "two words, and more of them to fill lines", "räume", "数据 湖"} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), name)
			if err := os.Mkdir(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			h := openIn(t, inFolder(dir))
			c, admin := h.client("ann"), h.client("admin")
			c.must("CREATE TABLE f AS SELECT i, i % 7 AS k FROM range(50000) t(i)")
			c.must("INSERT INTO f SELECT i, i % 7 AS k FROM range(50000) t(i)")
			const join = "SELECT sum(a.i) FROM f a JOIN f b ON a.i = b.i WHERE a.k = 3"
			for _, head := range []string{
				"EXPLAIN ANALYZE ", "EXPLAIN (ANALYZE, FORMAT JSON) ", "EXPLAIN (ANALYZE, FORMAT HTML) ", "EXPLAIN (ANALYZE, FORMAT GRAPHVIZ) ",
				"EXPLAIN (ANALYZE, FORMAT MERMAID) ", "EXPLAIN (FORMAT JSON) ", "EXPLAIN ", "EXPLAIN ANALYZE CREATE TABLE g AS ", "EXPLAIN ANALYZE INSERT INTO f(i) ",
			} {
				rows, err := c.try(head + join)
				if err != nil {
					t.Logf("%s: %v", head, err)
					continue
				}
				text := rows[0][1]
				for _, part := range append(strings.Split(strings.Trim(dir, "/"), "/"), strings.Fields(name)...) {
					// DuckDB wraps at spaces and slashes: parts that are long enough to be something must not be there.
					if len(part) > 4 && strings.Contains(text, part) {
						t.Errorf("%s tells %q:\n%s", head, part, text)
					}
				}
				if strings.Contains(head, "ANALYZE") && !strings.Contains(head, "CREATE") && !strings.Contains(spaceless(strings.ReplaceAll(text, "│", "")), "main/") {
					t.Errorf("%s names no file:\n%s", head, text)
				}
				same(t, text)
			}
			if text := admin.must("EXPLAIN (ANALYZE, FORMAT JSON) " + join)[0][1]; !strings.Contains(text, dir) {
				t.Errorf("an administrator sees no path:\n%s", text)
			}
		})
	}
}

// same checks that the lines of a drawn tree are equally long.
func same(t *testing.T, text string) {
	t.Helper()
	width := 0
	for line := range strings.SplitSeq(text, "\n") {
		if !strings.HasPrefix(line, "│ ") || !strings.HasSuffix(line, "│") || strings.Count(line, "│") != 2 {
			continue
		}
		if n := displayWidth(line); width == 0 {
			width = n
		} else if n != width {
			t.Errorf("a line of %d columns among those of %d:\n%s", n, width, text)
			return
		}
	}
}

// A data file that is gone is named without its folder, in the status, in the job and in the view's last error.
func TestErrorsDoNotTellWhereTheLakeIs(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "my folder")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	h := openIn(t, inFolder(dir))
	c, admin := h.client("ann"), h.client("admin")
	c.must("CREATE TABLE f AS SELECT i, i % 7 AS k FROM range(50000) t(i)")
	c.must("CREATE MATERIALIZED VIEW v AS SELECT k, sum(i) AS s FROM f GROUP BY k WITH NO DATA")
	err := filepath.WalkDir(h.lake.DataPath(), func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		return os.Remove(path)
	})
	if err != nil {
		t.Fatal(err)
	}
	told := func(what, text string) {
		t.Helper()
		if strings.Contains(text, "folder") || !strings.Contains(text, ".parquet") {
			t.Errorf("%s: %s", what, text)
		}
	}
	_, err = c.try("SELECT sum(i) FROM f")
	wants(t, err, fault.LakeUnreadable)
	told("SELECT", err.Error())
	_, err = c.try("REFRESH MATERIALIZED VIEW v")
	if err == nil {
		t.Fatal("a view was made of a file that is gone")
	}
	wants(t, err, fault.LakeUnreadable)
	told("REFRESH", err.Error())
	const jobs = "SELECT job_id, error_message FROM vega.jobs"
	job := c.must(jobs)[0]
	told("vega.jobs", job[1])
	told("SHOW JOBS", strings.Join(c.must("SHOW JOBS")[0], "|"))
	told("SHOW JOB", strings.Join(c.must("SHOW JOB '" + job[0] + "'")[0], "|"))
	status, err := h.svc.handles.statusOf(authed("ann"), job[0])
	if err != nil {
		t.Fatal(err)
	}
	told("vega.job_status", status.Message)
	if text := admin.must(jobs)[0][1]; !strings.Contains(text, dir) {
		t.Errorf("an administrator sees no path: %s", text)
	}
}

// What else in a lake has paths is not there for users.
func TestNoColumnTellsWhereTheLakeIs(t *testing.T) {
	h := open(t)
	c := h.client("ann")
	c.must("CREATE TABLE f AS SELECT i FROM range(5000) t(i)")
	for _, sql := range []string{"SELECT filename FROM f", "SELECT f.filename FROM f", "SELECT path FROM duckdb_databases()", "PRAGMA database_list"} {
		if rows, err := c.try(sql); err == nil {
			t.Errorf("%s gives %v", sql, rows)
		}
	}
}
