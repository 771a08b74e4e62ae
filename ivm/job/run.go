package job

import (
	"context"
	"errors"
	"runtime/debug"
	"time"

	"github.com/google/uuid"

	"github.com/vegadb/vega-flight/fault"
)

// worker runs queued jobs until the Runner ends.
func (r *Runner) worker() {
	defer r.group.Done()
	for {
		e := r.take()
		if e != nil {
			r.run(e)
			continue
		}
		select {
		case <-r.wake:
		case <-r.base.Done():
			return
		}
	}
}

// take gets the next job that may run, and passes the wake on when there may be more.
func (r *Runner) take() *entry {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closing {
		return nil
	}
	now := r.c.Now()
	id, ok := r.queue.take(func(subject string) bool { return r.lanes.enter(subject, now) })
	if !ok {
		return nil
	}
	r.wakeLocked()
	e := r.live[id]
	e.running = true
	return e
}

func (r *Runner) run(e *entry) {
	id, subject := e.job.ID, e.job.Subject
	var returned time.Time // when the work did
	defer func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		e.cancel()
		if left := r.live[id]; left == e {
			delete(r.live, id) // nothing runs here; the row says whose turn it is
		}
		r.lanes.leave(subject, returned)
		close(e.done)
		r.changedLocked(e)
		r.wakeLocked()
	}()

	var j Job
	started := false
	if !r.insist("start", id, func(ctx context.Context) (err error) {
		j, started, err = r.move(ctx, id, Start, Facts{})
		return err
	}) || !started {
		return
	}
	r.c.Log.Info("job started", "job", id, "kind", j.Kind, "view", j.View, "attempt", j.Attempt)

	out, err := r.call(e.ctx, j)
	returned = r.c.Now()

	if errors.Is(err, fault.Fenced.Sentinel()) {
		// Not the job's failure: this server may publish nothing any more. Whoever may adopts the job, perhaps this server under a new registration.
		r.c.Log.Warn("job left to another server", "job", id, "error", err)
		return
	}
	event := Returned
	if err != nil && e.ctx.Err() != nil && r.isClosing() {
		event = Drained
	}
	if !r.insist("end", id, func(ctx context.Context) (merr error) {
		j, _, merr = r.move(ctx, id, event, Facts{Err: err, Result: out.Result, Rows: out.Rows})
		return merr
	}) {
		return
	}
	r.c.Log.Info("job left", "job", id, "kind", j.Kind, "view", j.View, "state", j.State, "took", max(0, j.FinishedAt.Sub(j.SubmittedAt)), "rows", j.RowsWritten,
		"error", j.ErrorCode, "message", j.ErrorMessage)
}

// call runs the work; a panic in it is the job's failure, not the server's.
func (r *Runner) call(ctx context.Context, j Job) (out Outcome, err error) {
	defer func() {
		if p := recover(); p != nil {
			incident := uuid.NewString()
			r.c.Log.Error("panic in a job", "incident", incident, "job", j.ID, "panic", p, "stack", string(debug.Stack()))
			err = fault.InternalError.Newf("incident %s", incident)
		}
	}()
	w := r.work[j.Kind]
	if w == nil {
		return Outcome{}, fault.InternalError.Newf("no work of kind %q", j.Kind)
	}
	return w.Run(ctx, j, &Reporter{r: r, id: j.ID})
}

func (r *Runner) isClosing() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.closing
}

// insist repeats a move of the row until it is decided: what a job is must not depend on a catalog that was away for a while. It gives up
// when the job is not ours any more, is gone, or the Runner ends.
func (r *Runner) insist(what, id string, move func(context.Context) error) bool {
	wait := 50 * time.Millisecond
	for {
		err := move(r.base)
		switch {
		case err == nil:
			return true
		case errors.Is(err, errLost), errors.Is(err, fault.JobNotFound.Sentinel()):
			r.c.Log.Warn("job lost", "job", id, "at", what, "error", err)
			return false
		}
		r.c.Log.Warn("job row cannot be moved yet", "job", id, "at", what, "error", err)
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-r.base.Done():
			timer.Stop()
			return false
		}
		wait = min(2*wait, 5*time.Second)
	}
}
