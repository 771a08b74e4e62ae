package bind

import (
	"context"
	"fmt"

	"github.com/vegadb/vega-flight/ducklake/gate"
	"github.com/vegadb/vega-flight/ivm/catalog"
	"github.com/vegadb/vega-flight/ivm/ddl"
	"github.com/vegadb/vega-flight/ivm/plan"
	"github.com/vegadb/vega-flight/ivm/refresh"
	"github.com/vegadb/vega-flight/ivm/row"
)

// Stream plans a query as a streaming view would run it. Plain views and macros are put in their place first, as for a
// traditional view; positions in the reasons are those of the caller's text. The options say which columns carry event time.
// What is bound is of no use when the plan is not admitted.
func (b *Binder) Stream(ctx context.Context, s any, query string, o ddl.Options) (*plan.Plan, refresh.Bound, error) {
	session, err := b.session(s)
	if err != nil {
		return nil, refresh.Bound{}, err
	}
	bound, err := session.Bind(ctx, query)
	if err != nil {
		return nil, refresh.Bound{}, err
	}
	stored, err := b.sources(ctx, bound.Sources)
	if err != nil {
		return nil, refresh.Bound{}, err
	}
	p, err := b.streamed(ctx, bound, stored, query, o)
	if err != nil || !p.Admitted() {
		return p, refresh.Bound{}, err
	}
	out, err := boundOf(bound, stored)
	return p, out, err
}

// streamed is the plan of a query that is bound.
func (b *Binder) streamed(ctx context.Context, bound *gate.Bound, stored []catalog.Source, query string, o ddl.Options) (*plan.Plan, error) {
	reasons := refused(bound.Columns)
	var sources []*plan.Source
	for _, src := range stored {
		known, err := streamSource(src)
		if err != nil {
			reasons = append(reasons, plan.Reason{Code: plan.UnstableType, Position: plan.NoPosition, Message: err.Error(), Hint: "leave it out of the query"})
			continue
		}
		sources = append(sources, known)
	}
	if len(sources) < len(stored) { // there is no table to plan over
		return plan.Unplanned(reasons...), nil
	}
	if err := watch(sources, o); err != nil {
		return nil, err
	}
	planner, err := b.planning(ctx)
	if err != nil {
		return nil, err
	}
	in, err := planner.Input(ctx, Query{SQL: bound.SQL, Text: query, TimeZone: bound.TimeZone, Sources: sources})
	if err != nil {
		return nil, err
	}
	in.Reasons = append(in.Reasons, reasons...)
	return plan.Read(in)
}

// streamSource is a source with types as the engine has them.
func streamSource(src catalog.Source) (*plan.Source, error) {
	out := &plan.Source{Schema: src.Name.Schema, Name: src.Name.Name, UUID: src.UUID}
	for _, c := range src.Columns {
		t, err := row.ParseType(c.Type)
		if err != nil {
			return nil, fmt.Errorf("column %s of %s has the type %s, which is not known", c.Name, src.Name, c.Type)
		}
		out.Columns = append(out.Columns, plan.TableColumn{ID: c.ID, Name: c.Name, Type: t})
	}
	return out, nil
}

// refused are the result's columns whose types a view does not keep.
func refused(columns []gate.Column) []plan.Reason {
	var out []plan.Reason
	for _, c := range columns {
		if why, instead := unkept(c); why != "" {
			out = append(out, plan.Reason{Code: plan.UnstableType, Position: plan.NoPosition,
				Message: fmt.Sprintf("column %q has the type %s: %s", c.Name, c.Type, why), Hint: instead})
		}
	}
	return out
}

// planning is the planner, opened when it is first needed.
func (b *Binder) planning(ctx context.Context) (*Planner, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.planner == nil {
		p, err := NewPlanner(ctx, b.Lake.Name())
		if err != nil {
			return nil, err
		}
		b.planner = p
	}
	return b.planner, nil
}

// Close ends the planner.
func (b *Binder) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.planner == nil {
		return nil
	}
	p := b.planner
	b.planner = nil
	return p.Close()
}
