package process

import (
	"os"
	"path/filepath"
	"testing"
)

// Python is the interpreter with the client libraries of integration/python/requirements.txt, as `make deps` installs them.
// Without it the test is skipped, but not in CI.
func Python(t testing.TB) string {
	t.Helper()
	python := os.Getenv("VEGA_PYTHON")
	if python == "" {
		root, err := Root()
		if err != nil {
			t.Fatal(err)
		}
		python = filepath.Join(root, ".build", "venv", "bin", "python")
	}
	if _, err := os.Stat(python); err != nil {
		Missing(t, "no Python with the client libraries: %v; run make deps", err)
	}
	return python
}
