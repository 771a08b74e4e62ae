package publish_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"testing"
)

// foreign is what the plain duckdb package of Python says of a lake: it attaches it as any client would, and reads the
// published table at the newest snapshot and at each of the given ones.
const foreign = `
import json, sys
import duckdb
spec = json.load(sys.stdin)
c = duckdb.connect()
for path in spec["load"]:
    c.execute("LOAD '" + path + "'")
c.execute("SET TimeZone = 'UTC'")
c.execute("ATTACH " + spec["attach"])
out = {}
for name, at in spec["reads"].items():
    out[name] = [[str(v) for v in c.execute(q.replace("$T", "lake.main.v" + at)).fetchone()] for q in spec["queries"]]
print(json.dumps(out))
`

// python finds an interpreter with the duckdb package. Without it the test is skipped, but not in CI.
func python(t *testing.T) string {
	t.Helper()
	path := os.Getenv("VEGA_PYTHON")
	if path == "" {
		path = "python3"
	}
	version, err := exec.Command(path, "-c", "import duckdb; print(duckdb.__version__)").Output()
	if v := string(bytes.TrimSpace(version)); err != nil || v != "1.5.5" {
		if os.Getenv("CI") != "" {
			t.Fatalf("%s has no duckdb package of version 1.5.5, but %q: %v", path, v, err)
		}
		t.Skipf("%s has no duckdb package of version 1.5.5, but %q: %v", path, v, err)
	}
	return path
}

// foreignQueries give one row of values each.
func (w *twin) foreignQueries() []string {
	return []string{
		"SELECT count(*) FROM $T",
		"SELECT count(*), min(id), max(id), min(v), max(v), min(d)::VARCHAR, max(ts)::VARCHAR FROM $T",
		"SELECT count(*), sum(hash(id, v, d, ts, f, b, l, s, da, u, bl, ub, t)) FROM $T",
		fmt.Sprintf("SELECT count(*), min(id), sum(hash(v)) FROM $T WHERE id >= %d", w.nextID-40),
		fmt.Sprintf("SELECT count(*), max(id) FROM $T WHERE id < %d AND v > 'v5'", w.nextID-20),
	}
}

// compareForeign closes the lake, which an embedded one needs, and has another process read it.
func (w *twin) compareForeign(t *testing.T, interpreter string, load []string) {
	t.Helper()
	reads, want := map[string]string{"": ""}, map[string][][]string{}
	expect := func(name, table string) {
		for _, q := range w.foreignQueries() {
			var row []string
			for _, v := range w.rows(replaceTable(q, table))[0] {
				if v == nil {
					v = "None"
				}
				row = append(row, fmt.Sprint(v))
			}
			want[name] = append(want[name], row)
		}
	}
	expect("", "memory.main.oracle")
	for id := range w.at {
		if id < w.table.Begin {
			continue
		}
		name := fmt.Sprint(id)
		reads[name] = fmt.Sprintf(" AT (VERSION => %d)", id)
		expect(name, fmt.Sprintf("memory.main.at_%d", id))
	}
	attach := w.where
	w.close()
	spec, err := json.Marshal(map[string]any{"load": load, "attach": attach, "reads": reads, "queries": w.foreignQueries()})
	must(t, err)
	cmd := exec.Command(interpreter, "-c", foreign)
	cmd.Stdin = bytes.NewReader(spec)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	answer, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, stderr.String())
	}
	var got map[string][][]string
	must(t, json.Unmarshal(answer, &got))
	for name, rows := range want {
		if fmt.Sprint(got[name]) != fmt.Sprint(rows) {
			t.Errorf("at %q another process reads\n%v, not\n%v", name, got[name], rows)
		}
	}
}
