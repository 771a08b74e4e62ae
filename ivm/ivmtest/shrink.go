package ivmtest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/vegadb/vega-flight/fault"
)

// Faulty says that an error of [Text.Run] is a fault: the engine's, or, if DuckDB cannot bind the query, the generator's. A query that is
// admitted and cannot be built is the engine's; one whose plan DuckDB cannot tell is nobody's.
func Faulty(err error) bool {
	var refused *Refused
	var invalid *Invalid
	if errors.As(err, &invalid) && (fault.CodeOf(invalid.Err) == fault.NotYetSupported || strings.Contains(err.Error(), "Not implemented Error")) {
		return false // the planner cannot do it, or DuckDB itself
	}
	return err != nil && !errors.As(err, &refused)
}

// Shrink makes a case that fails smaller as long as it still fails in the same way, for at most so long.
func Shrink(ctx context.Context, l *Lab, c Case, most time.Duration) Case {
	end := time.Now().Add(most)
	first := c.Text().Run(ctx, l, c.Seed)
	fails := func(c Case) bool {
		if time.Now().After(end) || ctx.Err() != nil {
			return false
		}
		err := c.Text().Run(ctx, l, c.Seed)
		return Faulty(err) && sameKind(err, first)
	}
	for again := true; again && time.Now().Before(end); {
		again = false
		for i := len(c.History) - 1; i >= 0; i-- { // whole steps
			d := c
			if i == 0 {
				d.History = slices.Clone(c.History)
				d.History[0] = nil // its place is before the view
				if len(c.History[0]) == 0 {
					continue
				}
			} else {
				d.History = slices.Delete(slices.Clone(c.History), i, i+1)
			}
			if fails(d) {
				c, again = d, true
			}
		}
		if q, ok := shorten(c.Query, func(t []uint16) bool { d := c; d.Query = t; return fails(d) }); ok {
			c.Query, again = q, true
		}
		if d := c; len(c.Over) > 0 {
			if d.Over = nil; fails(d) {
				c, again = d, true
			} else if q, ok := shorten(c.Over, func(t []uint16) bool { d := c; d.Over = t; return len(t) > 0 && fails(d) }); ok {
				c.Over, again = q, true
			}
		}
		for i := range c.History {
			h, ok := shorten(c.History[i], func(t []uint16) bool {
				d := c
				d.History = slices.Clone(c.History)
				d.History[i] = t
				return fails(d)
			})
			if ok {
				c.History = slices.Clone(c.History)
				c.History[i], again = h, true
			}
		}
		if s, ok := shorten(c.Schema, func(t []uint16) bool { d := c; d.Schema = t; return fails(d) }); ok {
			c.Schema, again = s, true
		}
	}
	return c
}

// sameKind tells kinds of faults apart, so that shrinking does not end at another one.
func sameKind(a, b error) bool { return kind(a) == kind(b) }

var kinds = []string{"over a store", "in pieces", "with its changes in pieces", "made anew by a step", "made anew by loading", "and emptied",
	"the columns are", "rows too many", "emitted rows that cancel", "has a row", "DuckDB says", "the view has errors", "INTERNAL", "panic"}

func kind(err error) string {
	var i *Invalid
	if errors.As(err, &i) {
		return "invalid"
	}
	var out []string
	for _, k := range kinds {
		if strings.Contains(err.Error(), k) {
			out = append(out, k)
		}
	}
	if _, stack, ok := strings.Cut(err.Error(), "panic: "); ok {
		line, _, _ := strings.Cut(stack, "(0x")
		out = append(out, line)
	}
	return strings.Join(out, "; ")
}

// shorten cuts pieces out of a tape and makes its numbers smaller.
func shorten(t []uint16, fails func([]uint16) bool) ([]uint16, bool) {
	smaller := false
	for n := len(t); n >= 1; n /= 2 {
		for at := 0; at+n <= len(t); {
			if d := slices.Delete(slices.Clone(t), at, at+n); fails(d) {
				t, smaller = d, true
				continue
			}
			if slices.ContainsFunc(t[at:at+n], func(c uint16) bool { return c != 0 }) {
				d := slices.Clone(t)
				clear(d[at : at+n])
				if fails(d) {
					t, smaller = d, true
				}
			}
			at += n
		}
	}
	for i := range t {
		for t[i] > 0 {
			d := slices.Clone(t)
			d[i] /= 2
			if !fails(d) {
				break
			}
			t, smaller = d, true
		}
	}
	return t, smaller
}
