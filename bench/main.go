package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
)

// measurement is one entry of the table; it may give several lines.
type measurement struct {
	name string
	run  func(ctx context.Context, s *sides) ([]result, error)
}

var measurements = []measurement{
	{"stream", stream},
	{"roundtrip", roundTrip},
	{"refresh", refresh},
	{"commit", commit},
	{"visible", visible},
	{"backfill", backfill},
	{"keys", keys},
	{"optimizers", optimizers},
}

func main() {
	quick := flag.Bool("quick", false, "a tenth of the rows and few rounds: shows that it works, not what it measures")
	only := flag.String("only", "", "run the measurements with this prefix")
	file := flag.String("json", ".build/bench.json", "where the figures are written")
	binary := flag.String("binary", ".build/bin/vega-flight", "the server")
	extensions := flag.String("extensions", os.Getenv("VEGA_EXTENSION_DIR"), "folder of DuckDB extensions")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *quick, *only, *file, *binary, *extensions); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, quick bool, only, file, binary, extensions string) error {
	dir, err := os.MkdirTemp("", "vega-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	s, err := openSides(ctx, filepath.Clean(binary), extensions, dir, quick)
	if err != nil {
		return err
	}
	defer s.close()
	var all []result
	for _, m := range measurements {
		if !strings.HasPrefix(m.name, only) {
			continue
		}
		fmt.Fprintf(os.Stderr, "measuring %s\n", m.name)
		rs, err := m.run(ctx, s)
		if err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
		all = append(all, rs...)
	}
	printTable(os.Stdout, all)
	return writeJSON(file, all)
}
