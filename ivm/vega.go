package ivm

import (
	"context"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/ivm/catalog"
	"github.com/vegadb/vega-flight/ivm/job"
)

// VegaCatalog is the reserved catalog whose tables say what SHOW says.
const VegaCatalog = "vega"

// The tables of the reserved catalog.
const (
	vegaJobs      = "jobs"
	vegaViews     = "materialized_views"
	vegaStreaming = "streaming_views"
	vegaSources   = "view_sources"
)

// VegaDDL makes the tables of the reserved catalog, with unqualified names.
func VegaDDL() []string {
	return []string{
		jobTable.ddl(vegaJobs),
		viewTable.ddl(vegaViews),
		streamingTable.ddl(vegaStreaming),
		sourceTable.ddl(vegaSources),
	}
}

// VegaRows is what a caller sees in a table of the reserved catalog: the rows of the SHOW statements. The caller releases them.
func (e *Engine) VegaRows(ctx context.Context, c Caller, table string) (arrow.RecordBatch, error) {
	r, err := e.vegaRows(ctx, c, strings.ToLower(table))
	if err != nil {
		return nil, err
	}
	return r.Records, nil
}

func (e *Engine) vegaRows(ctx context.Context, c Caller, table string) (Result, error) {
	switch table {
	case vegaJobs:
		q := job.Query{}
		if !c.Admin {
			q.Principal = c.Principal
		}
		jobs, err := e.jobs.List(ctx, q)
		return jobTable.result(c.reading(jobs...)...), err
	case vegaStreaming:
		shown, err := e.shownStreams(ctx, c, func(*catalog.View) bool { return true })
		return streamingTable.result(shown...), err
	}
	set, err := e.views(ctx)
	if err != nil {
		return Result{}, err
	}
	switch table {
	case vegaViews:
		shown, err := e.shownViews(ctx, c, set, func(v *catalog.View) bool { return v.Kind != catalog.Streaming })
		return viewTable.result(shown...), err
	case vegaSources:
		return sourceTable.result(shownSources(set)...), nil
	}
	return Result{}, fault.ObjectNotFound.Newf("there is no table %s.%s", VegaCatalog, table)
}

// shownSource is one source of one view.
type shownSource struct {
	view     *catalog.View
	position int
	source   catalog.Source
	kind     string
	now      *catalog.Table // nil when the source is gone
}

// sourceTable is vega.view_sources.
var sourceTable = table[shownSource]{
	{"view_schema", text, true, func(s shownSource) any { return s.view.Name().Schema }, "The reading view's schema."},
	{"view_name", text, true, func(s shownSource) any { return s.view.Name().Name }, "The reading view's name."},
	{"view_uuid", text, true, func(s shownSource) any { return s.view.UUID }, "The reading view's identity."},
	{"position", integer, true, func(s shownSource) any { return int64(s.position) }, "The source's place in the query, from 1."},
	{"source_schema", text, true, func(s shownSource) any { return s.name().Schema }, "The source's schema."},
	{"source_name", text, true, func(s shownSource) any { return s.name().Name }, "The source's name now, or its last known name."},
	{"source_kind", text, true, func(s shownSource) any { return s.kind }, "`table`, `materialized view`, `streaming materialized view`, or `missing`."},
	{"source_uuid", text, true, func(s shownSource) any { return s.source.UUID }, "The source's identity."},
	{"columns_used", texts, true, func(s shownSource) any { return s.columns() }, "The columns that the query uses."},
	{"reflected_version", integer, false, func(s shownSource) any { return s.reflected() }, "The newest lake snapshot whose changes of the source are in the content."},
}

func (s shownSource) name() catalog.Name {
	if s.now != nil {
		return s.now.Name
	}
	return s.source.Name
}

func (s shownSource) columns() []string {
	names := make([]string, len(s.source.Columns))
	for i, c := range s.source.Columns {
		names[i] = c.Name
	}
	return names
}

func (s shownSource) reflected() any {
	f := s.view.Published.Frontier
	if v, ok := f.Tables[s.source.UUID]; ok {
		return v
	}
	if v, ok := f.Views[s.source.UUID]; ok {
		return v
	}
	return nil
}

func shownSources(set *catalog.Set) []shownSource {
	var out []shownSource
	for _, v := range set.Views {
		for i, src := range v.Sources {
			s := shownSource{view: v, position: i + 1, source: src, kind: "missing"}
			if at := slices.IndexFunc(set.Tables, func(t catalog.Table) bool { return t.UUID == src.UUID }); at >= 0 {
				s.now, s.kind = &set.Tables[at], "table"
			}
			switch up := set.ByUUID(src.UUID); {
			case up == nil:
			case up.Kind == catalog.Streaming:
				s.kind = "streaming materialized view"
			default:
				s.kind = "materialized view"
			}
			out = append(out, s)
		}
	}
	return out
}
