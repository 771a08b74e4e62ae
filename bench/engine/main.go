package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// settings are the command line's.
type settings struct {
	scale
	quick    bool
	json     string
	data     string
	work     string
	runs     int
	only     []string // workloads
	systems  []string
	workers  []int
	peers    []string
	profiles string
	document string
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	err := command(ctx, os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench/engine:", err)
		os.Exit(1)
	}
}

func command(ctx context.Context, args []string) error {
	if len(args) > 1 && args[0] == "side" {
		return sideCommand(ctx, args[1], args[2:])
	}
	if len(args) > 0 && args[0] == "backfill" {
		return backfillCommand(ctx, args[1:], os.Stdout)
	}
	s, err := readSettings(args)
	if err != nil {
		return err
	}
	return s.run(ctx)
}

// sideCommand is what processes of our own sides run.
func sideCommand(ctx context.Context, name string, args []string) error {
	f := flag.NewFlagSet("side "+name, flag.ExitOnError)
	var o sideOptions
	view := f.String("w", "w1", "the workload")
	f.IntVar(&o.workers, "workers", 1, "cores")
	f.IntVar(&o.rounds, "rounds", 10, "rounds of batches")
	f.StringVar(&o.data, "data", ".", "folder of the inputs")
	f.StringVar(&o.result, "res", ".", "folder of the results")
	f.StringVar(&o.profile, "profile", "", "file for a CPU profile of the changes")
	f.BoolVar(&o.plan, "plan", false, "only show the plan")
	if err := f.Parse(args); err != nil {
		return err
	}
	if o.workload = workloadNamed(*view); o.workload == nil {
		return fmt.Errorf("there is no workload %q", *view)
	}
	return runSide(ctx, name, o, os.Stdout)
}

func readSettings(args []string) (*settings, error) {
	s := &settings{}
	f := flag.NewFlagSet("engine", flag.ExitOnError)
	list := func(to *[]string, name, what string) {
		f.Func(name, what, func(v string) error {
			*to = append(*to, strings.Split(v, ",")...)
			return nil
		})
	}
	f.BoolVar(&s.quick, "quick", false, "two rounds, one run, one core, few events")
	f.StringVar(&s.json, "json", ".build/bench-engine.json", "file for the figures")
	f.StringVar(&s.data, "data", "", "folder of inputs that are there already; \"\" makes them from the seed")
	f.StringVar(&s.work, "work", ".build/bench-engine", "folder for inputs, results and peers")
	f.StringVar(&s.profiles, "profiles", "", "folder for a CPU profile of each workload, and its heaviest functions as text; \"\" is in the work folder")
	f.StringVar(&s.document, "markdown", "", "document for the tables: between its marks, or all of it")
	f.Uint64Var(&s.Seed, "seed", 42, "of the inputs")
	f.Int64Var(&s.Rows, "rows", 1_000_000, "of the first content")
	f.Int64Var(&s.Events, "events", 2_000_000, "of Nexmark")
	f.IntVar(&s.Rounds, "rounds", 10, "of batches")
	f.IntVar(&s.runs, "runs", 3, "of each system, in turn; the best counts")
	list(&s.only, "only", "workloads, with commas; \"tables\" and \"nexmark\" are groups of them")
	list(&s.systems, "systems", "of vega, floor, differential, duckdb and the peers that are named")
	f.Func("peer", "NAME=COMMAND of another program of the form that doc.go tells", func(v string) error {
		s.peers = append(s.peers, v)
		return nil
	})
	f.Func("workers", "cores, with commas", func(v string) error {
		for _, x := range strings.Split(v, ",") {
			n, err := strconv.Atoi(x)
			if err != nil || n < 1 {
				return fmt.Errorf("%q is not a number of cores", x)
			}
			s.workers = append(s.workers, n)
		}
		return nil
	})
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	set := map[string]bool{}
	f.Visit(func(g *flag.Flag) { set[g.Name] = true })
	if s.quick {
		for name, quick := range map[string]func(){
			"rounds": func() { s.Rounds = 2 }, "runs": func() { s.runs = 1 }, "events": func() { s.Events = 200_000 },
			"workers": func() { s.workers = []int{1} },
		} {
			if !set[name] {
				quick()
			}
		}
	}
	if len(s.workers) == 0 {
		s.workers = []int{1, 2}
	}
	if s.profiles == "" {
		s.profiles = filepath.Join(s.work, "profiles")
	}
	return s, nil
}

func (s *settings) wants(w *workload) bool {
	group := "tables"
	if w.nexmark() {
		group = "nexmark"
	}
	return len(s.only) == 0 || slices.Contains(s.only, w.name) || slices.Contains(s.only, w.label()) || slices.Contains(s.only, group)
}

// inputs makes the inputs, unless they are there.
func (s *settings) inputs() (string, error) {
	if s.data != "" {
		return s.data, nil
	}
	dir := filepath.Join(s.work, fmt.Sprintf("data-%d-%d-%d-%d", s.Seed, s.Rows, s.Rounds, s.Events))
	whole := filepath.Join(dir, "scale.json")
	if _, err := os.Stat(whole); err == nil {
		return dir, nil
	}
	fmt.Fprintln(os.Stderr, "making inputs")
	if err := generate(dir, s.scale); err != nil {
		return "", err
	}
	text, err := json.Marshal(s.scale)
	if err != nil {
		return "", err
	}
	return dir, os.WriteFile(whole, text, 0o644)
}

// find gives the systems that are wanted and there.
func (s *settings) find(ctx context.Context) ([]*system, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	wanted := func(name string) bool { return len(s.systems) == 0 || slices.Contains(s.systems, name) }
	var all []*system
	for _, name := range []string{"vega", "floor"} {
		if wanted(name) {
			all = append(all, &system{name: name, command: []string{self, "side", name}, ours: true})
		}
	}
	if wanted("differential") {
		binary, ok, err := differential(ctx, filepath.Join(s.work, "..", "differential"))
		if err != nil {
			return nil, err
		}
		if ok {
			all = append(all, &system{name: "differential", command: []string{binary}})
		} else {
			fmt.Fprintln(os.Stderr, "no cargo here: differential-dataflow is left out")
		}
	}
	for _, p := range s.peers {
		name, command, ok := strings.Cut(p, "=")
		if !ok || len(strings.Fields(command)) == 0 {
			return nil, fmt.Errorf("--peer %q is not NAME=COMMAND", p)
		}
		if wanted(name) {
			all = append(all, &system{name: name, command: strings.Fields(command)})
		}
	}
	if wanted("duckdb") {
		all = append(all, &system{name: "duckdb", command: []string{self, "side", "duckdb"}, ours: true})
	}
	return all, nil
}

func (s *settings) run(ctx context.Context) (err error) {
	data, err := s.inputs()
	if err != nil {
		return err
	}
	systems, err := s.find(ctx)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(s.profiles, 0o755); err != nil {
		return err
	}
	n := &session{settings: s, data: data, systems: systems, oracle: newOracle(data, s.Rounds), began: time.Now(), load: loadAverage()}
	defer func() { err = errors.Join(err, n.oracle.close()) }()
	for _, w := range workloads {
		if s.wants(w) {
			if err := n.run(ctx, w); err != nil {
				return err
			}
		}
	}
	n.print(os.Stdout)
	if err := n.writeJSON(s.json); err != nil {
		return err
	}
	tops, err := n.writeTops(ctx)
	if err != nil || s.document == "" {
		return err
	}
	return n.writeMarkdown(s.document, tops)
}
