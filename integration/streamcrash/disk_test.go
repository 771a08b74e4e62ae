package streamcrash

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/vegadb/vega-flight/ducklake/laketest"
	"github.com/vegadb/vega-flight/integration/process"
)

const perKey = "SELECT k, count(*) AS n, sum(v)::BIGINT AS s FROM t GROUP BY k"

func TestTheDiskOfTheStateIsFull(t *testing.T) {
	t.Run("a small file system", func(t *testing.T) {
		d := process.NewDisk(t, 128) // 64 MiB are always left free
		h := &house{t: t, lake: filepath.Join(t.TempDir(), "lake"), state: filepath.Join(d.Host, "state")}
		f := filling{house: h, rows: 2000, start: func() { h.start(d.Wrap, "--state-dir", filepath.Join(d.Dir, "state")) }}
		f.fill = func() (empty func()) {
			file := d.Fill(t, 8<<20)
			return func() {
				if err := os.Remove(file); err != nil {
					t.Fatal(err)
				}
			}
		}
		f.run("INSERT INTO t VALUES (1, 1)", "CREATE MATERIALIZED VIEW plain AS "+perKey)
	})
	t.Run("no files", func(t *testing.T) { // where no file system can be made, too; the catalog is no file
		dir := t.TempDir()
		h := &house{t: t, lake: laketest.PostgresDSN(t), state: filepath.Join(dir, "state")}
		schema := fmt.Sprintf("full_%d", time.Now().UnixNano())
		f := filling{house: h, rows: 900, start: func() {
			h.start(nil, "--metadata-schema", schema, "--data-path", filepath.Join(dir, "data"), "--state-dir", h.state, "--server-id", "full")
		}}
		f.fill = func() (empty func()) {
			h.s.LimitFiles(t, 1)
			return func() { h.s.LimitFiles(t, -1) }
		}
		f.run("INSERT INTO t VALUES (1, 1)")
	})
}

// filling is a house in which there is room for the state of views, or none.
type filling struct {
	*house
	start func()
	fill  func() (empty func())
	rows  int // that are written at a time
}

// run fills it. What is to be done meanwhile succeeds.
func (h filling) run(meanwhile ...string) {
	t := h.t
	h.start()
	h.do("CREATE TABLE t (k INTEGER, v INTEGER)", "INSERT INTO t SELECT i, i FROM range(1000) t(i)",
		"CREATE STREAMING MATERIALIZED VIEW v WITH (wait_for_ready = true, checkpoint_interval = '100ms') AS "+perKey,
		"CREATE STREAMING MATERIALIZED VIEW over_v WITH (wait_for_ready = true, checkpoint_interval = '100ms') AS SELECT n, count(*) AS m FROM v GROUP BY n")
	queries := map[string]string{"v": perKey, "over_v": "SELECT n, count(*) AS m FROM v GROUP BY n"}
	h.right(queries)

	empty := h.fill()
	for i, s := 0, (status{}); s.state != "RESOURCE_BLOCKED"; i++ { // it goes on until a checkpoint finds no room
		h.do(fmt.Sprintf("INSERT INTO t SELECT i, %d FROM range(%d) t(i)", i, h.rows))
		s = statuses(t, h.c)["v"]
	}
	if s := h.reaches("v", "RESOURCE_BLOCKED"); !strings.Contains(s.reason, "DISK_FULL") {
		t.Errorf("%+v", s)
	}
	at := h.c.Value(t, "SELECT version FROM vega.streaming_views WHERE view_name = 'v'")
	// What it had is served; others do not suffer.
	h.do("SELECT count(*) FROM v")
	h.do(meanwhile...)
	// One that is made now has a reason too.
	h.do("CREATE STREAMING MATERIALIZED VIEW late AS " + perKey)
	h.reaches("late", "RESOURCE_BLOCKED")
	// It does not begin again and again.
	if s := h.reaches("v", "RESOURCE_BLOCKED"); s.version != at {
		t.Errorf("it was at %s and is %+v", at, s)
	}
	queries["late"] = perKey

	empty()
	h.right(queries)
	h.s.Kill()
	h.start()
	h.do("DELETE FROM t WHERE v % 2 = 1")
	h.right(queries)
	h.do("DROP STREAMING MATERIALIZED VIEW late")
	h.clean()
}

func TestTheStateCannotBeWritten(t *testing.T) {
	d := process.NewDisk(t, 128)
	h := &house{t: t, lake: filepath.Join(t.TempDir(), "lake"), state: filepath.Join(d.Host, "state")}
	remount := func(how string) {
		t.Helper()
		args := append(append([]string{}, d.Wrap[1:]...), "mount", "-o", "remount,"+how, d.Dir)
		if out, err := exec.Command(d.Wrap[0], args...).CombinedOutput(); err != nil {
			t.Fatalf("%v %s", err, out)
		}
	}
	dir := filepath.Join(d.Dir, "state")
	remount("ro")
	h.start(d.Wrap, "--state-dir", dir)
	h.do("CREATE TABLE t (k INTEGER, v INTEGER)", "INSERT INTO t SELECT i % 10, i FROM range(1000) t(i)", "CREATE STREAMING MATERIALIZED VIEW v AS "+perKey)
	if s := h.reaches("v", "RESOURCE_BLOCKED"); !strings.HasPrefix(s.reason, "STATE_UNREADABLE") || !strings.Contains(s.reason, "read-only") {
		t.Errorf("%+v", s)
	}
	remount("rw")
	h.right(map[string]string{"v": perKey})
	h.clean()
}

// TestGarbageInTheState damages the state in several ways while the server is away: views are right all the same.
func TestGarbageInTheState(t *testing.T) {
	h := newHouse(t)
	h.do("CREATE TABLE t (k INTEGER, v INTEGER)", "INSERT INTO t SELECT i % 10, i FROM range(1000) t(i)",
		"CREATE STREAMING MATERIALIZED VIEW v WITH (wait_for_ready = true, checkpoint_interval = '100ms') AS "+perKey,
		"CREATE STREAMING MATERIALIZED VIEW over_v WITH (wait_for_ready = true, checkpoint_interval = '100ms') AS SELECT n, count(*) AS m FROM v GROUP BY n")
	queries := map[string]string{"v": perKey, "over_v": "SELECT n, count(*) AS m FROM v GROUP BY n"}
	files := func(change func(path string) error) func() error {
		return func() error {
			return filepath.WalkDir(h.state, func(path string, d fs.DirEntry, err error) error {
				if err != nil || d.IsDir() {
					return err
				}
				return change(path)
			})
		}
	}
	garbage := []byte("this is not what was written here")
	for _, damage := range []struct {
		name string
		do   func() error
	}{
		{"each file is garbage", files(func(path string) error { return os.WriteFile(path, garbage, 0o600) })},
		{"each file is empty", files(func(path string) error { return os.Truncate(path, 0) })},
		{"each file is cut", files(func(path string) error {
			info, err := os.Stat(path)
			return errors.Join(err, os.Truncate(path, info.Size()/2))
		})},
		{"bits are flipped", files(func(path string) error {
			b, err := os.ReadFile(path)
			for i := len(b) / 3; i < len(b); i += 97 {
				b[i] ^= 0x10
			}
			return errors.Join(err, os.WriteFile(path, b, 0o600))
		})},
		{"a file is missing", files(func(path string) error {
			if filepath.Base(path) == "LOCK" || filepath.Ext(path) == "" {
				return nil
			}
			return os.Remove(path)
		})},
		{"folders are files", func() error {
			entries, err := os.ReadDir(h.state)
			for _, e := range entries {
				dir := filepath.Join(h.state, e.Name())
				err = errors.Join(err, os.RemoveAll(dir), os.WriteFile(dir, garbage, 0o600))
			}
			return err
		}},
		{"strange neighbours", func() error {
			return errors.Join(os.MkdirAll(filepath.Join(h.state, "not a view", "1"), 0o755), os.WriteFile(filepath.Join(h.state, "file"), garbage, 0o600))
		}},
		{"views have each other's state", func() error {
			entries, err := os.ReadDir(h.state)
			var dirs []string
			for _, e := range entries {
				if len(e.Name()) == 36 {
					dirs = append(dirs, filepath.Join(h.state, e.Name()))
				}
			}
			if len(dirs) != 2 {
				return fmt.Errorf("%v %w", dirs, err)
			}
			between := filepath.Join(h.lake, "between")
			return errors.Join(os.Rename(dirs[0], between), os.Rename(dirs[1], dirs[0]), os.Rename(between, dirs[1]))
		}},
	} {
		h.right(queries)
		h.do("DELETE FROM t WHERE v % 3 = 1", "INSERT INTO t SELECT i % 10, i FROM range(1000) t(i)")
		if damage.name != "each file is garbage" {
			if err := h.s.Stop(); err != nil {
				t.Fatal(err)
			}
		} else {
			h.s.Kill()
		}
		if err := damage.do(); err != nil {
			t.Fatalf("%s: %v", damage.name, err)
		}
		h.start(nil)
		h.do("INSERT INTO t VALUES (3, 4)")
		h.right(queries)
		if t.Failed() {
			t.Fatal(damage.name)
		}
	}
	if out, err := process.Run(t, "check", h.s.Flight); err != nil {
		t.Errorf("check: %v\n%s", err, out)
	}
}
