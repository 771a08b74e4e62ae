package ivm

import (
	"context"
	"errors"
	"time"

	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/ivm/ddl"
	"github.com/vegadb/vega-flight/ivm/job"
)

// await waits for a job on behalf of a caller. A caller that goes away takes the job with it, unless it detaches.
func (e *Engine) await(ctx context.Context, c Caller, j job.Job) (job.Job, error) {
	done, err := e.jobs.Done(ctx, j.ID)
	if err == nil {
		return done, done.Err()
	}
	if ctx.Err() == nil || c.Detach {
		return done, err
	}
	state, cerr := e.jobs.Cancel(context.WithoutCancel(ctx), j.ID)
	switch {
	case errors.Is(cerr, fault.JobNotCancellable.Sentinel()):
		// It ended first. Whoever still listens gets to know.
		if done, err = e.jobs.ByID(context.WithoutCancel(ctx), j.ID); err == nil {
			return done, done.Err()
		}
	case cerr != nil:
		e.log.Warn("job of a caller that went away could not be cancelled", "job", j.ID, "error", cerr)
	default:
		e.log.Info("job of a caller that went away", "job", j.ID, "state", state)
		if done, err = e.stopped(ctx, j.ID); err == nil && done.State == job.Succeeded {
			return done, nil // its commit was quicker
		}
	}
	code := fault.Cancelled
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		code = fault.TimedOut
	}
	return done, code.Wrap(ctx.Err(), "job %s was cancelled because its caller went away", j.ID)
}

// stopWait bounds how long the end of a caller is held up until the job it takes along has stopped.
const stopWait = 30 * time.Second

// stopped waits for a cancelled job's end: who is told that it was cancelled must not find it running.
func (e *Engine) stopped(ctx context.Context, id string) (job.Job, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopWait)
	defer cancel()
	return e.jobs.Done(ctx, id)
}

// Wait returns the job when it has ended or its Seq is not seen; seen = 0 returns at once.
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

// JobCounts is how many jobs of this server are queued, running and being cancelled.
func (e *Engine) JobCounts() map[job.State]int { return e.jobs.Counts() }

func (e *Engine) cancelJob(ctx context.Context, c Caller, s *ddl.CancelJob) (Result, error) {
	if _, err := e.Cancel(ctx, c, s.ID); err != nil {
		return Result{}, err
	}
	// The statement waits for the end, so that who reads CANCELLED knows that nothing runs any more.
	j, err := e.jobs.Done(ctx, s.ID)
	if err != nil {
		return Result{}, err
	}
	return cancelled(j), nil
}
