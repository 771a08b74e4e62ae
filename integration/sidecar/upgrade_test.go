package sidecar

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/integration/process"
)

// TestUpgrade changes the binary under a view, and goes back when the new one does not come to serve.
func TestUpgrade(t *testing.T) {
	o, _ := options(t)
	s := supervise(t, o)
	_, c := now(t, s)
	c.Must(t, "CREATE TABLE t (k BIGINT, v BIGINT)")
	c.Must(t, "CREATE STREAMING MATERIALIZED VIEW follows WITH (wait_for_ready = true) AS "+perKey)

	next := o
	next.Binary = filepath.Join(t.TempDir(), "vega-flight-next")
	if err := copyFile(next.Binary, process.Binary(t)); err != nil {
		t.Fatal(err)
	}
	if err := s.Upgrade(t.Context(), next); err != nil {
		t.Fatal(err)
	}
	_, c = now(t, s)
	c.Must(t, "INSERT INTO t VALUES (1, 1)")
	same(t, c, "follows", perKey)

	broken := o
	broken.Binary = script(t, "exit 1")
	if err := s.Upgrade(t.Context(), broken); fault.CodeOf(err) != fault.SidecarGone {
		t.Errorf("a binary that ends at once: %v", err)
	}
	_, c = now(t, s)
	c.Must(t, "INSERT INTO t VALUES (2, 2)")
	same(t, c, "follows", perKey)
}

func copyFile(to, from string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		out.Close()
		return err
	}
	return out.Close()
}
