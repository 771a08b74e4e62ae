package command

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/vegadb/vega-flight/integration/process"
)

func TestCheckOfALake(t *testing.T) {
	s := start(t)
	c := s.Connect(t)
	c.Must(t, "CREATE TABLE t AS SELECT i FROM range(100) r(i)")
	c.Must(t, "CREATE MATERIALIZED VIEW v AS SELECT i % 10 AS g, count(*) AS n FROM t GROUP BY ALL")
	c.Must(t, "CREATE MATERIALIZED VIEW dice AS SELECT random() AS r FROM t")
	c.Must(t, "INSERT INTO t VALUES (100)") // the view is what it was computed from

	report := regexp.MustCompile(`(?m)^2 views at snapshot \d+, 2 compared, 1 finding\n\z`)
	fine := func(got outcome) {
		t.Helper()
		if got.code != 0 || !strings.Contains(got.out, "NOT_REPRODUCIBLE") || !report.MatchString(got.out) {
			t.Errorf("%+v", got)
		}
	}
	fine(run(t, nil, "check", s.Flight))
	extensions := process.ExtensionDir(t)
	if got := run(t, nil, "check", "--extension-dir", extensions, s.Lake()); got.code != 1 || !strings.Contains(got.err, "LAKE_LOCKED") {
		t.Errorf("of a lake that is served: %+v", got)
	}
	lost := filepath.Join(s.Lake(), "data", "main", "v", "vega-lost")
	if err := os.MkdirAll(lost, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(lost, "a.parquet"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	wrong := func(got outcome) {
		t.Helper()
		if got.code != 1 || !strings.Contains(got.out, "STAGING") || !strings.Contains(got.out, "vega-lost") || !strings.Contains(got.err, "1 failure") {
			t.Errorf("with a leftover: %+v", got)
		}
	}
	wrong(run(t, nil, "check", s.Flight))
	nowhere := filepath.Join(t.TempDir(), "nowhere")
	if got := run(t, nil, "check", "--extension-dir", extensions, nowhere); got.code != 1 || !strings.Contains(got.err, "LAKE_UNREADABLE: there is no lake at "+nowhere) {
		t.Errorf("of a lake that is not there: %+v", got)
	}
	if _, err := os.Stat(nowhere); !os.IsNotExist(err) {
		t.Errorf("check has made a lake: %v", err)
	}
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	wrong(run(t, nil, "check", "--extension-dir", extensions, s.Lake()))
	wrong(run(t, nil, "check", "--extension-dir", extensions, "--lake", s.Lake())) // as serve names it
	if got := run(t, nil, "check", "--lake", nowhere, s.Lake()); got.code != 2 || !strings.Contains(got.err, "named twice") {
		t.Errorf("of two lakes: %+v", got)
	}
	if err := os.RemoveAll(lost); err != nil {
		t.Fatal(err)
	}
	fine(run(t, nil, "check", "--extension-dir", extensions, s.Lake()))
}
