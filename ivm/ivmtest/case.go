package ivmtest

import (
	"context"
	"fmt"
	"strings"
)

// Case is a random schema, query and history, as choices. Equal ones are equal.
type Case struct {
	Seed    uint64
	Schema  []uint16
	Query   []uint16
	History [][]uint16 // a tape a step
}

// Text is a case as SQL.
type Text struct {
	Tables []string
	SQL    string
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
	newGenerator(t, s).view()
	c.Query = t.made
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
	for _, t := range s.tables {
		out.Tables = append(out.Tables, t.ddl())
	}
	out.SQL = newGenerator(readTape(c.Query), s).view()
	for i, h := range c.History {
		statements := newHistory(readTape(h), s).step()
		if i == 0 {
			out.Before = statements
			continue
		}
		out.Steps = append(out.Steps, statements)
	}
	return out
}

// mostRows is how many different rows a view may have before its history ends.
const mostRows = 20_000

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
	for _, ddl := range t.Tables {
		if err := w.Table(ctx, ddl, false); err != nil {
			return err
		}
	}
	if len(t.Before) > 0 {
		if err := w.Step(ctx, strings.Join(t.Before, ";\n")); err != nil {
			return err
		}
	}
	if _, err := w.View(ctx, "v", t.SQL, Options{Exact: true}); err != nil {
		return err
	}
	for i, s := range t.Steps {
		if v := w.Named("v"); v.main.rows.Len() > mostRows { // joins of joins; the next step would be larger still
			break
		}
		if err := w.Step(ctx, strings.Join(s, ";\n")); err != nil {
			return fmt.Errorf("step %d: %w", i+1, err)
		}
	}
	done = true
	return w.Close(ctx)
}

// Script writes the case as a script for [Run].
func (t Text) Script(name string) string {
	var b strings.Builder
	command := func(what, text string) { fmt.Fprintf(&b, "%s\n%s\n----\n\n", what, text) }
	fmt.Fprintf(&b, "case %s\n----\n\n", name)
	for _, ddl := range t.Tables {
		command("table", ddl)
	}
	if len(t.Before) > 0 {
		command("step", strings.Join(t.Before, ";\n"))
	}
	command("view v exact", t.SQL)
	for _, s := range t.Steps {
		command("step", strings.Join(s, ";\n"))
	}
	return b.String()
}
