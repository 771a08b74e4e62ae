package lancedb

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/vegadb/vega-flight/integration/process"
)

// interpreter is a Python with the client: VEGA_PYTHON, or what `make deps` made.
func interpreter(t *testing.T) string {
	t.Helper()
	path := os.Getenv("VEGA_PYTHON")
	if path == "" {
		root, err := process.Root()
		if err != nil {
			t.Fatal(err)
		}
		path = filepath.Join(root, ".build", "venv", "bin", "python")
	}
	if out, err := exec.Command(path, "-c", "import lancedb").CombinedOutput(); err != nil {
		t.Skipf("no Python with lancedb: %v %s; make deps makes it, or set VEGA_PYTHON", err, out)
	}
	return path
}

// TestReleasedClient runs the client as its users have it.
func TestReleasedClient(t *testing.T) {
	python := interpreter(t)
	s := newLake(t).start(t)
	cmd := exec.CommandContext(t.Context(), python, "-u", "client.py", s.Flight, "k-ann")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
}
