package ivm

import (
	"context"

	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/ivm/catalog"
	"github.com/vegadb/vega-flight/ivm/ddl"
	"github.com/vegadb/vega-flight/ivm/job"
	"github.com/vegadb/vega-flight/ivm/refresh"
)

func (e *Engine) refresh(ctx context.Context, c Caller, s *ddl.Refresh) (Result, bool, error) {
	v, _, err := e.find(ctx, c, s.Name)
	if err != nil {
		return Result{}, false, place(err, s.NameOffset)
	}
	if v.Kind == catalog.Streaming {
		return Result{}, false, fault.NotAView.Newf("%s is a streaming materialized view, which follows its sources by itself", v.Name()).At(s.NameOffset).
			WithHint("ALTER STREAMING MATERIALIZED VIEW %s REBUILD computes it anew", v.Name())
	}
	if err := mayChange(c, v); err != nil {
		return Result{}, false, err
	}
	if v.Problem != nil {
		return Result{}, false, v.Problem
	}
	order := refresh.Order{Full: s.Options.Bool("full", false)}
	if n, ok := s.Options.Get("source_version"); ok {
		order.SourceVersion = &n.Int
	}
	j := e.jobs.New(job.Refresh, v.UUID, v.Name().String(), c.Principal, "statement", order.Encode())
	if err := e.c.Jobs.Insert(ctx, j); err != nil {
		return Result{}, false, err
	}
	return e.submitted(j, s.Verb(), s.Options)
}
