package readme

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vegadb/vega-flight/integration/process"
)

// The statements and programs of the user guide run as they are, but for the ids and snapshots that only a lake of one's own has.
func TestWhatTheGuideSaysRuns(t *testing.T) {
	root, err := process.Root()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, "docs", "user-guide.md"))
	if err != nil {
		t.Fatal(err)
	}
	s := process.Start(t, process.Options{Lake: filepath.Join(t.TempDir(), "lake")})
	c := s.Connect(t)
	for _, sql := range blocks(t, string(text), "sql") {
		sql = strings.ReplaceAll(sql, "source_version = 42", "source_version = "+c.Value(t, "SELECT id FROM lake.current_snapshot()"))
		if strings.Contains(sql, "'0197…'") {
			c.Must(t, "CREATE OR REPLACE MATERIALIZED VIEW sales.daily WITH (wait = false) AS SELECT DATE '2026-01-01' AS day, "+
				"count(*)::DECIMAL(38,2) AS amount FROM range(300000) a(i), range(300000) b(j) WHERE (i * j) % 7 = 9")
			id := c.Value(t, "SELECT job_id FROM vega.jobs WHERE state IN ('QUEUED', 'RUNNING')")
			sql = strings.ReplaceAll(sql, "0197…", id)
		}
		if out, err := process.Run(t, "sql", s.Flight, "-c", sql); err != nil {
			t.Errorf("%s\n%v\n%s", sql, err, out)
		}
	}
	for _, code := range blocks(t, string(text), "python") {
		code = strings.ReplaceAll(code, "grpc://127.0.0.1:8815", s.Flight)
		out, err := exec.Command(process.Python(t), "-W", "error::SyntaxWarning", "-c", code).CombinedOutput()
		if err != nil || !strings.Contains(string(out), "Decimal('20.00')") {
			t.Errorf("%v\n%s\n%s", err, code, out)
		}
	}
}
