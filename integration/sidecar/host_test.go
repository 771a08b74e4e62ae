package sidecar

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vegadb/vega-flight/integration/process"
)

// exampleHost builds the example.
func exampleHost(t *testing.T) string {
	t.Helper()
	root, err := process.Root()
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(t.TempDir(), "examplehost")
	build := exec.Command("go", "build", "-o", program, "./plugin/examplehost")
	// Hosts need no C compiler.
	build.Dir, build.Env = root, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}

func TestTheExampleHost(t *testing.T) {
	program := exampleHost(t)
	binary, err := os.ReadFile(process.Binary(t))
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(binary)
	env := []string{"VEGA_EXTENSION_DIR=" + process.ExtensionDir(t)}
	lake := filepath.Join(t.TempDir(), "lake")
	for range 2 { // a new lake, and one that is there
		out, bad, err := command(t, env, program, "--binary", process.Binary(t), "--sha256", hex.EncodeToString(sum[:]), "--lake", lake)
		if err != nil {
			t.Fatalf("%v\n%s%s", err, out, bad)
		}
		if n := strings.Count(out, "and so has the table"); n != 2 || !strings.Contains(out, "6553600 rows, 100 MiB each way") {
			t.Errorf("it printed\n%s", out)
		}
	}
	sum[0]++
	_, bad, err := command(t, env, program, "--binary", process.Binary(t), "--sha256", hex.EncodeToString(sum[:]), "--lake", lake)
	if err == nil || !strings.Contains(bad, "SIDECAR_CHANGED") {
		t.Errorf("it printed %s", bad)
	}
}

// TestAHostThatIsKilled leaves no sidecar behind: the lake is free again.
func TestAHostThatIsKilled(t *testing.T) {
	lake := filepath.Join(t.TempDir(), "lake")
	host := exec.Command(exampleHost(t), "--binary", process.Binary(t), "--lake", lake, "--log", "info")
	host.Env = append(os.Environ(), "VEGA_EXTENSION_DIR="+process.ExtensionDir(t))
	out, err := host.StderrPipe()
	if err == nil {
		host.Stdout = host.Stderr
		err = host.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 1)
	var seen strings.Builder
	for !strings.Contains(seen.String(), "INGEST INTO numbers") {
		if _, err := out.Read(buf); err != nil {
			t.Fatalf("%v\n%s", err, seen.String())
		}
		seen.Write(buf)
	}
	if err := host.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = host.Wait() // it was killed
	var s *process.Server
	process.Until(t, "the lake is free", func() bool {
		s, err = process.TryStart(t, process.Options{Lake: lake})
		return err == nil
	}, func() any { return err })
	c := s.Connect(t)
	same(t, c, "spent", "SELECT customer, sum(amount) AS total FROM orders GROUP BY customer")
}
