package main

import (
	"fmt"
	"io"
	"slices"
)

// print writes a table for each workload: a line for each system, and what the bars say of ours.
func (s *session) print(w io.Writer) {
	var last *workload
	for i, r := range s.results {
		if r.workload != last {
			last = r.workload
			fmt.Fprintf(w, "\n%s: %s\n", last.label(), last.what)
			fmt.Fprintf(w, "  %-14s %2s %10s", "system", "x", "first rows")
			for _, size := range batchSizes {
				if _, _, ok := r.best(size); ok {
					fmt.Fprintf(w, " | %8s %8s %9s %9s", short(float64(size)), "/cpu s", "p50", "p99")
				}
			}
			fmt.Fprintf(w, " | %7s %7s %7s %6s  %s\n", "rss MB", "state", "B/key", "B/row", "equal")
		}
		s.line(w, r)
		if i+1 == len(s.results) || s.results[i+1].workload != last {
			s.verdicts(w, last)
		}
	}
	if len(s.failed) > 0 {
		fmt.Fprintf(w, "\n%d measurements failed:\n", len(s.failed))
		for _, f := range s.failed {
			fmt.Fprintf(w, "  %s\n", f)
		}
	}
	fmt.Fprintf(w, "\nChanges a second, best of the runs; x: cores; /cpu s: changes a second of CPU time; times of a batch in µs; state: MiB after the first content, or after all events, without the result.\n")
}

func (s *session) line(w io.Writer, r *result) {
	rows := "-"
	if b := r.least(func(x *run) float64 { return x.Backfill }); b > 0 {
		rows = short(float64(r.runs[0].Rows)/b) + "/s"
	}
	fmt.Fprintf(w, "  %-14s %2d %10s", r.system, r.workers, rows)
	for _, size := range batchSizes {
		if b, _, ok := r.best(size); ok {
			fmt.Fprintf(w, " | %8s %8s %9s %9s", short(b.perSecond), short(b.perCPU), micros(b.p50), micros(b.p99))
		}
	}
	fmt.Fprintf(w, " | %7.0f %7s %7s %6s  %v\n", r.least(func(x *run) float64 { return x.RSS }), size(r.state()), short(r.perKey()), short(r.perRow()), r.equal)
}

// verdicts says how ours stands against bars, aims and the others of this run.
func (s *session) verdicts(w io.Writer, load *workload) {
	for _, r := range s.results {
		if r.workload != load || r.system != "vega" {
			continue
		}
		for _, size := range batchSizes {
			b, _, ok := r.best(size)
			if !ok {
				continue
			}
			text := fmt.Sprintf("  vega x%d, batches of %d:", r.workers, size)
			if bar := load.bar[size]; bar > 0 && r.workers == 1 {
				text += fmt.Sprintf(" bar %s %s, aim %s %s;", short(bar), meets(b.perSecond >= bar), short(load.aim[size]), meets(b.perSecond > load.aim[size]))
			}
			if wall, cpu := s.overPeers(r, size); wall > 0 {
				text += fmt.Sprintf(" %.2f x the best peer, by CPU time %.2f;", wall, cpu)
			}
			for _, o := range s.results {
				if o.workload == load && o.workers == r.workers && slices.Contains([]string{"floor", "duckdb"}, o.system) {
					if y, _, ok := o.best(size); ok {
						text += fmt.Sprintf(" %.2f x %s;", b.perSecond/y.perSecond, o.system)
					}
				}
			}
			fmt.Fprintln(w, text[:len(text)-1])
		}
	}
}

func meets(yes bool) string {
	if yes {
		return "met"
	}
	return "MISSED"
}

// size is a number of MiB.
func size(mb float64) string {
	if mb <= 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f", mb)
}

func short(v float64) string {
	switch {
	case v <= 0:
		return "-"
	case v >= 1e8:
		return fmt.Sprintf("%.0f M", v/1e6)
	case v >= 1e6:
		return fmt.Sprintf("%.2f M", v/1e6)
	case v >= 1e4:
		return fmt.Sprintf("%.0f k", v/1e3)
	}
	return fmt.Sprintf("%.0f", v)
}

func micros(v float64) string {
	switch {
	case v <= 0:
		return "-"
	case v >= 1000:
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.2f", v)
}
