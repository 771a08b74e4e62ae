package ivm

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/ivm/catalog"
	"github.com/vegadb/vega-flight/ivm/ddl"
	"github.com/vegadb/vega-flight/ivm/job"
	"github.com/vegadb/vega-flight/ivm/refresh"
)

// show runs the statements that change nothing. Views are shown to everybody
// who may read the lake; jobs, and what went wrong in them, to who asked for
// them and to administrators, because messages may quote data.
func (e *Engine) show(ctx context.Context, c Caller, stmt ddl.Statement) (Result, error) {
	switch s := stmt.(type) {
	case *ddl.ShowViews:
		if s.Streaming {
			return e.showStreams(ctx, c, s)
		}
		set, err := e.views(ctx)
		if err != nil {
			return Result{}, err
		}
		in, err := e.inSchema(set, s.In, s.InOffset)
		if err != nil {
			return Result{}, err
		}
		shown, err := e.shownViews(ctx, c, set, func(v *catalog.View) bool {
			return v.Kind != catalog.Streaming && (in == "" || strings.EqualFold(v.Name().Schema, in))
		})
		return viewTable.result(shown...), err
	case *ddl.ShowView:
		v, set, err := e.findShown(ctx, c, target{s.Name, s.NameOffset, s.Streaming})
		if err != nil {
			return Result{}, err
		}
		if s.Streaming {
			shown, err := e.shownStreams(ctx, c, func(other *catalog.View) bool { return other.UUID == v.UUID })
			return streamingTable.result(shown...), err
		}
		shown, err := e.shownViews(ctx, c, set, func(other *catalog.View) bool { return other == v })
		return viewTable.result(shown...), err
	case *ddl.ShowCreate:
		v, _, err := e.findShown(ctx, c, target{s.Name, s.NameOffset, s.Streaming})
		if err == nil {
			err = v.Problem
		}
		if err != nil {
			return Result{}, err
		}
		mode, err := e.begins(ctx, v)
		return createTable.result(shownCreate{v, mode}), err
	case *ddl.ShowJobs:
		jobs, err := e.shownJobs(ctx, c, s)
		return jobTable.result(c.reading(jobs...)...), err
	case *ddl.ShowJob:
		j, err := e.JobByID(ctx, c, s.ID)
		if err != nil {
			return Result{}, place(err, s.IDOffset)
		}
		if s.Options.Bool("wait", false) && !j.State.Ended() {
			if j, err = e.jobs.Done(ctx, j.ID); err != nil {
				return Result{}, err
			}
		}
		return jobTable.result(c.reading(j)...), nil
	case *ddl.ExplainStreaming:
		return e.explain(ctx, c, s)
	case *ddl.ExplainAnalyze:
		return e.analyze(ctx, c, s)
	}
	return Result{}, fault.NotYetSupported.Newf("%s is not built yet", stmt.Verb())
}

// findShown is find for SHOW, which also shows what is not a view yet.
func (e *Engine) findShown(ctx context.Context, c Caller, t target) (*catalog.View, *catalog.Set, error) {
	v, set, err := e.find(ctx, c, t.name)
	if fault.CodeOf(err) == fault.ViewUnadopted {
		var at catalog.Name
		if at, err = e.c.Binder.Place(c.Session, t.name); err == nil {
			v = set.FindUnadopted(at)
		}
	}
	if fault.CodeOf(err) == fault.ViewTableGone {
		var at catalog.Name
		if at, err = e.c.Binder.Place(c.Session, t.name); err == nil {
			v = set.FindGone(at)
		}
	}
	if err == nil {
		err = ofKind(v, t.streaming)
	}
	return v, set, place(err, t.offset)
}

// inSchema checks the schema of SHOW … IN.
func (e *Engine) inSchema(set *catalog.Set, in *ddl.SchemaName, offset int) (string, error) {
	if in == nil {
		return "", nil
	}
	known := slices.ContainsFunc(set.Schemas, func(s string) bool { return strings.EqualFold(s, in.Schema) })
	if !known || in.Catalog != "" && !strings.EqualFold(in.Catalog, e.c.LakeName) {
		return "", fault.ObjectNotFound.Newf("there is no schema %s", in).At(offset)
	}
	return in.Schema, nil
}

// shownView is a view with what else is shown of it.
type shownView struct {
	*catalog.View
	lag       catalog.Lag
	hasLag    bool
	schedule  refresh.Schedule
	job       job.Job // the unfinished one, if any
	mayReadOf bool    // the caller may see what went wrong
}

// viewTable is SHOW MATERIALIZED VIEWS, SHOW MATERIALIZED VIEW and vega.materialized_views.
var viewTable = table[shownView]{
	{"schema_name", text, true, func(v shownView) any { return v.Name().Schema }, "The view's schema."},
	{"view_name", text, true, func(v shownView) any { return v.Name().Name }, "The view's name."},
	{"owner", text, false, func(v shownView) any { return orNull(v.Owner) }, "Who may change and drop it besides administrators; NULL for `UNADOPTED`."},
	{"state", text, true, func(v shownView) any { return string(v.State()) }, "`READY`, `NOT_POPULATED`, `ALTERED`, `TABLE_GONE`, `UNADOPTED`, `DEFINITION_TOO_NEW` or `DEFINITION_UNREADABLE`."},
	{"row_count", integer, false, func(v shownView) any { return v.published(v.Published.Rows) }, "Rows of the content served now."},
	{"generation", integer, false, func(v shownView) any { return v.published(v.Published.Generation) }, "How many times content was published."},
	{"version", integer, false, func(v shownView) any { return v.published(v.Published.Snapshot) }, "The lake snapshot that published the content."},
	{"source_version", integer, false, func(v shownView) any { return v.published(v.Published.Frontier.SourceVersion) }, "The lake snapshot the content was computed from."},
	{"refreshed_at", instant, false, func(v shownView) any { return v.Published.At }, "When the content was published."},
	{"stale_since", instant, false, func(v shownView) any { return v.lag.Since }, "Commit time of the first source commit the content does not reflect; NULL when it reflects all."},
	{"staleness_ms", integer, false, func(v shownView) any { return v.staleness() }, "How far the content is behind its sources; 0 when it reflects all."},
	{"max_staleness", text, false, func(v shownView) any { return interval(v.Def.Options.MaxStaleness) }, "The option, as an interval."},
	{"refresh_interval", text, false, func(v shownView) any { return interval(v.Def.Options.RefreshInterval) }, "The option, as an interval."},
	{"refresh_cron", text, false, func(v shownView) any { return orNull(v.Def.Options.RefreshCron) }, "The option."},
	{"refresh_timezone", text, false, func(v shownView) any { return orNull(v.Def.Options.RefreshTimezone) }, "The option."},
	{"next_refresh_at", instant, false, func(v shownView) any { return v.schedule.NextAt }, "When the next scheduled refresh is due."},
	{"failed_refreshes", integer, true, func(v shownView) any { return int64(v.schedule.Failures) }, "Scheduled refreshes that failed since the last success."},
	{"last_error", text, false, func(v shownView) any { return v.lastError() }, "What the last scheduled refresh failed with; shown to the owner and administrators."},
	{"job_id", text, false, func(v shownView) any { return orNull(v.job.ID) }, "The job that is queued or running for the view."},
	{"job_state", text, false, func(v shownView) any { return orNull(string(v.job.State)) }, "Its state."},
	{"created_at", instant, false, func(v shownView) any { return v.CreatedAt }, "When the view was created."},
	{"view_uuid", text, true, func(v shownView) any { return v.UUID }, "The view's identity, kept by a rename."},
	{"query", text, false, func(v shownView) any { return orNull(v.Def.Query) }, "The canonical query."},
}

func (v shownView) published(n int64) any {
	if v.Published.Generation == 0 {
		return nil
	}
	return n
}

func (v shownView) staleness() any {
	if !v.hasLag {
		return nil
	}
	return v.lag.By.Milliseconds()
}

func (v shownView) lastError() any {
	if !v.mayReadOf {
		return nil
	}
	return orNull(v.schedule.LastError)
}

// shownCreate is a view, and how it begins if it is a streaming one.
type shownCreate struct {
	*catalog.View
	mode string
}

// createTable is SHOW CREATE MATERIALIZED VIEW.
var createTable = table[shownCreate]{
	{"view", text, true, func(v shownCreate) any { return v.Name().String() }, "The view's qualified name."},
	{"statement", text, true, func(v shownCreate) any { return v.statement() }, "A statement that makes the view again."},
	{"time_zone", text, false, func(v shownCreate) any { return orNull(v.Def.TimeZone) }, "The session's TimeZone that the statement has to run in to mean the same."},
}

// statement is the one that makes the view again.
func (v shownCreate) statement() string {
	s := ddl.CreateView{
		Streaming: v.Kind == catalog.Streaming, Name: ddl.Name{Schema: v.Name().Schema, Name: v.Name().Name}, Options: streamOptions(v.Def.Options, v.mode),
		Query: v.Def.Query,
	}
	for _, c := range v.Table.Columns {
		s.Columns = append(s.Columns, c.Name)
	}
	return s.String()
}

// shownViews collects what is shown of the views that are wanted, those that nobody adopted last.
func (e *Engine) shownViews(ctx context.Context, c Caller, set *catalog.Set, wanted func(*catalog.View) bool) ([]shownView, error) {
	schedules, err := e.c.Schedules.Load(ctx)
	if err != nil {
		return nil, err
	}
	byView := make(map[string]refresh.Schedule, len(schedules))
	for _, s := range schedules {
		byView[s.ViewID] = s
	}
	jobs, err := e.jobs.List(ctx, job.Query{Unfinished: true})
	if err != nil {
		return nil, err
	}
	working := make(map[string]job.Job, len(jobs))
	for _, j := range jobs { // the oldest comes last and is the one that runs
		working[j.Subject] = j
	}
	var now time.Time
	var out []shownView
	for _, v := range slices.Concat(set.Views, set.Gone, set.Unadopted) {
		if !wanted(v) {
			continue
		}
		if now.IsZero() {
			if now, err = e.c.Clock.Now(ctx); err != nil {
				return nil, err
			}
		}
		s := shownView{View: v, schedule: byView[v.UUID], mayReadOf: c.Admin || c.Principal == v.Owner}
		s.schedule.LastError = c.clean(s.schedule.LastError)
		if j := working[v.UUID]; c.Admin || j.Principal == c.Principal {
			s.job = j
		}
		if v.State() == catalog.Ready {
			s.hasLag = true
			if s.lag, err = set.Staleness(ctx, e.c.History, v, now); err != nil {
				return nil, err
			}
		}
		out = append(out, s)
	}
	return out, nil
}

// shownJobs are the jobs the caller may see, the newest first.
func (e *Engine) shownJobs(ctx context.Context, c Caller, s *ddl.ShowJobs) ([]job.Job, error) {
	q := job.Query{Limit: int(s.Limit)}
	if !c.Admin {
		q.Principal = c.Principal
	}
	if s.View != nil {
		v, _, err := e.find(ctx, c, *s.View)
		if err != nil {
			return nil, place(err, s.NameOffset)
		}
		q.Subject = v.UUID
	}
	return e.jobs.List(ctx, q)
}
