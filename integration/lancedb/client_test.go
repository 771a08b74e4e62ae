package lancedb

import (
	"bytes"
	"os/exec"
	"testing"

	"github.com/vegadb/vega-flight/integration/process"
)

// interpreter is a Python with the client.
func interpreter(t *testing.T) string {
	t.Helper()
	path := process.Python(t)
	if out, err := exec.Command(path, "-c", "import lancedb").CombinedOutput(); err != nil {
		process.Missing(t, "no Python with lancedb: %v %s; make deps makes it, or set VEGA_PYTHON", err, out)
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
