package ivmtest

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Case is a random schema, query and history, as choices. Equal ones are equal.
type Case struct {
	Seed    uint64
	Schema  []uint16
	Query   []uint16
	Over    []uint16   // a query over the view; empty: there is none
	History [][]uint16 // a tape a step
}

// Text is a case as SQL.
type Text struct {
	Tables []string
	Times  []string // of each table the column of its watermark; "" is none
	SQL    string
	Over   string     // a query over the view v; "" is none
	Before []string   // statements before the view is made
	Steps  [][]string // statements
}

// NewCase draws a case.
func NewCase(seed uint64) Case {
	c := Case{Seed: seed}
	t := newTape(seed, 1)
	s := newSchema(t)
	c.Schema = t.made
	t = newTape(seed, 2)
	g := newGenerator(t, s)
	g.view()
	c.Query = t.made
	if t = newTape(seed, 1<<20); t.chance(20) {
		t.made = nil
		g.t = t
		if g.over("v", g.cols) != "" {
			c.Over = t.made
		}
	}
	sizes := newTape(seed, 3)
	for i := range uint64(2 + sizes.n(8)) {
		t = newTape(seed, 4+i)
		newHistory(t, s).step()
		c.History = append(c.History, t.made)
	}
	return c
}

// Text writes the case down.
func (c Case) Text() Text {
	s := newSchema(readTape(c.Schema))
	var out Text
	timed := false
	for _, t := range s.tables {
		out.Tables, out.Times = append(out.Tables, t.ddl()), append(out.Times, t.time)
		timed = timed || t.time != ""
	}
	g := newGenerator(readTape(c.Query), s)
	out.SQL = g.view()
	if len(c.Over) > 0 {
		g.t = readTape(c.Over)
		out.Over = g.over("v", g.cols)
	}
	for i, h := range c.History {
		statements := newHistory(readTape(h), s).step()
		if i == 0 && !timed {
			out.Before = statements
			continue
		}
		out.Steps = append(out.Steps, statements)
	}
	return out
}

// mostRows is how many rows a query's operators may handle before the history ends.
const mostRows = 50_000

// Run runs a case. The error is a [Wrong], [Refused] or [Invalid], or that something failed.
func (t Text) Run(ctx context.Context, l *Lab, split uint64) (err error) {
	w, err := l.World(ctx)
	if err != nil {
		return err
	}
	w.Split = split
	done := false
	defer func() {
		if !done {
			if dropped := w.Drop(ctx); err == nil {
				err = dropped
			}
		}
	}()
	for i, ddl := range t.Tables {
		if err := w.Table(ctx, ddl, false); err != nil {
			return err
		}
		if t.Times[i] != "" {
			if err := w.watermark(ctx, w.tables[i], t.Times[i], genDelay); err != nil {
				return err
			}
		}
	}
	if len(t.Before) > 0 {
		if err := w.play(ctx, t.Before); err != nil {
			return err
		}
	}
	if large, err := w.large(ctx, t.SQL); err != nil || large {
		return err
	}
	if _, err := w.View(ctx, "v", t.SQL, Options{Exact: true}); err != nil {
		return err
	}
	if t.Over != "" {
		if _, err := w.View(ctx, "o", t.Over, Options{Exact: true, Over: "v"}); err != nil {
			return err
		}
	}
	for i, s := range t.Steps {
		if err := w.playCommits(ctx, s); err != nil {
			return fmt.Errorf("step %d: %w", i+1, err)
		}
		large := false
		for _, v := range w.views { // joins of joins
			if err := v.tell(ctx); err != nil {
				break // v has errors, and nothing is above it
			}
			more, err := w.large(ctx, v.SQL)
			if err != nil {
				return err
			}
			large = large || more
		}
		if large {
			return nil
		}
		if err := w.Step(ctx, ""); err != nil {
			return fmt.Errorf("step %d: %w", i+1, err)
		}
		if split != 0 && (split+uint64(i))%4 == 0 {
			for _, v := range w.views {
				if v.eventful() {
					continue
				}
				if err := v.backfill(ctx); err != nil {
					return fmt.Errorf("after step %d: %w", i+1, err)
				}
			}
		}
	}
	done = true
	return w.Close(ctx)
}

// genDelay is that of watermarks.
const genDelay = 36 * time.Hour

// play runs statements, of which some move the clock, and steps.
func (w *World) play(ctx context.Context, statements []string) error {
	return errors.Join(w.playCommits(ctx, statements), w.Step(ctx, ""))
}

// playCommits makes the first statement a commit of its own if there is a table with a watermark.
func (w *World) playCommits(ctx context.Context, statements []string) error {
	timed := slices.ContainsFunc(w.tables, func(t *table) bool { return t.event != nil })
	for i, s := range statements {
		if to, ok := strings.CutPrefix(s, clockTo); ok {
			at, err := time.Parse("2006-01-02 15:04:05", to)
			if err != nil {
				return err
			}
			w.now = max(w.now, at.UnixMicro())
			continue
		}
		run := w.Exec
		if timed && i == 0 {
			run = w.Commit
		}
		if err := run(ctx, s); err != nil {
			return fmt.Errorf("the oracle: %w", err)
		}
	}
	return nil
}

// large says that a query handles more rows than a test should, somewhere within.
func (w *World) large(ctx context.Context, sql string) (bool, error) {
	total := 0
	for _, t := range w.tables {
		total += t.rows.Len()
	}
	if total < 40 && len(w.views) == 0 {
		return false, nil
	}
	o := w.lab.oracle
	if err := o.exec(ctx, "SET disabled_optimizers = 'join_order,build_side_probe_side,join_filter_pushdown'"); err != nil {
		return false, err
	}
	within, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	rows, err := o.conn.Rows(within, "EXPLAIN (ANALYZE, FORMAT JSON) "+at(sql, w.now))
	if reset := o.exec(ctx, "SET disabled_optimizers = 'join_filter_pushdown'"); reset != nil {
		return false, reset
	}
	if err != nil {
		return within.Err() != nil, nil // the view says so as well
	}
	handled := 0
	for _, m := range cardinality.FindAllStringSubmatch(fmt.Sprint(rows), -1) {
		n, err := strconv.Atoi(m[1])
		if err != nil {
			return true, nil // too large for a number
		}
		handled += n
	}
	return handled > mostRows, nil
}

var cardinality = regexp.MustCompile(`"operator_cardinality": ?([0-9]+)`)

// Script writes the case as a script for [Run].
func (t Text) Script(name string) string {
	var b strings.Builder
	command := func(what, text string) { fmt.Fprintf(&b, "%s\n%s\n----\n\n", what, text) }
	fmt.Fprintf(&b, "case %s\n----\n\n", name)
	timed := false
	for i, ddl := range t.Tables {
		what := "table"
		if t.Times[i] != "" {
			what, timed = fmt.Sprintf("table watermark=%s delay=%s", t.Times[i], genDelay), true
		}
		command(what, ddl)
	}
	step := func(statements []string) {
		var rest []string
		for i, s := range statements {
			if to, ok := strings.CutPrefix(s, clockTo); ok {
				command("clock", to)
			} else if timed && i == 0 {
				command("commit", s)
			} else {
				rest = append(rest, s)
			}
		}
		command("step", strings.Join(rest, ";\n"))
	}
	if len(t.Before) > 0 {
		step(t.Before)
	}
	command("view v exact", t.SQL)
	if t.Over != "" {
		command("view o exact over=v", t.Over)
	}
	for _, s := range t.Steps {
		step(s)
	}
	return b.String()
}
