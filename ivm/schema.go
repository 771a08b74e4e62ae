package ivm

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/vegadb/vega-flight/ivm/ddl"
	"github.com/vegadb/vega-flight/ivm/job"
	"github.com/vegadb/vega-flight/ivm/refresh"
)

// ResultSchema is the schema of the rows that Execute will give for a
// statement, known before it runs; nil for statements that are not the engine's.
func (e *Engine) ResultSchema(stmt ddl.Statement) *arrow.Schema {
	switch s := stmt.(type) {
	case *ddl.CreateView:
		if !s.Options.Bool("wait", true) {
			return acceptedTable.schema()
		}
		return statusTable.schema()
	case *ddl.Refresh:
		if !s.Options.Bool("wait", true) {
			return acceptedTable.schema()
		}
		return refreshTable.schema()
	case *ddl.AlterSet, *ddl.AlterReset, *ddl.AlterRename, *ddl.AlterOwner, *ddl.AlterRun, *ddl.Rebuild, *ddl.DropView:
		return statusTable.schema()
	case *ddl.CancelJob:
		return cancelTable.schema()
	case *ddl.ShowViews:
		return viewsTable(s.Streaming)
	case *ddl.ShowView:
		return viewsTable(s.Streaming)
	case *ddl.ShowCreate:
		return createTable.schema()
	case *ddl.ShowJobs, *ddl.ShowJob:
		return jobTable.schema()
	case *ddl.ExplainAnalyze:
		return analyzeTable.schema()
	case *ddl.ExplainStreaming:
		if s.Format != ddl.ExplainRows {
			return explanationTable.schema()
		}
		return explainTable.schema()
	}
	return nil
}

func viewsTable(streaming bool) *arrow.Schema {
	if streaming {
		return streamingTable.schema()
	}
	return viewTable.schema()
}

// statusTable is the row of statements that have nothing else to say.
var statusTable = table[string]{
	{"status", text, true, func(verb string) any { return verb }, "The statement that was done: its verb and kind of object."},
}

func status(verb string) Result { return statusTable.result(tag(verb)) }

// tag is what a status says: the verb and the kind of object, whatever else the statement said.
func tag(verb string) string { return strings.Replace(verb, "CREATE OR REPLACE ", "CREATE ", 1) }

// acceptance is a job that nobody waits for, or none when there was nothing to do.
type acceptance struct {
	verb string
	job  *job.Job
}

func (a acceptance) of(value func(job.Job) any) any {
	if a.job == nil {
		return nil
	}
	return value(*a.job)
}

// acceptedTable is the row of statements with wait = false.
var acceptedTable = table[acceptance]{
	{"status", text, true, func(a acceptance) any { return a.verb }, "The statement."},
	{"job_id", text, false, func(a acceptance) any { return a.of(func(j job.Job) any { return j.ID }) }, "The job; NULL when there was nothing to do."},
	{"view", text, false, func(a acceptance) any { return a.of(func(j job.Job) any { return j.View }) }, "The view the job works on."},
	{"state", text, false, func(a acceptance) any { return a.of(func(j job.Job) any { return string(j.State) }) }, "The job's state when the statement returned."},
	{"submitted_at", instant, false, func(a acceptance) any { return a.of(func(j job.Job) any { return j.SubmittedAt }) }, "When the job was submitted."},
}

func accepted(verb string, j job.Job) Result { return acceptedTable.result(acceptance{tag(verb), &j}) }

// conform gives a statement that found nothing to do the schema that was announced for it.
func conform(stmt ddl.Statement, r Result) Result {
	s, ok := stmt.(*ddl.CreateView)
	if !ok || s.Options.Bool("wait", true) || r.Job != nil || r.Records == nil {
		return r
	}
	r.Release()
	return acceptedTable.result(acceptance{verb: tag(s.Verb())})
}

// refreshTable is the row of REFRESH.
var refreshTable = table[refresh.Result]{
	{"job_id", text, true, func(r refresh.Result) any { return r.JobID }, "The job that did it."},
	{"view", text, true, func(r refresh.Result) any { return r.View }, "The view's qualified name."},
	{"mode", text, true, func(r refresh.Result) any { return string(r.Mode) }, "`rebuild`; `incremental` when only rows that differ were written; `no_op` when no source had changed."},
	{"rows_written", integer, true, func(r refresh.Result) any { return r.RowsWritten }, "Rows that were written: all of a rebuilt content, the new ones of an incremental refresh."},
	{"source_version", integer, true, func(r refresh.Result) any { return r.SourceVersion }, "The lake snapshot that was read."},
	{"source_versions", text, true, func(r refresh.Result) any { return asJSON(r.SourceVersions) }, "The snapshots that were read, by lake, as a JSON object."},
	{"version", integer, true, func(r refresh.Result) any { return r.Version }, "The lake snapshot that published the content served now."},
	{"duration_ms", integer, true, func(r refresh.Result) any { return r.DurationMS }, "How long the refresh took, without waiting in the queue."},
}

func refreshed(r refresh.Result) Result { return refreshTable.result(r) }

// cancelTable is the row of CANCEL JOB.
var cancelTable = table[job.Job]{
	{"job_id", text, true, func(j job.Job) any { return j.ID }, "The job."},
	{"state", text, true, func(j job.Job) any { return string(j.State) }, "Its state now: `CANCELLED`, or the end it reached first."},
}

func cancelled(j job.Job) Result { return cancelTable.result(j) }

// jobTable is SHOW JOBS, SHOW JOB and vega.jobs.
var jobTable = table[job.Job]{
	{"job_id", text, true, func(j job.Job) any { return j.ID }, "The job's id."},
	{"kind", text, true, func(j job.Job) any { return string(j.Kind) }, "`CREATE` or `REFRESH`."},
	{"view", text, true, func(j job.Job) any { return j.View }, "The view's name when the job was submitted."},
	{"state", text, true, func(j job.Job) any { return string(j.State) }, "`QUEUED`, `RUNNING`, `CANCELLING`, `SUCCEEDED`, `FAILED`, `CANCELLED` or `INTERRUPTED`."},
	{"phase", text, true, func(j job.Job) any { return j.Phase }, "What the job is doing, in words."},
	{"progress", double, false, func(j job.Job) any { return progress(j) }, "From 0 to 1; NULL while it cannot be told."},
	{"rows_written", integer, true, func(j job.Job) any { return j.RowsWritten }, "Rows written so far."},
	{"principal", text, true, func(j job.Job) any { return j.Principal }, "Who asked for it; for a schedule, the view's owner."},
	{"trigger", text, true, func(j job.Job) any { return j.Trigger }, "`statement` or `schedule`."},
	{"submitted_at", instant, true, func(j job.Job) any { return j.SubmittedAt }, "When it was submitted."},
	{"started_at", instant, false, func(j job.Job) any { return j.StartedAt }, "When its first run started."},
	{"finished_at", instant, false, func(j job.Job) any { return j.FinishedAt }, "When it ended."},
	{"attempt", integer, true, func(j job.Job) any { return int64(j.Attempt) }, "Runs started so far; more than one after a crash of the server."},
	{"error_code", text, false, func(j job.Job) any { return orNull(j.ErrorCode) }, "The stable name of the error it ended with."},
	{"error_message", text, false, func(j job.Job) any { return orNull(j.ErrorMessage) }, "What went wrong."},
	{"error_hint", text, false, func(j job.Job) any { return orNull(j.ErrorHint) }, "What to do about it."},
	{"result", text, false, func(j job.Job) any { return orNull(string(j.Result)) }, "The row of REFRESH as a JSON object, once it has succeeded."},
	{"server_id", text, true, func(j job.Job) any { return j.ServerID }, "The server that runs it, or ran it."},
}

func progress(j job.Job) any {
	if j.Progress < 0 {
		return nil
	}
	return j.Progress
}

// asJSON is a value as JSON text.
func asJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic("ivm: a result must encode: " + err.Error())
	}
	return string(b)
}

// interval is a duration as SQL writes it, NULL for none.
func interval(d *time.Duration) any {
	if d == nil {
		return nil
	}
	return ddl.FormatDuration(*d)
}
