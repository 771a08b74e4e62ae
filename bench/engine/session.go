package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// session measures workload after workload.
type session struct {
	*settings
	data    string
	systems []*system
	oracle  *oracle
	results []*result
	failed  []string
	began   time.Time
	load    string // before it began
}

// result is a system's figures for a workload on so many cores: of each batch size the best of the runs.
type result struct {
	system   string
	workload *workload
	workers  int
	keys     int64 // of the workload's state
	runs     []*run
	equal    bool
	verdict  string
}

// run measures one workload: all systems in turn, as many times as there are runs.
func (s *session) run(ctx context.Context, w *workload) error {
	var these []*result
	for _, workers := range s.workers {
		for i := range s.runs {
			for _, y := range s.systems {
				if y.name == "duckdb" && (w.nexmark() || i > 0) || y.name == "floor" && w.nexmark() && workers > 1 {
					continue
				}
				r := find(these, y.name, workers)
				if r == nil {
					r = &result{system: y.name, workload: w, workers: workers}
					these = append(these, r)
				}
				if i > 0 && len(r.runs) == 0 {
					continue // it has failed
				}
				if err := s.once(ctx, y, r, i); err != nil {
					if ctx.Err() != nil {
						return ctx.Err()
					}
					fmt.Fprintln(os.Stderr, err)
					s.failed = append(s.failed, err.Error())
				}
			}
		}
	}
	for _, r := range these {
		if len(r.runs) > 0 {
			s.results = append(s.results, r)
		}
	}
	return nil
}

func find(rs []*result, system string, workers int) *result {
	for _, r := range rs {
		if r.system == system && r.workers == workers {
			return r
		}
	}
	return nil
}

// once runs a system and looks at its result, which is the same in every run, the first time.
func (s *session) once(ctx context.Context, y *system, r *result, i int) error {
	fmt.Fprintf(os.Stderr, "%s, %s, %d workers, run %d\n", r.workload.label(), y.name, r.workers, i+1)
	dir := filepath.Join(s.work, "result")
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	profile := ""
	if y.name == "vega" && i == s.runs-1 {
		profile = s.profile(r.workload, r.workers)
	}
	got, err := y.execute(ctx, r.workload, r.workers, s.Rounds, s.data, dir, profile)
	if err != nil {
		return err
	}
	r.runs = append(r.runs, got)
	if i > 0 {
		return nil
	}
	v, err := s.oracle.verify(ctx, r.workload, dir)
	if err != nil {
		return fmt.Errorf("%s, %s: the result: %w", y.name, r.workload.name, err)
	}
	r.keys = v.keys
	if r.equal, r.verdict = v.equal(), v.String(); !r.equal {
		return fmt.Errorf("%s, %s: the result differs from DuckDB's: %s", y.name, r.workload.name, v)
	}
	return nil
}

// best is the best rate of the runs and the middle of their rates.
func (r *result) best(size int) (best rate, middle float64, ok bool) {
	var all []float64
	for _, x := range r.runs {
		y, there := x.sizes[size]
		if !there {
			continue
		}
		all = append(all, y.perSecond)
		if y.perSecond > best.perSecond {
			cpu := best.perCPU
			best = y
			best.perCPU = max(cpu, y.perCPU)
		}
		best.perCPU = max(best.perCPU, y.perCPU)
	}
	if len(all) == 0 {
		return rate{}, 0, false
	}
	slices.Sort(all)
	return best, all[len(all)/2], true
}

func (r *result) least(of func(*run) float64) float64 {
	out := of(r.runs[0])
	for _, x := range r.runs[1:] {
		out = min(out, of(x))
	}
	return out
}

// entry is a line of the JSON file.
type entry struct {
	System    string  `json:"system"`
	Workload  string  `json:"workload"`
	Workers   int     `json:"workers"`
	Batch     int     `json:"batch"`
	Changes   float64 `json:"changes_per_s"`
	Middle    float64 `json:"median_changes_per_s"`
	PerCPU    float64 `json:"changes_per_cpu_s,omitempty"`
	P50       float64 `json:"p50_us"`
	P99       float64 `json:"p99_us"`
	RSS       float64 `json:"rss_mb"`
	State     float64 `json:"state_mb,omitempty"`
	PerRow    float64 `json:"state_bytes_per_row,omitempty"`
	Keys      int64   `json:"keys,omitempty"`
	PerKey    float64 `json:"state_bytes_per_key,omitempty"`
	Backfill  float64 `json:"backfill_s"`
	Equal     bool    `json:"equal"`
	Bar       float64 `json:"bar,omitempty"`
	Aim       float64 `json:"aim,omitempty"`
	MeetsBar  *bool   `json:"meets_bar,omitempty"`
	MeetsAim  *bool   `json:"meets_aim,omitempty"`
	OverPeers float64 `json:"ratio_to_best_peer,omitempty"` // of this run, on as many cores
	OverCPU   float64 `json:"cpu_ratio_to_best_peer,omitempty"`
}

func (s *session) entries() []entry {
	out := []entry{}
	for _, r := range s.results {
		for _, size := range batchSizes {
			b, middle, ok := r.best(size)
			if !ok {
				continue
			}
			e := entry{System: r.system, Workload: r.workload.label(), Workers: r.workers, Batch: size, Changes: b.perSecond, Middle: middle, PerCPU: b.perCPU,
				P50: b.p50, P99: b.p99, RSS: r.least(func(x *run) float64 { return x.RSS }), State: r.state(), PerRow: r.perRow(), Keys: r.keys, PerKey: r.perKey(),
				Backfill: r.least(func(x *run) float64 { return x.Backfill }), Equal: r.equal}
			if r.system == "vega" {
				e.OverPeers, e.OverCPU = s.overPeers(r, size)
				if bar := r.workload.bar[size]; bar > 0 && r.workers == 1 {
					bars, aims := b.perSecond >= bar, b.perSecond > r.workload.aim[size]
					e.Bar, e.Aim, e.MeetsBar, e.MeetsAim = bar, r.workload.aim[size], &bars, &aims
				}
			}
			out = append(out, e)
		}
	}
	return out
}

var batchSizes = []int{10_000, 100, 1}

// state is the memory in MiB that a system's state takes: of the first content, or of all events.
func (r *result) state() float64 { return r.least(func(x *run) float64 { return x.State }) }

func (r *result) perRow() float64 {
	if r.workload.nexmark() || r.runs[0].Rows == 0 {
		return 0
	}
	return r.state() * (1 << 20) / float64(r.runs[0].Rows)
}

func (r *result) perKey() float64 {
	if r.keys == 0 {
		return 0
	}
	return r.state() * (1 << 20) / float64(r.keys)
}

// overPeers is the ratio of a rate of ours to the best of the engines beside us, by wall time and by CPU time.
func (s *session) overPeers(r *result, size int) (wall, cpu float64) {
	best := rate{}
	for _, o := range s.results {
		if o.workload == r.workload && o.workers == r.workers && !slices.Contains([]string{"vega", "floor", "duckdb"}, o.system) && o.equal {
			b, _, _ := o.best(size)
			best.perSecond, best.perCPU = max(best.perSecond, b.perSecond), max(best.perCPU, b.perCPU)
		}
	}
	mine, _, _ := r.best(size)
	if best.perSecond > 0 {
		wall = mine.perSecond / best.perSecond
	}
	if best.perCPU > 0 {
		cpu = mine.perCPU / best.perCPU
	}
	return wall, cpu
}

func (s *session) writeJSON(file string) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	text, err := json.MarshalIndent(map[string]any{"results": s.entries(), "failed": s.failed}, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(text, '\n'), 0o644)
}
