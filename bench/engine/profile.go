package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"strings"
)

// startProfile begins a CPU profile, to be ended by what it gives.
func startProfile(path string) (stop func(), err error) {
	file, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	runtime.SetCPUProfileRate(250)
	if err := pprof.StartCPUProfile(file); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return func() {
		pprof.StopCPUProfile()
		_ = file.Close()
	}, nil
}

const topFunctions = 25

// profile is where the profile of a workload on so many cores is kept.
func (s *session) profile(w *workload, workers int) string {
	return filepath.Join(s.profiles, fmt.Sprintf("%s-%d.pprof", w.name, workers))
}

// writeTops writes the functions that took the most time beside each profile, as text, and gives the heaviest of each workload on one
// core. It needs Go's tools; without them the profiles alone are kept.
func (s *session) writeTops(ctx context.Context) (map[*workload][]string, error) {
	tool, err := exec.LookPath("go")
	if err != nil {
		fmt.Fprintln(os.Stderr, "no go here: profiles are not written as text")
		return nil, nil //nolint:nilerr // the profiles are there
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	heaviest := map[*workload][]string{}
	for _, r := range s.results {
		path := s.profile(r.workload, r.workers)
		if _, err := os.Stat(path); r.system != "vega" || err != nil {
			continue
		}
		cmd := exec.CommandContext(ctx, tool, "tool", "pprof", "-top", fmt.Sprintf("-nodecount=%d", topFunctions), self, path)
		cmd.Stderr = os.Stderr
		text, err := cmd.Output()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		if err := os.WriteFile(strings.TrimSuffix(path, ".pprof")+".txt", text, 0o644); err != nil {
			return nil, err
		}
		if r.workers == 1 {
			heaviest[r.workload] = heads(string(text), 5)
		}
	}
	return heaviest, nil
}

// heads are the first functions of a profile as text: their share of the time, and their name within the module.
func heads(text string, n int) []string {
	var out []string
	_, rows, _ := strings.Cut(text, "flat%")
	for _, line := range strings.Split(rows, "\n")[1:] {
		f := strings.Fields(strings.TrimSuffix(line, " (inline)"))
		if len(f) < 6 || len(out) == n {
			continue
		}
		name := f[5][strings.LastIndex(f[5], "/")+1:]
		out = append(out, fmt.Sprintf("%s %s", name, strings.Replace(f[1], ".00%", "%", 1)))
	}
	return out
}
