package feed_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/vegadb/vega-flight/ducklake"
	"github.com/vegadb/vega-flight/ducklake/extension"
	"github.com/vegadb/vega-flight/ducklake/laketest"
)

// writer is a program that attaches the lake as any client would, and runs the statements that it is given, one a line.
const writer = `
import json, sys
import duckdb
c = duckdb.connect()
spec = json.loads(sys.stdin.readline())
for path in spec["load"]:
    c.execute("LOAD '" + path + "'")
c.execute("SET TimeZone = 'UTC'")
c.execute("ATTACH " + spec["attach"])
print("ready", flush=True)
for line in sys.stdin:
    try:
        c.execute(json.loads(line))
        print("ok", flush=True)
    except Exception as e:
        print("failed: " + str(e).replace("\n", " "), flush=True)
`

// interpreter is a Python with the duckdb package. Without it the test is skipped, but not in CI.
func interpreter(t *testing.T) string {
	t.Helper()
	path := os.Getenv("VEGA_PYTHON")
	if path == "" {
		path = "python3"
	}
	version, err := exec.Command(path, "-c", "import duckdb; print(duckdb.__version__)").Output()
	if err != nil || strings.TrimSpace(string(version)) != "1.5.5" {
		if os.Getenv("CI") != "" {
			t.Fatalf("%s has no duckdb package of version 1.5.5; make deps makes one", path)
		}
		t.Skipf("%s has no duckdb package of version 1.5.5", path)
	}
	return path
}

// process is a running writer.
type process struct {
	t   *testing.T
	in  io.WriteCloser
	out *bufio.Scanner
}

func startWriter(t *testing.T, l *ducklake.Lake, p laketest.Place) *process {
	t.Helper()
	cmd := exec.Command(interpreter(t), "-c", writer)
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
	w := &process{t: t, in: in, out: bufio.NewScanner(out)}
	t.Cleanup(func() {
		in.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("the other program: %v", err)
		}
	})
	var load []string
	for _, e := range []string{extension.DuckLake, extension.Postgres} {
		file, err := extension.Find(p.Config.ExtensionDir, e)
		if err != nil {
			t.Fatal(err)
		}
		load = append(load, file)
	}
	w.send(map[string]any{"load": load, "attach": fmt.Sprintf("'ducklake:postgres:%s' AS lake (DATA_PATH '%s', METADATA_SCHEMA '%s')",
		p.Config.Catalog, l.DataPath(), p.Config.MetadataSchema)})
	if got := w.answer(); got != "ready" {
		t.Fatal(got)
	}
	return w
}

func (w *process) send(v any) {
	w.t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		w.t.Fatal(err)
	}
	if _, err := fmt.Fprintf(w.in, "%s\n", text); err != nil {
		w.t.Fatal(err)
	}
}

func (w *process) answer() string {
	if !w.out.Scan() {
		w.t.Fatalf("the other program ended: %v", w.out.Err())
	}
	return w.out.Text()
}

func (w *process) do(sql string) error {
	w.t.Helper()
	w.send(sql)
	if got := w.answer(); got != "ok" {
		return errors.New(got)
	}
	return nil
}

// TestForeign has another program write and flush in the middle of this one's transactions.
func TestForeign(t *testing.T) {
	for seed := range uint64(number("VEGA_TEST_SEEDS", 1)) {
		for _, inlining := range [][]int{{0, 10, 0}, {10, 1000, 10}} {
			t.Run(fmt.Sprint(seed, inlining), func(t *testing.T) {
				p := laketest.NewPlace(t, laketest.PostgreSQL)
				l := p.Open(t)
				w := startWriter(t, l, p)
				h := newHistory(openLab(t, l), seed+100, inlining)
				h.alter, h.foreign = true, w.do
				for range number("VEGA_TEST_STEPS", 30) {
					if h.r.IntN(6) == 0 {
						h.did["foreign maintenance"]++
						h.must(w.do([]string{"CALL ducklake_flush_inlined_data('lake')", "CALL ducklake_merge_adjacent_files('lake')"}[h.r.IntN(2)]))
					}
					h.step()
				}
				compared, refused := h.check(10)
				t.Log(compared, "windows compared,", refused, "refused", sorted(h.did))
			})
		}
	}
}
