package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"time"
)

// result is one line of the table.
type result struct {
	Name   string  `json:"name"`
	What   string  `json:"what"`
	Ours   float64 `json:"ours"`
	Theirs float64 `json:"theirs"`
	Unit   string  `json:"unit"`
	Figure float64 `json:"figure"` // what the bar is about: a ratio or a difference of the two, or ours alone
	Bar    string  `json:"bar"`
	Meets  bool    `json:"meets"`
	Note   string  `json:"note,omitempty"`
}

func printTable(w io.Writer, rs []result) {
	fmt.Fprintf(w, "\n%-26s %10s %14s %14s %-9s %-22s %s\n", "measurement", "figure", "ours", "other side", "unit", "bar", "")
	for _, r := range rs {
		mark := "meets"
		if !r.Meets {
			mark = "MISSES"
		}
		fmt.Fprintf(w, "%-26s %10.2f %14.2f %14.2f %-9s %-22s %s  %s\n", r.Name, r.Figure, r.Ours, r.Theirs, r.Unit, r.Bar, mark, r.What)
		if r.Note != "" {
			fmt.Fprintf(w, "%26s %s\n", "", r.Note)
		}
	}
}

func writeJSON(file string, rs []result) error {
	text, err := json.MarshalIndent(map[string]any{"results": rs}, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(text, '\n'), 0o644)
}

// median of durations, in milliseconds.
func median(ds []time.Duration) float64 {
	s := slices.Clone(ds)
	slices.Sort(s)
	return float64(s[len(s)/2]) / float64(time.Millisecond)
}

// timed runs f and returns how long it took.
func timed(f func() error) (time.Duration, error) {
	start := time.Now()
	err := f()
	return time.Since(start), err
}

// inTurn runs a and b alternately, after one uncounted round, and returns the counted times.
func inTurn(rounds int, a, b func() error) (as, bs []time.Duration, err error) {
	for i := range rounds + 1 {
		da, err := timed(a)
		if err != nil {
			return nil, nil, err
		}
		db, err := timed(b)
		if err != nil {
			return nil, nil, err
		}
		if i > 0 {
			as, bs = append(as, da), append(bs, db)
		}
	}
	return as, bs, nil
}
