package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"time"
)

// Where a document keeps the tables of a run; a file without these lines holds nothing else.
const (
	tablesBegin = "<!-- bench-engine: begin -->\n"
	tablesEnd   = "<!-- bench-engine: end -->\n"
)

// writeMarkdown puts the tables into a document.
func (s *session) writeMarkdown(file string, tops map[*workload][]string) error {
	var b bytes.Buffer
	s.markdown(&b, tops)
	old, err := os.ReadFile(file)
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	return os.WriteFile(file, []byte(placedIn(string(old), b.String())), 0o644)
}

// placedIn is a document with the text between its marks.
func placedIn(document, text string) string {
	before, rest, begins := strings.Cut(document, tablesBegin)
	_, after, ends := strings.Cut(rest, tablesEnd)
	if !begins || !ends {
		return text
	}
	return before + tablesBegin + text + tablesEnd + after
}

func (s *session) markdown(w io.Writer, tops map[*workload][]string) {
	fmt.Fprintf(w, "%s; %d cores, load %s before and %s after; %s, %s. ", processor(), runtime.NumCPU(), s.load, loadAverage(), runtime.Version(), s.began.UTC().Format(time.DateOnly))
	fmt.Fprintf(w, "%s rows, %d rounds of batches, %s events; best of %d runs, in turn.\n", short(float64(s.Rows)), s.Rounds, short(float64(s.Events)), s.runs)
	s.group(w, "Changes a second", false)
	s.group(w, "Nexmark, events a second", true)
	if len(s.failed) > 0 {
		fmt.Fprintf(w, "\n%d measurements failed:\n\n", len(s.failed))
		for _, f := range s.failed {
			first, _, _ := strings.Cut(f, "\n")
			fmt.Fprintf(w, "- %s\n", first)
		}
	}
	if len(tops) == 0 {
		return
	}
	fmt.Fprint(w, "\nWhere the engine's time goes, one core:\n\n")
	for _, load := range workloads {
		if t := tops[load]; len(t) > 0 {
			fmt.Fprintf(w, "- %s: %s\n", load.label(), strings.Join(t, ", "))
		}
	}
}

// group is the table of the workloads over tables, or of Nexmark: a line for each workload and system.
func (s *session) group(w io.Writer, title string, nexmark bool) {
	sizes := []int{10_000, 100}
	if nexmark {
		sizes = sizes[:1]
	}
	begun := false
	var last *workload
	for _, r := range s.results {
		if r.workload.nexmark() != nexmark || r.workers != s.workers[0] {
			continue
		}
		if !begun {
			begun = true
			head := []string{"", title}
			for _, size := range sizes {
				of := short(float64(size))
				head = append(head, of+", one core", "per CPU s", "aim", "two cores")
			}
			if nexmark {
				head = append(head, "p50", "p99", "B/key", "MiB", "right")
			} else {
				head = append(head, "one row: p50", "p99", "B/key", "B/row", "right")
			}
			fmt.Fprintf(w, "\n|%s|\n|%s\n", strings.Join(head, "|"), strings.Repeat("---|", len(head)))
		}
		name := ""
		if r.workload != last {
			name, last = fmt.Sprintf("**%s** %s", r.workload.label(), strings.TrimPrefix(r.workload.what, "Nexmark: ")), r.workload
		}
		cells := []string{name, r.system}
		for _, size := range sizes {
			cells = append(cells, s.rates(r, size)...)
		}
		latency, memory := 1, r.perRow()
		if nexmark {
			latency, memory = eventBatch, 0
		}
		b, _, _ := r.best(latency)
		cells = append(cells, duration(b.p50), duration(b.p99), short(r.perKey()))
		if nexmark {
			cells = append(cells, size(r.state()))
		} else {
			cells = append(cells, short(memory))
		}
		fmt.Fprintf(w, "|%s|\n", strings.Join(append(cells, yes(r.equal)), "|"))
	}
}

// rates are a system's rates for batches of one size: on one core, by CPU time, the aim of ours, and on two cores.
func (s *session) rates(r *result, size int) []string {
	b, _, _ := r.best(size)
	aim := ""
	if a := r.workload.aim[size]; r.system == "vega" && a > 0 {
		aim = short(a)
		if b.perSecond <= a {
			aim += " missed"
		}
	}
	more := ""
	for _, o := range s.results {
		if o.workload == r.workload && o.system == r.system && o.workers == 2 && r.workers != 2 {
			x, _, _ := o.best(size)
			more = short(x.perSecond)
		}
	}
	return []string{short(b.perSecond), short(b.perCPU), aim, more}
}

func yes(is bool) string {
	if is {
		return "yes"
	}
	return "NO"
}

// duration is a time that is given in µs.
func duration(us float64) string {
	switch {
	case us <= 0:
		return "-"
	case us >= 10_000:
		return fmt.Sprintf("%.0f ms", us/1000)
	case us >= 1000:
		return fmt.Sprintf("%.1f ms", us/1000)
	case us >= 10:
		return fmt.Sprintf("%.0f µs", us)
	}
	return fmt.Sprintf("%.2g µs", us)
}

// processor is the machine's, as the kernel calls it.
func processor() string {
	text, _ := os.ReadFile("/proc/cpuinfo")
	_, rest, _ := strings.Cut(string(text), "model name")
	line, _, _ := strings.Cut(rest, "\n")
	if name := strings.TrimLeft(line, "\t :"); name != "" {
		return name
	}
	return runtime.GOARCH
}

func loadAverage() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "-"
	}
	return strings.Fields(string(text))[0]
}
