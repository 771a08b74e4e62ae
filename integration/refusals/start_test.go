package refusals

import (
	"bytes"
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/vegadb/vega-flight/integration/process"
)

// refused runs `serve`, which must end by itself with exit code 1 and one line that has the stable name.
func refused(t *testing.T, name string, args ...string) {
	t.Helper()
	line, code := serve(t, args...)
	if code != 1 || !strings.HasPrefix(line, "vega-flight: "+name+": ") || strings.Contains(line, "\n") {
		t.Errorf("exit code %d, want 1, and one line with %s:\n%s", code, name, line)
	}
}

func serve(t *testing.T, args ...string) (text string, code int) {
	t.Helper()
	binary := process.Binary(t)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	ready := filepath.Join(t.TempDir(), "ready.json")
	all := []string{"serve", "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0", "--ready-file", ready}
	if !strings.Contains(strings.Join(args, " "), "--extension-dir") {
		all = append(all, "--extension-dir", process.ExtensionDir(t))
	}
	cmd := exec.CommandContext(ctx, binary, append(all, args...)...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	if ctx.Err() != nil {
		t.Fatalf("it does not end:\n%s", out.String())
	}
	if _, serr := os.Stat(ready); serr == nil {
		t.Error("it said that it is ready")
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		code = exit.ExitCode()
	}
	return strings.TrimRight(out.String(), "\n"), code
}

func TestLakesThatCannotBeOpened(t *testing.T) {
	dir := t.TempDir()
	// A lake that is well, to take parts of.
	good := filepath.Join(dir, "good.ducklake")
	s := process.Start(t, process.Options{Lake: good})
	s.Connect(t).Must(t, "CREATE TABLE t AS SELECT i FROM range(100000) r(i)")
	t.Run("second server", func(t *testing.T) { refused(t, "LAKE_LOCKED", "--lake", good) })
	if n := s.Connect(t).Value(t, "SELECT count(*) FROM t"); n != "100000" {
		t.Errorf("the first server has %s rows", n)
	}
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(good)
	if err != nil {
		t.Fatal(err)
	}
	spoiled := bytes.Clone(whole)
	for i := 4096; i < len(spoiled); i++ {
		spoiled[i] ^= byte(i*7) | 1
	}
	for name, content := range map[string][]byte{
		"garbage": bytes.Repeat([]byte("no catalog "), 4000), "short": []byte("x"), "cut": whole[:len(whole)/2], "spoiled": spoiled,
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(dir, name+".ducklake")
			if err := os.WriteFile(file, content, 0o644); err != nil {
				t.Fatal(err)
			}
			refused(t, "LAKE_UNREADABLE", "--lake", file)
			if now, err := os.ReadFile(file); err != nil || !bytes.Equal(now, content) {
				t.Errorf("the file was changed: %v", err)
			}
		})
	}
	sqlite := filepath.Join(dir, "sqlite.ducklake")
	if err := os.WriteFile(sqlite, append([]byte("SQLite format 3\x00"), make([]byte, 4096)...), 0o644); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		code string
		args []string
	}{
		"a SQLite file":         {"CATALOG_NOT_SUPPORTED", []string{"--lake", sqlite}},
		"a SQLite address":      {"CATALOG_NOT_SUPPORTED", []string{"--lake", "sqlite:" + filepath.Join(dir, "new.db")}},
		"no PostgreSQL":         {"CATALOG_UNREACHABLE", []string{"--lake", "postgres://nobody@127.0.0.1:1/none?connect_timeout=5", "--data-path", filepath.Join(dir, "pg")}},
		"a folder below a file": {"LAKE_UNREADABLE", []string{"--lake", filepath.Join(file, "lake")}},
		"data below a file":     {"LAKE_UNREADABLE", []string{"--lake", filepath.Join(dir, "new"), "--data-path", filepath.Join(file, "data")}},
	} {
		t.Run(name, func(t *testing.T) { refused(t, c.code, c.args...) })
	}
}

// TestDataThatCannotBeRead spoils a data file: reading it fails by name, all else goes on.
func TestDataThatCannotBeRead(t *testing.T) {
	lake := filepath.Join(t.TempDir(), "lake")
	s := process.Start(t, process.Options{Lake: lake})
	c := s.Connect(t)
	c.Must(t, "CREATE TABLE t AS SELECT i, i % 10 AS k FROM range(200000) r(i)")
	c.Must(t, "CREATE TABLE other AS SELECT 1 AS one")
	c.Must(t, "CREATE MATERIALIZED VIEW v AS SELECT k, sum(i) AS s FROM t GROUP BY k")
	before := c.Must(t, "SELECT * FROM v ORDER BY k")
	c.Must(t, "INSERT INTO t VALUES (1, 1)")
	files, err := filepath.Glob(filepath.Join(lake, "*", "main", "*", "*.parquet"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no data files: %v", err)
	}
	for _, f := range files {
		info, err := os.Stat(f)
		if err != nil {
			t.Fatal(err)
		}
		if info.Size() > 100_000 { // those of t
			if err := os.WriteFile(f, bytes.Repeat([]byte{0xff}, int(info.Size())), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, sql := range []string{"SELECT sum(i) FROM t", "REFRESH MATERIALIZED VIEW v", "CREATE TABLE copied AS SELECT * FROM t", "INSERT INTO other SELECT i FROM t"} {
		_, err := c.Query(t.Context(), sql)
		process.Refused(t, err, "SQL_ERROR", "LAKE_UNREADABLE")
		if strings.Contains(err.Error(), "INTERNAL") {
			t.Error(err)
		}
	}
	after := c.Must(t, "SELECT * FROM v ORDER BY k")
	if len(after) != 10 || after[3][1] != before[3][1] {
		t.Errorf("the view has %v", after)
	}
	if n := c.Value(t, "SELECT count(*) FROM other"); n != "1" {
		t.Errorf("the other table has %s rows", n)
	}
}

func TestServersThatDoNotStart(t *testing.T) {
	dir := t.TempDir()
	lake := filepath.Join(dir, "lake")
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	empty, fake := filepath.Join(dir, "empty"), filepath.Join(dir, "fake")
	platform := filepath.Join("v1.5.5", "linux_amd64")
	for _, d := range []string{empty, filepath.Join(fake, platform)} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range []string{filepath.Join(fake, platform, "ducklake.duckdb_extension"), filepath.Join(dir, "users.yaml")} {
		if err := os.WriteFile(f, []byte("users: [garbage"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		code string
		args []string
	}{
		"no extension":              {"EXTENSION_MISSING", []string{"--extension-dir", empty}},
		"a false extension":         {"EXTENSION_INVALID", []string{"--extension-dir", fake}},
		"the port is taken":         {"ADDRESS_IN_USE", []string{"--listen", taken.Addr().String()}},
		"the other port is taken":   {"ADDRESS_IN_USE", []string{"--http", taken.Addr().String()}},
		"no address":                {"CONFIG_INVALID", []string{"--listen", "nowhere.invalid:1"}},
		"everybody may come":        {"INSECURE_LISTENER", []string{"--listen", "0.0.0.0:0"}},
		"everybody may come, IPv6":  {"INSECURE_LISTENER", []string{"--listen", "[::]:0"}},
		"garbage for users":         {"CONFIG_INVALID", []string{"--users-file", filepath.Join(dir, "users.yaml")}},
		"no users":                  {"CONFIG_INVALID", []string{"--users-file", filepath.Join(dir, "absent.yaml")}},
		"no configuration":          {"CONFIG_INVALID", []string{"--config", filepath.Join(dir, "absent.yaml")}},
		"garbage for configuration": {"CONFIG_INVALID", []string{"--config", filepath.Join(dir, "users.yaml")}},
		"half a certificate":        {"CONFIG_INVALID", []string{"--tls-cert", filepath.Join(dir, "users.yaml")}},
		"garbage for a certificate": {"CONFIG_INVALID", []string{"--tls-cert", filepath.Join(dir, "users.yaml"), "--tls-key", filepath.Join(dir, "users.yaml")}},
		"no memory":                 {"CONFIG_INVALID", []string{"--memory-limit", "plenty"}},
		"no size":                   {"CONFIG_INVALID", []string{"--spool-quota", "plenty"}},
	} {
		t.Run(name, func(t *testing.T) {
			refused(t, c.code, append([]string{"--lake", lake}, c.args...)...)
		})
	}
	if _, code := serve(t, "--lake", lake, "--colour", "red"); code != 2 {
		t.Errorf("an unknown flag ends with %d", code)
	}
	if entries, _ := os.ReadDir(lake); len(entries) > 0 {
		t.Logf("left of the lake that was never served: %v", entries)
	}
	// After all of that the lake can be made.
	s := process.Start(t, process.Options{Lake: lake})
	s.Connect(t).Must(t, "CREATE TABLE t (i INTEGER)")
}
