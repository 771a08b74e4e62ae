package flights

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"

	"github.com/vegadb/vega-flight/ducklake/extension"
	"github.com/vegadb/vega-flight/integration/process"
)

// writer commits changes.
type writer interface{ commit(t *testing.T, c change) }

// connection is a writer that is another client of the server.
type connection struct {
	c *process.Client
	o *oracle
}

func (w connection) commit(t *testing.T, c change) {
	t.Helper()
	if c.into != "" {
		w.o.ingest(w.c, c.into, c.query)
		return
	}
	w.c.Must(t, c.sql)
}

// program is a writer that is another process, beside the server.
type program struct {
	in  io.WriteCloser
	out *bufio.Scanner
}

func startProgram(t *testing.T, attach, dir string) *program {
	t.Helper()
	cmd := exec.Command(process.Python(t), "writer.py")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := &program{in, bufio.NewScanner(out)}
	t.Cleanup(func() {
		in.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("the other program: %v", err)
		}
	})
	var load []string
	for _, e := range []string{extension.DuckLake, extension.Postgres} {
		file, err := extension.Find(process.ExtensionDir(t), e)
		if err != nil {
			t.Fatal(err)
		}
		load = append(load, file)
	}
	p.send(t, map[string]any{"load": load, "begin": append(source(dir), attach)}, "ready")
	return p
}

func (p *program) send(t *testing.T, v any, want string) {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fprintf(p.in, "%s\n", text); err != nil {
		t.Fatal(err)
	}
	if !p.out.Scan() {
		t.Fatalf("the other program ended: %v", p.out.Err())
	}
	if got := p.out.Text(); got != want {
		t.Fatalf("the other program says %s to %s", got, text)
	}
}

func (p *program) commit(t *testing.T, c change) {
	t.Helper()
	p.send(t, c.text(), "ok")
}
