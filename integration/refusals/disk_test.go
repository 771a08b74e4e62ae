package refusals

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/vegadb/vega-flight/integration/process"
)

// small is a command that becomes another one, which finds a file system of 16 MiB at dir. It is seen by that process alone.
func small(t *testing.T, dir string) []string {
	t.Helper()
	flags := "-m"
	if os.Geteuid() != 0 {
		flags = "-Urm"
	}
	wrap := []string{"unshare", flags, "sh", "-c", `mount -t tmpfs -o size=16m tmpfs "$0" && exec "$@"`, dir}
	if out, err := exec.Command(wrap[0], append(wrap[1:], "true")...).CombinedOutput(); err != nil {
		t.Skipf("no file system can be made small here: %v %s", err, out)
	}
	return wrap
}

func TestTheDiskIsFull(t *testing.T) {
	t.Run("a small file system", func(t *testing.T) {
		theDiskIsFull(t, func(data string) []string { return small(t, data) }, func(*process.Server) {})
	})
	t.Run("small files", func(t *testing.T) { // where no file system can be made, too
		theDiskIsFull(t, func(string) []string { return nil }, func(s *process.Server) { s.LimitFiles(t, 16<<20) })
	})
}

func theDiskIsFull(t *testing.T, wrap func(data string) []string, limit func(*process.Server)) {
	h := newHouse(t)
	data := filepath.Join(h.folder, "data")
	if err := os.Mkdir(data, 0o755); err != nil {
		t.Fatal(err)
	}
	s := process.Start(t, process.Options{Lake: h.lake, Wrap: wrap(data), Args: []string{"--data-path", data, "--maintenance-interval", "0"}})
	limit(s)
	c := s.Connect(t)
	files := func() (list []string) {
		t.Helper()
		root := filepath.Join(fmt.Sprintf("/proc/%d/root", s.PID), data)
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				list = append(list, path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	const many = "SELECT i, md5(i::VARCHAR) AS text FROM range(3000000) r(i)"
	for _, sql := range []string{
		"CREATE TABLE size (n BIGINT)", "INSERT INTO size VALUES (10)", "CREATE TABLE target (i BIGINT, text VARCHAR)",
		"CREATE MATERIALIZED VIEW v AS SELECT i, md5(i::VARCHAR) AS text FROM range(3000000) r(i), size WHERE i < n",
		"UPDATE size SET n = 3000000",
	} {
		c.Must(t, sql)
	}
	state := func() string {
		return fmt.Sprint(c.Must(t, "SELECT count(*), max(i) FROM v"), c.Must(t, "SELECT count(*) FROM target"),
			c.Must(t, "SELECT generation FROM vega.materialized_views"), files())
	}
	before := state()
	for _, sql := range []string{"REFRESH MATERIALIZED VIEW v", "INSERT INTO target " + many, "CREATE TABLE made AS " + many} {
		_, err := c.Query(t.Context(), sql)
		process.Refused(t, err, "DISK_FULL")
		if now := state(); now != before {
			t.Errorf("%s\nbefore: %s\nafter:  %s", sql, before, now)
		}
	}
	if rows := c.Must(t, "SELECT state, error_code FROM vega.jobs WHERE kind = 'REFRESH'"); fmt.Sprint(rows) != "[[FAILED DISK_FULL]]" {
		t.Errorf("the job: %v", rows)
	}
	_, err := c.Query(t.Context(), "SELECT * FROM made")
	process.Refused(t, err, "OBJECT_NOT_FOUND")
	// There is room for less.
	c.Must(t, "UPDATE size SET n = 1000")
	c.Must(t, "REFRESH MATERIALIZED VIEW v")
	c.Must(t, "INSERT INTO target SELECT * FROM v")
	if n := c.Value(t, "SELECT count(*) FROM target"); n != "1000" {
		t.Errorf("%s rows", n)
	}
}
