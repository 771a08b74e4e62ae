package command

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/vegadb/vega-flight/integration/process"
)

func TestReadyFileTellsWhereTheServerIs(t *testing.T) {
	dir := t.TempDir()
	ready := filepath.Join(dir, "ready.json")
	if err := os.WriteFile(ready, []byte(`{"flight": "an earlier run's"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	s := process.Start(t, process.Options{Lake: filepath.Join(dir, "lake"), ReadyFile: ready})
	text, err := os.ReadFile(ready)
	if err != nil {
		t.Fatal(err)
	}
	form := regexp.MustCompile(`^\{"flight":"grpc://127\.0\.0\.1:[1-9]\d*","http":"http://127\.0\.0\.1:[1-9]\d*","pid":[1-9]\d*\}\n$`)
	if !form.Match(text) {
		t.Errorf("the ready file says %s", text)
	}
	if got := s.Connect(t).Value(t, "SELECT 42"); got != "42" {
		t.Errorf("the server that is ready answers %s", got)
	}
	if left, _ := filepath.Glob(ready + "?*"); len(left) > 0 {
		t.Errorf("left beside the ready file: %v", left)
	}
}

func TestPrintedConfigurationHasEveryFlag(t *testing.T) {
	help := run(t, nil, "serve", "--help")
	printed := run(t, nil, "serve", "--print-config", "--lake", "./elsewhere", "--session-idle", "5m")
	if help.code != 0 || printed.code != 0 {
		t.Fatalf("%+v %+v", help, printed)
	}
	flags := regexp.MustCompile(`(?m)^\s+(?:-\w, )?--([a-z-]+)`).FindAllStringSubmatch(help.out, -1)
	if len(flags) < 20 {
		t.Fatalf("only %d flags in\n%s", len(flags), help.out)
	}
	for _, f := range flags {
		if name := f[1]; !strings.Contains(printed.out, "\n"+name+": ") && name != "help" && name != "config" && name != "print-config" {
			t.Errorf("--%s is not in the printed configuration", name)
		}
	}
	file := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(file, []byte(printed.out), 0o600); err != nil {
		t.Fatal(err)
	}
	again := run(t, nil, "serve", "--config", file, "--print-config")
	if again.out != printed.out {
		t.Errorf("read back it is\n%s%s", again.out, again.err)
	}
	for _, want := range []string{"\nlake: \"./elsewhere\"\n", "\nsession-idle: 5m0s\n", "\nlisten: \"127.0.0.1:8815\"\n"} {
		if !strings.Contains(printed.out, want) {
			t.Errorf("%q is not in\n%s", want, printed.out)
		}
	}
}

// A server that is told nonsense makes nothing, and says why in one line.
func TestWrongCommandLines(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, c := range []struct {
		name, want string
		code       int
		args       []string
	}{
		{"configuration", "CONFIG_INVALID", 1, []string{"--config", file("c.yaml", "lsten: x\n")}},
		{"no configuration", "CONFIG_INVALID", 1, []string{"--config", filepath.Join(dir, "none.yaml")}},
		{"users", "CONFIG_INVALID", 1, []string{"--users-file", file("u.yaml", "users: 7\n")}},
		{"no certificate", "CONFIG_INVALID", 1, []string{"--tls-cert", filepath.Join(dir, "c.pem"), "--tls-key", filepath.Join(dir, "k.pem")}},
		{"no such flag", "unknown flag: --lakes", 2, []string{"--lakes", "x"}},
		{"wrong type", "invalid argument", 2, []string{"--threads", "many"}},
		{"PostgreSQL away", "CATALOG_UNREACHABLE", 1, []string{"--lake", "postgres://nobody:hushhush@127.0.0.1:1/none", "--data-path", filepath.Join(dir, "data")}},
	} {
		t.Run(c.name, func(t *testing.T) {
			lake := filepath.Join(t.TempDir(), "lake")
			args := append([]string{"serve", "--lake", lake, "--extension-dir", process.ExtensionDir(t), "--listen", "127.0.0.1:0", "--http", ""}, c.args...)
			got := run(t, nil, args...)
			if got.code != c.code || !strings.Contains(got.err, c.want) || strings.Count(got.err, "\n") != 1 || got.out != "" {
				t.Errorf("%+v, want code %d and one line with %s", got, c.code, c.want)
			}
			if strings.Contains(got.err, "hushhush") {
				t.Errorf("the password is told: %s", got.err)
			}
			if _, err := os.Stat(lake); err == nil {
				t.Error("a lake was made")
			}
		})
	}
	if got := run(t, nil, "serf"); got.code != 2 || !strings.Contains(got.err, "serf") {
		t.Errorf("%+v", got)
	}
}

func TestVersion(t *testing.T) {
	got := run(t, nil, "version")
	if got.code != 0 || !regexp.MustCompile(`^vega-flight \S+( \(\w+\))?, DuckDB 1\.5\.5, DuckLake format 1\.0\n$`).MatchString(got.out) {
		t.Errorf("%+v", got)
	}
}
