package stream

import (
	"context"
	"errors"
	"slices"

	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/ivm/catalog"
	"github.com/vegadb/vega-flight/ivm/dataflow"
	"github.com/vegadb/vega-flight/ivm/eval"
	"github.com/vegadb/vega-flight/ivm/plan"
	"github.com/vegadb/vega-flight/ivm/zset"
)

// Once computes how the answers of queries without state change between two snapshots, for whoever keeps nothing in between.
type Once struct {
	Source    Source
	Planner   Planner
	Evaluator eval.Evaluator
	Groups    eval.Groups
}

// errMuch says that reading the whole source is less work.
var errMuch = errors.New("stream: more has changed than is worth it")

// Change is how the answer of a view's query over one table changes over (from, to], consolidated, with its layout. ok is false when that is not
// known so: the query has state or several sources, a row has no value, history is gone, or more than most rows of the table have changed.
// tables are the lake's at `to`.
func (o *Once) Change(ctx context.Context, v *catalog.View, tables []catalog.Table, from, to, most int64) (_ *zset.Batch, ok bool, err error) {
	p, err := o.Planner.Plan(ctx, v)
	if err != nil || !stateless(p) {
		return nil, false, known(err)
	}
	graph, inputs, err := dataflow.Build(ctx, p, dataflow.BuildOptions{
		Tables: dataflow.Memory{}, Evaluator: o.Evaluator, Groups: o.Groups, TimeZone: v.Def.TimeZone, Parallelism: 1,
	})
	if err != nil {
		return nil, false, known(err)
	}
	defer func() { err = errors.Join(err, graph.Close()) }()
	if len(inputs) != 1 {
		return nil, false, nil
	}
	r := readingOf(inputs[0])
	i := slices.IndexFunc(tables, func(t catalog.Table) bool { return t.UUID == r.UUID })
	if i < 0 || sameColumns(tables[i], r.Columns, v.Name().String()) != nil {
		return nil, false, nil
	}
	r.TableID, r.Name = tables[i].ID, tables[i].Name
	delta, rows := zset.New(r.Layout), int64(0)
	err = o.Source.Changes(ctx, r, from, to, func(b *zset.Batch) error {
		if rows += int64(b.Len()); rows > most {
			return errMuch
		}
		delta.AppendBatch(b)
		return nil
	})
	if err != nil {
		return nil, false, known(err)
	}
	out, err := graph.Step(ctx, 0, delta)
	if err != nil || len(graph.Errors()) > 0 {
		return nil, false, known(err)
	}
	out = out.Take()
	out.Consolidate()
	return out, true, nil
}

// known leaves of an error what has to end the caller's work: that a change cannot be computed is no fault, for the whole can.
func known(err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || fault.CodeOf(err) == fault.CatalogGone {
		return err
	}
	return nil
}

// stateless says that a row of the result is made of one row of one source.
func stateless(p *plan.Plan) bool {
	return p.Admitted() && len(p.Sources()) == 1 && !slices.ContainsFunc(p.Nodes, func(i *plan.Info) bool { return i.State != plan.Stateless })
}

// readingOf is what an input reads, before it is known which table that is now.
func readingOf(in dataflow.Input) Reading {
	r := Reading{UUID: in.Source.UUID, Name: catalog.Name{Schema: in.Source.Schema, Name: in.Source.Name}, Layout: in.Layout(), Position: -1}
	if in.Position {
		r.Position = len(in.Fields)
	}
	for _, f := range in.Fields {
		r.Columns = append(r.Columns, catalog.Column{ID: f.ID, Name: f.Name, Type: f.Type.String()})
	}
	return r
}
