package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var small = scale{Seed: 7, Rows: 20_000, Rounds: 1, Events: 30_000}

// input makes a small input once a test.
func input(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := generate(dir, small); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestInputsAreTheSameForASeed makes them twice.
func TestInputsAreTheSameForASeed(t *testing.T) {
	a, b := input(t), input(t)
	for _, name := range []string{"w1/backfill.bin", "w1b/changes.bin", "w2/changes.bin", "w2/batches.bin", "nexmark/events.jsonl"} {
		x, err := os.ReadFile(filepath.Join(a, name))
		if err != nil {
			t.Fatal(err)
		}
		y, err := os.ReadFile(filepath.Join(b, name))
		if err != nil {
			t.Fatal(err)
		}
		if len(x) == 0 || string(x) != string(y) {
			t.Errorf("%s: %d and %d bytes that differ", name, len(x), len(y))
		}
	}
}

// TestSidesAreRight runs each side on each workload, on one core and two, and compares its result with DuckDB's.
func TestSidesAreRight(t *testing.T) {
	ctx, data := context.Background(), input(t)
	o := newOracle(data, small.Rounds)
	defer o.close()
	for _, w := range workloads {
		for _, name := range []string{"vega", "floor", "duckdb"} {
			if w.nexmark() && name == "duckdb" {
				continue
			}
			for _, workers := range []int{1, 2} {
				if w.nexmark() && name == "floor" && workers > 1 {
					continue
				}
				dir := t.TempDir()
				var line strings.Builder
				if err := runSide(ctx, name, sideOptions{workload: w, workers: workers, rounds: small.Rounds, data: data, result: dir}, &line); err != nil {
					t.Fatalf("%s, %s: %v", name, w.name, err)
				}
				r, err := readRun([]byte(line.String()))
				if err != nil || len(r.sizes) == 0 || r.Rows == 0 {
					t.Errorf("%s, %s: figures %s: %v", name, w.name, line.String(), err)
				}
				v, err := o.verify(ctx, w, dir)
				if err != nil {
					t.Fatalf("%s, %s: %v", name, w.name, err)
				}
				if !v.equal() || v.rows == 0 {
					t.Errorf("%s, %s, %d workers: %s", name, w.name, workers, v)
				}
			}
		}
	}
}

// TestAWrongResultIsSeen gives the oracle results that miss a row, have one too many, and have one less than never.
func TestAWrongResultIsSeen(t *testing.T) {
	ctx, data := context.Background(), input(t)
	o := newOracle(data, small.Rounds)
	defer o.close()
	w := workloadNamed("w1")
	d, err := o.of(ctx, w)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := d.conn.Rows(ctx, "SELECT concat_ws(',', 1, k, n, s) FROM ("+w.view+")")
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, r := range rows {
		lines = append(lines, r[0].(string))
	}
	for what, text := range map[string][]string{
		"missing": lines[1:], "surplus": append([]string{lines[0]}, lines...), "negative": append([]string{"-1,999999,1,1"}, lines...), "equal": lines,
	} {
		dir := t.TempDir()
		if err := os.MkdirAll(filepath.Join(dir, "out"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "out", "x-1_w1_r1.deltas.csv"), []byte(strings.Join(text, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		v, err := o.verify(ctx, w, dir)
		if err != nil {
			t.Fatal(err)
		}
		want := verdict{rows: v.rows, keys: groupsFew}
		switch what {
		case "missing":
			want.missing = 1
		case "surplus":
			want.surplus = 1
		case "negative":
			want.negative = 1
		}
		if v != want {
			t.Errorf("%s: %s", what, v)
		}
	}
}

// TestFiguresHaveTheirNames is what readers of the JSON file count on.
func TestFiguresHaveTheirNames(t *testing.T) {
	s := &session{settings: &settings{}, results: []*result{{
		system: "vega", workload: workloadNamed("w1"), workers: 1, equal: true,
		runs: []*run{{Rows: 10, RSS: 5, State: 1, sizes: map[int]rate{10_000: {perSecond: 4e6, p50: 1, p99: 2}}}},
	}}}
	file := filepath.Join(t.TempDir(), "f.json")
	if err := s.writeJSON(file); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var got struct{ Results []map[string]any }
	if err := json.Unmarshal(text, &got); err != nil || len(got.Results) != 1 {
		t.Fatalf("%s: %v", text, err)
	}
	for key, want := range map[string]any{
		"system": "vega", "workload": "W1", "workers": 1.0, "batch": 10_000.0, "changes_per_s": 4e6, "p50_us": 1.0, "p99_us": 2.0, "rss_mb": 5.0, "equal": true,
		"meets_bar": true, "meets_aim": false,
	} {
		if got.Results[0][key] != want {
			t.Errorf("%s is %v, want %v", key, got.Results[0][key], want)
		}
	}
}

// TestADocumentHasTheTablesBetweenItsMarks writes them twice.
func TestADocumentHasTheTablesBetweenItsMarks(t *testing.T) {
	w, q := workloadNamed("w1"), workloadNamed("q3")
	s := &session{settings: &settings{workers: []int{1, 2}}, failed: []string{"floor, w2: no\nmore"}, load: "0.10", results: []*result{
		{system: "vega", workload: w, workers: 1, equal: true, keys: 4, runs: []*run{{Rows: 16, State: 1, sizes: map[int]rate{10_000: {perSecond: 4e6, perCPU: 5e6}, 100: {perSecond: 3e6}, 1: {perSecond: 1, p50: 0.5, p99: 12_000}}}}},
		{system: "vega", workload: w, workers: 2, equal: true, runs: []*run{{sizes: map[int]rate{10_000: {perSecond: 7e6}}}}},
		{system: "floor", workload: q, workers: 1, runs: []*run{{State: 2, sizes: map[int]rate{10_000: {perSecond: 1e6, p50: 10}}}}},
	}}
	file := filepath.Join(t.TempDir(), "d.md")
	if err := os.WriteFile(file, []byte("before\n"+tablesBegin+"old\n"+tablesEnd+"after\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := s.writeMarkdown(file, map[*workload][]string{w: {"a 50%", "b 7%"}}); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"before\n" + tablesBegin, tablesEnd + "after\n",
		"|**W1** GROUP BY, 1000 groups; count, sum|vega|4.00 M|5.00 M|11.00 M missed|7.00 M|3.00 M|-|2.60 M|-|0.5 µs|12 ms|262 k|66 k|yes|\n",
		"|**Q3** local sellers|floor|1.00 M|-|||10 µs|-|-|2.0|NO|\n", "- floor, w2: no\n", "- W1: a 50%, b 7%\n",
	} {
		if strings.Count(string(text), want) != 1 {
			t.Errorf("%q is not there once", want)
		}
	}
	if strings.Contains(string(text), "old") {
		t.Error("the old tables are still there")
	}
	if t.Failed() {
		t.Log(string(text))
	}
}

// TestHeadsOfAProfile reads what Go's tool prints.
func TestHeadsOfAProfile(t *testing.T) {
	text := "Duration: 1s\n      flat  flat%   sum%        cum   cum%\n     146ms 25.00% 25.52%      146ms 25.52%  github.com/vegadb/vega-flight/ivm/eval.(*Program).run (inline)\n" +
		"      10ms  7.05% 37.06%      212ms 37.06%  runtime.memmove\n       1ms  0.1% 38%      1ms  0.1%  x.y\n"
	if got := strings.Join(heads(text, 2), "; "); got != "eval.(*Program).run 25%; runtime.memmove 7.05%" {
		t.Error(got)
	}
}
