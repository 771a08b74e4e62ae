package command

import (
	"bytes"
	"errors"
	"io"
	"os/exec"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"github.com/vegadb/vega-flight/integration/process"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func start(t *testing.T, args ...string) *process.Server {
	t.Helper()
	return process.Start(t, process.Options{Lake: filepath.Join(t.TempDir(), "lake"), Args: args})
}

// outcome is how a command ended.
type outcome struct {
	out, err string
	code     int
}

// run executes the binary with in as its standard input.
func run(t *testing.T, in io.Reader, args ...string) outcome {
	t.Helper()
	cmd := exec.Command(process.Binary(t), args...)
	var out, errOut bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, &out, &errOut
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return outcome{out.String(), errOut.String(), cmd.ProcessState.ExitCode()}
}
