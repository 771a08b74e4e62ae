package ivm

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/vegadb/vega-flight/ivm/catalog"
	"github.com/vegadb/vega-flight/ivm/ddl"
	"github.com/vegadb/vega-flight/ivm/stream"
)

// shownStream is a streaming view with what is shown of it.
type shownStream struct {
	*catalog.View
	standing
	lag       catalog.Lag
	hasLag    bool
	mayReadOf bool // the caller may see what went wrong: it may quote rows
	clean     func(string) string
}

// streamingTable is SHOW STREAMING MATERIALIZED VIEWS and vega.streaming_views.
var streamingTable = table[shownStream]{
	{"schema_name", text, true, func(v shownStream) any { return v.Name().Schema }, "The view's schema."},
	{"view_name", text, true, func(v shownStream) any { return v.Name().Name }, "The view's name."},
	{"owner", text, false, func(v shownStream) any { return orNull(v.Owner) }, "Who may change and drop it besides administrators; NULL for `UNADOPTED`."},
	{"state", text, true, func(v shownStream) any { return v.state() }, "`STARTING`, `BACKFILLING`, `RUNNING`, `PAUSED`, `RECOVERING`, `SCHEMA_BLOCKED`, `PERMISSION_BLOCKED`, `RESOURCE_BLOCKED` or `FAILED`; or what is wrong with the view: `ALTERED`, `TABLE_GONE`, `UNADOPTED`, `DEFINITION_TOO_NEW` or `DEFINITION_UNREADABLE`."},
	{"since", instant, false, func(v shownStream) any { return v.Since }, "When it came to that state."},
	{"reason_code", text, false, func(v shownStream) any { return orNull(v.Reason.Code) }, "The stable name of the error that it is not `RUNNING` for, if it is one."},
	{"reason", text, false, func(v shownStream) any { return v.reason() }, "Why it is not `RUNNING`; shown to the owner and administrators."},
	{"hint", text, false, func(v shownStream) any { return orNull(v.clean(v.Reason.Hint)) }, "What would make it `RUNNING` again."},
	{"row_count", integer, false, func(v shownStream) any { return v.published(v.Published.Rows) }, "Rows of the content."},
	{"generation", integer, false, func(v shownStream) any { return v.published(v.Published.Generation) }, "Of the content: grows with every REBUILD."},
	{"epoch", integer, false, func(v shownStream) any { return v.published(v.Published.Epoch) }, "How many times content was published."},
	{"version", integer, false, func(v shownStream) any { return v.published(v.Published.Snapshot) }, "The lake snapshot of the last publication."},
	{"source_version", integer, false, func(v shownStream) any { return v.published(max(v.Published.Frontier.SourceVersion, v.frontier)) }, "The lake snapshot up to which the content reflects its sources."},
	{"published_at", instant, false, func(v shownStream) any { return v.Published.At }, "When that was."},
	{"stale_since", instant, false, func(v shownStream) any { return v.lag.Since }, "Commit time of the first source commit the content does not reflect; NULL when it reflects all."},
	{"staleness_ms", integer, false, func(v shownStream) any { return v.staleness() }, "How far the content is behind its sources; 0 when it reflects all."},
	{"max_staleness", text, false, func(v shownStream) any { return interval(v.Def.Options.MaxStaleness) }, "The option, as an interval."},
	{"late_rows", integer, false, func(v shownStream) any { return v.kept(v.Late) }, "Changes of rows that came behind the watermark and were dropped."},
	{"rows_in", integer, false, func(v shownStream) any { return v.figure(func(f *stream.Figures) int64 { return f.RowsIn.Load() }) }, "Changes of its sources that it took in since this server began to run it; NULL when another server runs it, as are the following."},
	{"rows_out", integer, false, func(v shownStream) any { return v.figure(func(f *stream.Figures) int64 { return f.RowsOut.Load() }) }, "Changes of its content likewise."},
	{"state_bytes", integer, false, func(v shownStream) any { return v.figure(func(f *stream.Figures) int64 { return f.StateBytes.Load() }) }, "Memory of its state."},
	{"checkpointed_at", instant, false, func(v shownStream) any { return v.checkpointed() }, "When its state was last made durable."},
	{"initial_mode", text, false, func(v shownStream) any { return orNull(v.Mode) }, "How the wanted generation begins: `backfill` or `future`."},
	{"options", text, false, func(v shownStream) any { return orNull(streamOptions(v.Def.Options, "").String()) }, "The options that were given, as in a statement."},
	{"server_id", text, false, func(v shownStream) any { return orNull(v.ServerID) }, "The server that runs it."},
	{"created_at", instant, false, func(v shownStream) any { return v.CreatedAt }, "When the view was created."},
	{"view_uuid", text, true, func(v shownStream) any { return v.View.UUID }, "The view's identity, kept by a rename."},
	{"query", text, false, func(v shownStream) any { return orNull(v.Def.Query) }, "The canonical query."},
}

func (v shownStream) state() string {
	if s := v.View.State(); s != catalog.Ready && s != catalog.NotReady || v.standing.State == "" {
		return string(s)
	}
	return string(v.standing.State)
}

func (v shownStream) reason() any {
	if !v.mayReadOf {
		return nil
	}
	return orNull(v.clean(v.Reason.Message))
}

func (v shownStream) published(n int64) any {
	if v.Published.Generation == 0 {
		return nil
	}
	return n
}

func (v shownStream) kept(n int64) any {
	if v.standing.State == "" {
		return nil
	}
	return n
}

func (v shownStream) staleness() any {
	if !v.hasLag {
		return nil
	}
	return v.lag.By.Milliseconds()
}

func (v shownStream) figure(of func(*stream.Figures) int64) any {
	if v.figures == nil {
		return nil
	}
	return of(v.figures)
}

func (v shownStream) checkpointed() any {
	if v.figures == nil || v.figures.SavedAt.Load() == 0 {
		return nil
	}
	return time.UnixMicro(v.figures.SavedAt.Load()).UTC()
}

// streamOptions are a view's options as a statement would give them.
func streamOptions(o catalog.Options, mode string) ddl.Options {
	list := o.List()
	if mode == stream.Future {
		list = append(ddl.Options{{Name: "initial_mode", Value: ddl.Value{Kind: ddl.Text, Text: mode}}}, list...)
	}
	return list
}

// begins is how a streaming view's generation begins, "" for other views.
func (e *Engine) begins(ctx context.Context, v *catalog.View) (string, error) {
	if v.Kind != catalog.Streaming {
		return "", nil
	}
	all, err := e.standings(ctx)
	return all[v.UUID].Mode, err
}

// showStreams is SHOW STREAMING MATERIALIZED VIEWS.
func (e *Engine) showStreams(ctx context.Context, c Caller, s *ddl.ShowViews) (Result, error) {
	set, err := e.views(ctx)
	if err != nil {
		return Result{}, err
	}
	in, err := e.inSchema(set, s.In, s.InOffset)
	if err != nil {
		return Result{}, err
	}
	shown, err := e.shownStreams(ctx, c, func(v *catalog.View) bool { return in == "" || strings.EqualFold(v.Name().Schema, in) })
	return streamingTable.result(shown...), err
}

// shownStreams collects what is shown of the streaming views that are wanted, those that nobody adopted last.
func (e *Engine) shownStreams(ctx context.Context, c Caller, wanted func(*catalog.View) bool) ([]shownStream, error) {
	all, err := e.standings(ctx)
	if err != nil {
		return nil, err
	}
	k, err := e.reload(ctx) // frontiers move without a commit
	if err != nil {
		return nil, err
	}
	var now time.Time
	var out []shownStream
	for _, v := range slices.Concat(k.set.Views, k.set.Gone, k.set.Unadopted) {
		if v.Kind != catalog.Streaming || !wanted(v) {
			continue
		}
		if now.IsZero() {
			if now, err = e.c.Clock.Now(ctx); err != nil {
				return nil, err
			}
		}
		s := shownStream{View: v, standing: all[v.UUID], mayReadOf: mayChange(c, v) == nil, clean: c.clean}
		if v.State() == catalog.Ready {
			s.hasLag = true
			if s.lag, err = k.set.Staleness(ctx, e.c.History, v, now); err != nil {
				return nil, err
			}
		}
		out = append(out, s)
	}
	return out, nil
}
