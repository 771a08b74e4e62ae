package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// system is something that is measured: a command of the form in doc.go.
type system struct {
	name    string
	command []string
	ours    bool // a side of this program
}

// run is one process's figures.
type run struct {
	Workload   string  `json:"w"`
	Workers    int     `json:"workers"`
	Backfill   float64 `json:"backfill_s"`
	Rows       int     `json:"backfill_rows"`
	RSS        float64 `json:"rss_mb"`
	State      float64 `json:"state_mb"`
	Seconds    float64 `json:"secs"` // Nexmark of others
	EventsEach float64 `json:"ev_s"`
	sizes      map[int]rate
}

// rate is what a run tells of one batch size.
type rate struct{ perSecond, perCPU, p50, p99 float64 }

// execute runs a system once.
func (s *system) execute(ctx context.Context, w *workload, workers, rounds int, data, dir, profile string) (*run, error) {
	args := append(append([]string{}, s.command[1:]...), "--data", data, "--res", dir, "--w", w.name, "--workers", strconv.Itoa(workers), "--rounds", strconv.Itoa(rounds))
	if profile != "" && s.ours {
		args = append(args, "--profile", profile)
	}
	cmd := exec.CommandContext(ctx, s.command[0], args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%s, %s: %w: %s", s.name, w.name, err, tail(errs.String()))
	}
	for _, line := range strings.Split(out.String(), "\n") {
		if strings.HasPrefix(line, "{") {
			return readRun([]byte(line))
		}
	}
	return nil, fmt.Errorf("%s, %s: no figures in what it printed: %s", s.name, w.name, tail(out.String()))
}

func tail(text string) string {
	text = strings.TrimSpace(text)
	return text[max(len(text)-1500, 0):]
}

func readRun(line []byte) (*run, error) {
	r := &run{sizes: map[int]rate{}}
	var all map[string]any
	if err := json.Unmarshal(line, r); err != nil {
		return nil, fmt.Errorf("%s: %w", line, err)
	}
	if err := json.Unmarshal(line, &all); err != nil {
		return nil, err
	}
	number := func(key string) float64 { v, _ := all[key].(float64); return v }
	for key := range all {
		size, ok := strings.CutPrefix(key, "thr_")
		n, err := strconv.Atoi(size)
		if !ok || err != nil {
			continue
		}
		r.sizes[n] = rate{number(key), number("cpu_thr_" + size), number("p50_" + size), number("p99_" + size)}
	}
	if len(r.sizes) == 0 && r.EventsEach > 0 {
		r.sizes[eventBatch] = rate{perSecond: r.EventsEach}
	}
	return r, nil
}

// differential builds the peer that is part of this folder; ok is false without cargo.
func differential(ctx context.Context, target string) (binary string, ok bool, err error) {
	cargo, err := exec.LookPath("cargo")
	if err != nil {
		return "", false, nil //nolint:nilerr // without cargo there is no such peer
	}
	if target, err = filepath.Abs(target); err != nil {
		return "", false, err
	}
	cmd := exec.CommandContext(ctx, cargo, "build", "--release", "--quiet", "--locked", "--manifest-path", "bench/engine/peers/differential/Cargo.toml")
	cmd.Env = append(os.Environ(), "CARGO_TARGET_DIR="+target)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", false, fmt.Errorf("building differential-dataflow's peer: %w: %s", err, tail(string(out)))
	}
	return filepath.Join(target, "release", "vega-bench-differential"), true, nil
}
