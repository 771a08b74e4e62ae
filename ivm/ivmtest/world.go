package ivmtest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/vegadb/vega-flight/ivm/plan"
	"github.com/vegadb/vega-flight/ivm/zset"
)

// World is tables in the oracle and views over them.
type World struct {
	lab    *Lab
	schema string
	tables []*table
	plain  []string // plain views and macros
	views  []*View
	now    int64
	commit uint64   // number of the newest one
	told   []string // statements since then
	begun  bool     // the mirror knows of it

	// Split is how the histories of second copies of the views are cut into pieces; 0: there are no copies.
	Split uint64
	// Manual says that nothing happens to views over a store but what is asked for.
	Manual bool
}

type table struct {
	source  *plan.Source
	rows    *zset.Batch // as they are after the last commit
	pending *zset.Batch // changes that the views have not been given
	event   *eventTime  // nil: without watermark
}

// Table makes tables by DDL.
func (w *World) Table(ctx context.Context, ddl string, appendOnly bool) error {
	if err := w.lab.oracle.exec(ctx, ddl); err != nil {
		return err
	}
	if m := w.lab.mirror(); m != nil {
		if !w.begun {
			w.begun = true
			if err := m.Begin(ctx, w.Split); err != nil {
				return err
			}
		}
		if err := m.Table(ctx, ddl); err != nil {
			return err
		}
	}
	names, err := w.lab.oracle.conn.Rows(ctx, `SELECT table_name FROM duckdb_tables() WHERE schema_name = ? ORDER BY table_oid`, w.schema)
	if err != nil {
		return err
	}
	for _, n := range names {
		if w.table(n[0].(string)) != nil {
			continue
		}
		s, err := w.lab.oracle.source(ctx, w.schema, n[0].(string))
		if err != nil {
			return err
		}
		s.AppendOnly = appendOnly
		t := &table{source: s}
		if t.rows, err = w.read(ctx, t); err != nil {
			return err
		}
		w.tables = append(w.tables, t)
	}
	return nil
}

// Plain makes plain views and macros by DDL.
func (w *World) Plain(ctx context.Context, ddl string) error {
	if err := w.lab.oracle.exec(ctx, ddl); err != nil {
		return err
	}
	w.plain = append(w.plain, ddl)
	if m := w.lab.mirror(); m != nil {
		return m.Table(ctx, ddl)
	}
	return nil
}

func (w *World) table(name string) *table {
	for _, t := range w.tables {
		if t.source.Name == name {
			return t
		}
	}
	return nil
}

// read is the rows of a table as they are now.
func (w *World) read(ctx context.Context, t *table) (*zset.Batch, error) {
	rows, err := w.lab.oracle.read(ctx, `FROM "`+t.source.Name+`"`, "")
	if err != nil {
		return nil, err
	}
	for i, c := range t.source.Columns { // a query's result has no collation
		rows.Layout.Types[i].Collation = c.Type.Collation
	}
	rows.Consolidate()
	return rows, nil
}

// Exec runs DML on the oracle's tables and gives nothing to the views yet.
func (w *World) Exec(ctx context.Context, dml string) error {
	w.told = append(w.told, dml)
	return w.lab.oracle.exec(ctx, dml)
}

// Step runs DML on the oracle's tables and has every view follow in one step. It is the one way to step.
func (w *World) Step(ctx context.Context, dml string) error {
	if dml != "" {
		if err := w.Exec(ctx, dml); err != nil {
			return fmt.Errorf("the oracle: %w", err)
		}
	}
	deltas, err := w.deltas(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for _, v := range w.views {
		errs = append(errs, v.step(ctx, v.given(deltas)))
	}
	return errors.Join(errs...)
}

// Commit runs DML as a commit of its own, which the views are given with the next step.
func (w *World) Commit(ctx context.Context, dml string) error {
	return errors.Join(w.Exec(ctx, dml), w.note(ctx))
}

// note notes what the tables' rows have changed since the last commit.
func (w *World) note(ctx context.Context) error {
	w.commit++
	if err := w.give(ctx); err != nil {
		return err
	}
	for _, t := range w.tables {
		rows, err := w.read(ctx, t)
		if err != nil {
			return err
		}
		d := minus(rows, t.rows)
		t.rows = rows
		switch {
		case d.Len() == 0:
		case t.event != nil:
			t.pending = positioned(d, w.commit, t.pending)
			if err := errors.Join(t.event.take(d), w.show(ctx, t)); err != nil {
				return err
			}
		case t.pending == nil:
			t.pending = d
		default:
			t.pending.AppendBatch(d)
			t.pending.Consolidate()
		}
	}
	return nil
}

// deltas is what the tables' rows have changed since the last step.
func (w *World) deltas(ctx context.Context) (map[string]*zset.Batch, error) {
	w.lab.Counts.Steps.Add(1)
	if err := w.note(ctx); err != nil {
		return nil, err
	}
	deltas := map[string]*zset.Batch{}
	for _, t := range w.tables {
		if t.pending != nil && t.pending.Len() > 0 {
			deltas[t.source.Name] = t.pending
		}
		t.pending = nil
	}
	return deltas, nil
}

// Clock moves the clock and has every view follow.
func (w *World) Clock(ctx context.Context, micros int64) error {
	w.now = max(w.now, micros)
	return w.Step(ctx, "")
}

// Options are what a view's query does not say.
type Options struct {
	TimeZone string
	Scale    float64  // see allowance
	Exact    bool     // the query leaves no choice, whatever the plan says
	Within   *Within  // of what the plan says that a tie decides
	Setup    []string // views and macros that the planner needs
	Over     string   // another view that the query reads as a table of that name
	Alone    bool     // its batches mean something, so no copy of the view gets them in pieces
}

// Within is the choice that a query leaves.
type Within struct {
	Of   string // a query: every row of the view is one of its rows
	Keys string // an expression list over the view's columns: its values are the same in every right answer
}

// View makes a view. The error is [Refused], [Invalid] or what went wrong.
func (w *World) View(ctx context.Context, name, sql string, o Options) (*View, error) {
	var below *View
	if o.Over != "" {
		if below = w.Named(o.Over); below == nil {
			return nil, fmt.Errorf("there is no view %s", o.Over)
		}
	}
	def, err := w.Plan(ctx, sql, o)
	if err != nil {
		return nil, err
	}
	def.Name = name
	if !def.Plan.Admitted() {
		return nil, &Refused{def.Plan.Reasons}
	}
	v := &View{Name: name, Definition: def, world: w, o: o, below: below}
	for _, t := range w.tables {
		if t.event != nil && t.event.known && v.reads(t) {
			return nil, errors.New("views of a table with a watermark are made before its rows come: their watermarks would differ")
		}
		if t.pending != nil && t.pending.Len() > 0 {
			return nil, errors.New("a view is made of what has been stepped")
		}
	}
	if v.main, err = v.open(ctx); err != nil {
		return nil, err
	}
	if w.lab.mirror() != nil {
		w.Split = 0
	}
	if w.Split != 0 && !o.Alone {
		if v.pieces, err = v.open(ctx); err != nil {
			return nil, errors.Join(err, v.close())
		}
		v.random = rand.New(rand.NewPCG(w.Split, uint64(len(w.views))))
	}
	if w.Split != 0 {
		if v.stored, err = v.run(w.lab.engine.OpenStored(ctx, v.Definition)); err != nil {
			return nil, errors.Join(err, v.close())
		}
		if s, ok := v.stored.Maintained.(*storedView); ok {
			s.manual = w.Manual
		}
	}
	w.views = append(w.views, v)
	w.lab.Counts.Views.Add(1)
	return v, v.step(ctx, v.whole())
}

// Plan plans a query over the world's tables.
func (w *World) Plan(ctx context.Context, sql string, o Options) (Definition, error) {
	q := bindQuery(sql, o)
	q.Setup = append(slices.Clone(w.plain), q.Setup...)
	for _, t := range w.tables {
		q.Sources = append(q.Sources, t.source)
	}
	if o.Over != "" {
		q.Sources = append(q.Sources, w.Named(o.Over).asSource())
	}
	p, err := w.lab.planner.Plan(ctx, q)
	if err != nil {
		return Definition{}, &Invalid{err}
	}
	return Definition{SQL: sql, Plan: p, TimeZone: o.TimeZone, Sources: q.Sources}, nil
}

// whole is the tables as changes of nothing.
func (w *World) whole() map[string]*zset.Batch {
	all := map[string]*zset.Batch{}
	for _, t := range w.tables {
		rows := t.rows
		if t.event != nil {
			rows = positioned(t.event.seen, w.commit, nil)
		}
		if rows.Len() > 0 {
			all[t.source.Name] = rows
		}
	}
	return all
}

// Named is a view of that name, or nil.
func (w *World) Named(name string) *View {
	for _, v := range w.views {
		if v.Name == name {
			return v
		}
	}
	return nil
}

// Close makes every view anew, compares, and drops everything.
func (w *World) Close(ctx context.Context) error {
	var errs []error
	if w.lab.mirror() == nil {
		for _, v := range w.views {
			errs = append(errs, v.rebuild(ctx))
		}
	}
	return errors.Join(append(errs, w.Drop(ctx))...)
}

// Drop drops everything.
func (w *World) Drop(ctx context.Context) error {
	var errs []error
	for i := len(w.views) - 1; i >= 0; i-- {
		errs = append(errs, w.views[i].close())
		if b := w.views[i].below; b != nil {
			errs = append(errs, w.lab.oracle.exec(ctx, "DROP TABLE IF EXISTS temp."+b.Name))
		}
	}
	w.views = nil
	if m := w.lab.mirror(); m != nil && w.begun {
		errs = append(errs, m.End(ctx))
	}
	return errors.Join(append(errs, w.lab.oracle.exec(ctx, "USE main; DROP SCHEMA "+w.schema+" CASCADE; DROP SCHEMA IF EXISTS "+w.schema+"_seen CASCADE"))...)
}
