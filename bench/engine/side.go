package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// side is a system of ours that maintains one workload. Step 0 is the first content.
type side interface {
	sizes() []int // of the steps, in changes; 0 for a content
	rows() int    // of the first content
	step(ctx context.Context, i int) error
	memory() float64             // MiB that are in use, without the result's changes
	write(w *bufio.Writer) error // all changes of the result, weight first
	close() error
}

// sideOptions is what a process for one side is told.
type sideOptions struct {
	workload *workload
	workers  int
	rounds   int
	data     string
	result   string
	profile  string
	plan     bool
}

var sides = map[string]func(context.Context, sideOptions) (side, error){
	"vega": newVegaSide, "floor": newFloorSide, "duckdb": newRecompute,
}

// figures are what a system tells of one run.
type figures struct {
	backfill, backfillCPU time.Duration
	rows                  int
	stateMB               float64 // growth of memory without the result's changes; of sides that are not Go's own, of what is resident
	took                  map[int][]time.Duration
	cpu                   map[int]time.Duration
}

// runSide is the life of a side's process.
func runSide(ctx context.Context, name string, o sideOptions, to io.Writer) (err error) {
	open := sides[name]
	if open == nil {
		return fmt.Errorf("there is no side %q", name)
	}
	runtime.GOMAXPROCS(o.workers)
	s, err := open(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	if o.plan {
		return nil
	}
	f, err := measure(ctx, s, o.profile)
	if err != nil {
		return err
	}
	fmt.Fprintln(to, f.line(name, o))
	path := filepath.Join(o.result, "out", fmt.Sprintf("%s-%d_%s_r%d.deltas.csv", name, o.workers, o.workload.name, o.rounds))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(file, 1<<20)
	if err := errors.Join(s.write(w), w.Flush()); err != nil {
		return errors.Join(err, file.Close())
	}
	return file.Close()
}

// measure runs all steps. Batches of one size that follow each other have their CPU time taken together, since the clock for it costs
// as much as a small batch.
func measure(ctx context.Context, s side, profile string) (*figures, error) {
	f := &figures{rows: s.rows(), took: map[int][]time.Duration{}, cpu: map[int]time.Duration{}}
	sizes := s.sizes()
	before := s.memory()
	cpu := cpuTime()
	for i, size := range sizes {
		if profile != "" && size > 0 { // of the changes, not of the first content
			stop, err := startProfile(profile)
			if err != nil {
				return nil, err
			}
			defer stop()
			profile, cpu = "", cpuTime()
		}
		start := time.Now()
		if err := s.step(ctx, i); err != nil {
			return nil, fmt.Errorf("step %d: %w", i, err)
		}
		took := time.Since(start)
		if size > 0 {
			f.took[size] = append(f.took[size], took)
		} else if size == 0 {
			f.backfill = took
		}
		if i+1 < len(sizes) && sizes[i+1] == size {
			continue
		}
		spent := cpuTime() - cpu
		if size != 0 {
			f.cpu[size] += spent
		} else {
			f.backfillCPU = spent
			f.stateMB = s.memory() - before
		}
		cpu = cpuTime()
	}
	if f.stateMB == 0 { // nothing came before the batches
		f.stateMB = s.memory() - before
	}
	return f, nil
}

// line is the figures as a peer prints them.
func (f *figures) line(name string, o sideOptions) string {
	out := map[string]any{
		"peer": name, "w": o.workload.name, "workers": o.workers, "rounds": o.rounds,
		"backfill_s": f.backfill.Seconds(), "backfill_cpu_s": f.backfillCPU.Seconds(), "backfill_rows": f.rows,
		"rss_mb": statusMB("VmHWM:"), "state_mb": f.stateMB,
	}
	for size, took := range f.took {
		sorted := slices.Sorted(slices.Values(took))
		var sum time.Duration
		for _, d := range sorted {
			sum += d
		}
		at := func(q float64) float64 {
			return float64(sorted[min(int(q*float64(len(sorted))), len(sorted)-1)]) / float64(time.Microsecond)
		}
		changes := float64(size * len(sorted))
		key := strconv.Itoa(size)
		out["thr_"+key] = changes / sum.Seconds()
		if cpu := f.cpu[size].Seconds(); cpu > 0 {
			out["cpu_thr_"+key] = changes / cpu
		}
		out["p50_"+key], out["p99_"+key] = at(0.5), at(0.99)
	}
	text, err := json.Marshal(out)
	if err != nil {
		panic(err) // maps of numbers and texts
	}
	return string(text)
}

func cpuTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// liveMB is what is in use of Go's heap.
func liveMB() float64 {
	runtime.GC()
	return heapMB()
}

func heapMB() float64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc) / (1 << 20)
}

// statusMB is a line of the process's status.
func statusMB(name string) float64 {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for _, line := range strings.Split(string(text), "\n") {
		if rest, ok := strings.CutPrefix(line, name); ok {
			kb, _ := strconv.ParseFloat(strings.Fields(rest)[0], 64)
			return kb / 1024
		}
	}
	return 0
}
