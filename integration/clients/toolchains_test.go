package clients

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/vegadb/vega-flight/integration/process"
)

// fetched is the path of something that `make deps` makes. Without it the test is skipped, but not in CI.
func fetched(t *testing.T, path ...string) string {
	t.Helper()
	root, err := process.Root()
	if err != nil {
		t.Fatal(err)
	}
	full := filepath.Join(append([]string{root, ".build", "clients"}, path...)...)
	if _, err := os.Stat(full); err != nil {
		process.Missing(t, "%v; make deps makes it", err)
	}
	return full
}

// python is an interpreter with the clients of python/requirements.txt.
func python(t *testing.T) string {
	t.Helper()
	return fetched(t, "python", "bin", "python")
}

// java runs a source file with Arrow's JDBC driver. The time zone is not the server's on purpose.
func java(t *testing.T, source string, args ...string) *exec.Cmd {
	t.Helper()
	if _, err := exec.LookPath("java"); err != nil {
		process.Missing(t, "no Java: %v; install a JDK, 17 or later", err)
	}
	jars := fetched(t, "java", "flight-sql-jdbc-driver.jar")
	return exec.CommandContext(t.Context(), "java", append([]string{
		"--add-opens=java.base/java.nio=ALL-UNNAMED", "-Duser.timezone=America/New_York", "-cp", jars, source,
	}, args...)...)
}

// rust is the program of the folder of that name.
func rust(t *testing.T) string {
	t.Helper()
	if _, err := exec.LookPath("cargo"); err != nil {
		t.Skipf("no Rust: %v; install Rust 1.88 or later", err) // no package of a distribution has it
	}
	return fetched(t, "rust", "debug", "clients")
}
