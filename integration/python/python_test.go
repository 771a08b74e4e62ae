package python

import (
	"bytes"
	"os/exec"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/vegadb/vega-flight/integration/process"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestScripts(t *testing.T) {
	python := process.Python(t)
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
