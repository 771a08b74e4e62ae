package ivm

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/ivm/catalog"
	"github.com/vegadb/vega-flight/ivm/ddl"
	"github.com/vegadb/vega-flight/ivm/job"
	"github.com/vegadb/vega-flight/ivm/refresh"
)

func (e *Engine) create(ctx context.Context, c Caller, s *ddl.CreateView) (r Result, wait bool, err error) {
	release, err := e.exclusive(ctx)
	if err != nil {
		return Result{}, false, err
	}
	defer release()
	for attempt := 0; ; attempt++ {
		r, wait, err = e.tryCreate(ctx, c, s)
		// The name was free and is taken: another server was quicker, and what that means depends on what it made.
		if attempt == 2 || !errors.Is(err, fault.ObjectExists.Sentinel()) {
			return r, wait, err
		}
	}
}

func (e *Engine) tryCreate(ctx context.Context, c Caller, s *ddl.CreateView) (r Result, wait bool, err error) {
	name, err := e.c.Binder.Place(c.Session, s.Name)
	if err != nil {
		return Result{}, false, place(err, s.NameOffset)
	}
	set, err := e.views(ctx)
	if err != nil {
		return Result{}, false, err
	}
	old := set.Find(name)
	switch {
	case old != nil && s.IfNotExists:
		return status(s.Verb()), false, nil
	case old != nil && s.Replace:
		if err := mayChange(c, old); err != nil {
			return Result{}, false, err
		}
	default:
		if err := set.Free(name); err != nil {
			return Result{}, false, place(err, s.NameOffset)
		}
	}

	d, err := e.define(ctx, c, s)
	if err != nil {
		return Result{}, false, err
	}
	uuid := ""
	if old != nil {
		uuid = old.UUID
	}
	if err := set.CheckCycle(uuid, name, d.row.Sources); err != nil {
		return Result{}, false, err
	}
	d.row.Name, d.row.Owner = name, c.Principal
	if old != nil {
		return e.replace(ctx, c, s, set, old, d)
	}

	m := refresh.Making{Name: name, Columns: d.columns, Row: d.row}
	if !s.NoData {
		j := e.jobs.New(job.Create, "", name.String(), c.Principal, "statement", refresh.Order{Full: true}.Encode())
		m.Job = &j
	}
	table, err := e.c.Tables.Create(ctx, m)
	if err != nil {
		return Result{}, false, err
	}
	e.log.Info("view created", "view", name.String(), "uuid", table.UUID, "owner", c.Principal)
	e.syncSchedules(ctx)
	if m.Job == nil {
		return status(s.Verb()), false, nil
	}
	m.Job.Subject = table.UUID
	return e.submitted(*m.Job, s.Verb(), s.Options)
}

// submitted hands a durable job to the runner.
func (e *Engine) submitted(j job.Job, verb string, o ddl.Options) (Result, bool, error) {
	e.jobs.Enqueue(j)
	if o.Bool("wait", true) {
		return Result{Job: &j}, true, nil
	}
	r := accepted(verb, j)
	r.Job = &j
	return r, false, nil
}

// defined is a new definition.
type defined struct {
	row     catalog.Row // without uuid, name and owner
	columns []catalog.Column
}

// define binds the query and completes the definition.
func (e *Engine) define(ctx context.Context, c Caller, s *ddl.CreateView) (defined, error) {
	options, err := catalog.Options{}.Set(s.Options)
	if err != nil {
		return defined{}, err
	}
	if _, err := specOf(options); err != nil {
		return defined{}, err
	}
	bound, err := e.c.Binder.Bind(ctx, c.Session, s.Query)
	if err != nil {
		return defined{}, shift(err, s.QueryOffset)
	}
	columns, err := nameColumns(bound.Columns, s.Columns)
	if err != nil {
		return defined{}, err
	}
	row := catalog.Row{Kind: catalog.Traditional, CreatedAt: time.Now().UTC(), Sources: bound.Sources}
	row = row.WithDefinition(catalog.Definition{
		Kind: catalog.Traditional, Query: bound.Query, TimeZone: bound.TimeZone, Options: options, Pinned: bound.Pinned, Consistent: bound.Consistent,
	})
	return defined{row: row, columns: columns}, nil
}

// nameColumns applies the list of names of CREATE … (a, b).
func nameColumns(columns []catalog.Column, names []string) ([]catalog.Column, error) {
	if len(names) > len(columns) {
		return nil, fault.InvalidParameter.Newf("the view names %d columns and its query gives %d", len(names), len(columns))
	}
	out := make([]catalog.Column, len(columns))
	seen := map[string]bool{}
	for i, col := range columns {
		if i < len(names) {
			col.Name = names[i]
		}
		key := strings.ToLower(col.Name)
		if seen[key] {
			return nil, fault.InvalidParameter.Newf("two columns of the view are called %q", col.Name).WithHint("name them apart in the query, or after the view's name")
		}
		seen[key] = true
		out[i] = col
	}
	return out, nil
}

// replace is CREATE OR REPLACE over a view. The old content is served until the new one is published.
func (e *Engine) replace(ctx context.Context, c Caller, s *ddl.CreateView, set *catalog.Set, old *catalog.View, d defined) (Result, bool, error) {
	row := d.row
	row.UUID, row.Owner, row.CreatedAt = old.UUID, old.Owner, old.CreatedAt
	order := refresh.Order{Full: true, Redefine: &row}
	if !sameColumns(old.Table.Columns, d.columns) {
		if deps := set.Dependents(old); len(deps) > 0 {
			return Result{}, false, fault.DependentViews.Newf("the columns of view %s would change, and it is read by %s", old.Name(), catalog.Names(deps)).
				WithHint("drop those views first, or keep the columns")
		}
		order.Columns = d.columns
	}
	if s.NoData {
		// Without data there is nothing to serve under the new definition.
		if err := e.stopJobs(ctx, old.UUID); err != nil {
			return Result{}, false, err
		}
		row.Sources = d.row.Sources
		if _, err := e.c.Tables.Replace(ctx, old, refresh.Making{Name: old.Name(), Columns: d.columns, Row: row}); err != nil {
			return Result{}, false, err
		}
		e.syncSchedules(ctx)
		return status(s.Verb()), false, nil
	}
	j := e.jobs.New(job.Create, old.UUID, old.Name().String(), c.Principal, "statement", order.Encode())
	if err := e.c.Jobs.Insert(ctx, j); err != nil {
		return Result{}, false, err
	}
	return e.submitted(j, s.Verb(), s.Options)
}

func sameColumns(a, b []catalog.Column) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !strings.EqualFold(a[i].Name, b[i].Name) || !strings.EqualFold(a[i].Type, b[i].Type) {
			return false
		}
	}
	return true
}
