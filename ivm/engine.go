package ivm

import (
	"context"

	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/ivm/ddl"
	"github.com/vegadb/vega-flight/ivm/job"
)

// Engine is the materialized views of one lake.
type Engine struct {
	jobs *job.Runner
}

// Execute runs one statement and returns its rows; it waits for the job behind it unless the statement says wait = false.
// When ctx ends while it waits, the job is cancelled, unless the caller detaches.
func (e *Engine) Execute(ctx context.Context, c Caller, stmt ddl.Statement) (Result, error) {
	return Result{}, fault.NotYetSupported.Newf("%s", stmt.Verb())
}

// Submit is Execute for callers that poll: a statement with a job behind it returns as soon as the job is durable, with Result.Job set
// and no rows until Rows; every other statement runs at once.
func (e *Engine) Submit(ctx context.Context, c Caller, stmt ddl.Statement) (Result, error) {
	return Result{}, fault.NotYetSupported.Newf("%s", stmt.Verb())
}

// Rows is the result of a job that has succeeded, as Execute would have given it; for another end it is the job's error.
func (e *Engine) Rows(ctx context.Context, j job.Job) (Result, error) {
	return Result{}, fault.NotYetSupported.Newf("rows")
}

// Wait returns the job when it has ended or when its version is not seen.
func (e *Engine) Wait(ctx context.Context, id string, seen uint64) (job.Job, error) {
	return e.jobs.Wait(ctx, id, seen)
}

// Cancel stops a job and returns its state: CANCELLED, or CANCELLING while something of it still runs. Somebody else's job does not exist.
func (e *Engine) Cancel(ctx context.Context, c Caller, id string) (job.State, error) {
	if _, err := e.JobByID(ctx, c, id); err != nil {
		return "", err
	}
	return e.jobs.Cancel(ctx, id)
}

// JobByID returns a job of the caller's, or any job to an administrator.
func (e *Engine) JobByID(ctx context.Context, c Caller, id string) (job.Job, error) {
	j, err := e.jobs.ByID(ctx, id)
	if err != nil {
		return job.Job{}, err
	}
	if !c.Admin && j.Principal != c.Principal {
		return job.Job{}, fault.JobNotFound.Newf("there is no job %q", id)
	}
	return j, nil
}
