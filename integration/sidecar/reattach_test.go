package sidecar

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/vegadb/vega-flight/integration/process"
	"github.com/vegadb/vega-flight/plugin"
)

// TestReattach uses a sidecar that somebody runs in a debugger.
func TestReattach(t *testing.T) {
	o, _ := options(t)
	cmd := exec.Command(process.Binary(t), "plugin", "--debug")
	cmd.Env = append(os.Environ(), o.Environment...)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
	value = strings.Trim(value, "'")
	if name != plugin.ReattachVariable || !json.Valid([]byte(value)) {
		t.Fatalf("it printed %q", line)
	}
	t.Setenv(name, value)
	s := start(t, o)
	if got := client(s).Value(t, "SELECT 41 + 1"); got != "42" {
		t.Errorf("42 is %s", got)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("it ended with %v", err)
	}
}
