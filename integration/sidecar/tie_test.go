package sidecar

import (
	"bufio"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/vegadb/vega-flight/integration/process"
	"github.com/vegadb/vega-flight/plugin"
)

// TestAHostThatIsGoneAtOnce has ended before its sidecar comes to look for it: the sidecar ends all the same, though its parent never changes.
func TestAHostThatIsGoneAtOnce(t *testing.T) {
	end, host, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), process.Binary(t), "plugin")
	c.Env = append(os.Environ(), plugin.Cookie+"="+plugin.CookieValue, "VEGA_FLIGHT_TIE=3")
	c.ExtraFiles = []*os.File{end}
	var log strings.Builder
	c.Stderr = &log
	if err := host.Close(); err != nil {
		t.Fatal(err)
	}
	if err := c.Run(); err != nil {
		t.Errorf("it ended badly: %v", err)
	}
	_ = end.Close()
	if !strings.Contains(log.String(), "the host is gone") {
		t.Errorf("it does not say why it ended:\n%s", log.String())
	}
}

// TestATieLastsAsLongAsTheHost also when nothing but the tie is left of it: a shell between the two is the parent.
func TestATieLastsAsLongAsTheHost(t *testing.T) {
	end, host, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), "sh", "-c", `"$0" plugin; echo ended`, process.Binary(t))
	c.Env = append(os.Environ(), plugin.Cookie+"="+plugin.CookieValue, "VEGA_FLIGHT_TIE=3")
	c.ExtraFiles = []*os.File{end}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	_ = end.Close()
	lines := bufio.NewScanner(out)
	if !lines.Scan() || !strings.Contains(lines.Text(), "|grpc|") {
		t.Fatalf("it does not serve: %s", lines.Text())
	}
	_ = host.Close()
	if !lines.Scan() || lines.Text() != "ended" {
		t.Errorf("it says %s", lines.Text())
	}
	if err := c.Wait(); err != nil {
		t.Error(err)
	}
}
