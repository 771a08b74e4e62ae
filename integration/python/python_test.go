package python

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/vegadb/vega-flight/integration/process"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// interpreter is the Python that has the clients: VEGA_PYTHON, or what `make deps` made.
func interpreter(t *testing.T) string {
	t.Helper()
	if path := os.Getenv("VEGA_PYTHON"); path != "" {
		return path
	}
	root, err := process.Root()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(root, ".build", "venv", "bin", "python")
	if _, err := os.Stat(path); err != nil {
		t.Skipf("no Python with the clients: %v; make deps makes it, or set VEGA_PYTHON", err)
	}
	return path
}

func TestScripts(t *testing.T) {
	python := interpreter(t)
	for _, script := range []string{"dbapi.py", "flight.py"} {
		t.Run(strings.TrimSuffix(script, ".py"), func(t *testing.T) {
			server := process.Start(t, process.Options{Lake: t.TempDir()})
			cmd := exec.CommandContext(t.Context(), python, "-u", script, server.Flight)
			var out bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &out
			err := cmd.Run()
			t.Log(out.String())
			if err != nil {
				t.Fatal(err)
			}
		})
	}
}
