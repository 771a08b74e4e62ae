package job

import (
	"context"
	"errors"
	"time"

	"github.com/vegadb/vega-flight/fault"
)

// errLost says that another server owns the job now.
var errLost = errors.New("job: the job has another owner")

// move applies an event to the row, however often others move it in between. ok = false means that the event changed nothing.
func (r *Runner) move(ctx context.Context, id string, e Event, f Facts) (j Job, ok bool, err error) {
	for {
		row, err := r.c.Store.ByID(ctx, id)
		if err != nil {
			return Job{}, false, err
		}
		if e != Cancel && !r.owns(row) {
			r.observe(row)
			return row, false, errLost
		}
		f.Now = r.c.Now().UTC()
		next, ok := Decide(row, e, f)
		if !ok {
			r.observe(row)
			return row, false, nil
		}
		if ok, err = r.c.Store.Update(ctx, next); err != nil {
			return row, false, err
		}
		if ok {
			next.Version++
			r.observe(next)
			return next, true, nil
		}
	}
}

func (r *Runner) owns(row Job) bool {
	return row.ServerID == r.c.ServerID && row.Fence == r.fenceOf(row.ID)
}

// fenceOf is the epoch under which this server took the job.
func (r *Runner) fenceOf(id string) int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e := r.live[id]; e != nil {
		return e.job.Fence
	}
	return r.c.Fence()
}

// observe takes note of a row that was read or written: waiters wake, a cancelled or lost run is told to stop, an ended job leaves.
func (r *Runner) observe(row Job) {
	r.mu.Lock()
	e := r.live[row.ID]
	if e == nil || row.Version < e.job.Version {
		r.mu.Unlock()
		return
	}
	lost := row.ServerID != e.job.ServerID || row.Fence != e.job.Fence
	if !lost && row.Version == e.job.Version && row.State == e.job.State {
		r.mu.Unlock()
		return
	}
	if row.State == Running && e.job.State == Running {
		// Progress known here is newer than the row's.
		row.Phase, row.Progress, row.RowsWritten = e.job.Phase, e.job.Progress, e.job.RowsWritten
	}
	if !lost {
		e.job = row
	}
	if row.State != Queued && row.State != Running || lost {
		e.cancel()
	}
	if row.State.Ended() || lost {
		delete(r.live, row.ID)
		r.queue.remove(row.ID)
	}
	r.changedLocked(e)
	r.mu.Unlock()
	if row.State.Ended() && !lost && r.c.Ended != nil {
		r.c.Ended(row)
	}
}

// progress is a Reporter's call.
func (r *Runner) progress(id, phase string, fraction float64, rows int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.live[id]
	if e == nil || e.job.State != Running || e.job.Phase == phase && e.job.Progress == fraction && e.job.RowsWritten == rows {
		return
	}
	e.job.Phase, e.job.Progress, e.job.RowsWritten = phase, fraction, rows
	e.job.beat++
	e.dirty = true
	r.changedLocked(e)
}

// Cancel asks for a job's end and returns its state: CANCELLED, or CANCELLING while something of it still runs. A job that ended otherwise is
// fault.JobNotCancellable. It is idempotent.
func (r *Runner) Cancel(ctx context.Context, id string) (State, error) {
	j, ok, err := r.move(ctx, id, Cancel, Facts{})
	switch {
	case err != nil:
		return "", err
	case ok || j.State == Cancelling || j.State == Cancelled:
		return j.State, nil
	}
	return j.State, fault.JobNotCancellable.Newf("job %s has ended: %s", id, j.State)
}

// Wait returns the job once it has ended or its Seq is not seen; seen = 0 returns at once.
func (r *Runner) Wait(ctx context.Context, id string, seen uint64) (Job, error) {
	for {
		r.mu.Lock()
		e, closing := r.live[id], r.closing
		var j Job
		var changed <-chan struct{}
		if e != nil {
			j, changed = e.job, e.changed
		}
		r.mu.Unlock()
		if e == nil {
			row, err := r.c.Store.ByID(ctx, id)
			if err != nil {
				return Job{}, err
			}
			j = row
		}
		if j.State.Ended() || j.Seq() != seen {
			return j, nil
		}
		if closing {
			return j, fault.Draining.Newf("the server is shutting down; job %s goes on with the next one", id)
		}
		if err := r.pause(ctx, changed); err != nil {
			return j, err
		}
	}
}

// pause waits for a change; without a channel, because the job is another server's, for a tick.
func (r *Runner) pause(ctx context.Context, changed <-chan struct{}) error {
	var tick <-chan time.Time
	if changed == nil {
		timer := time.NewTimer(r.c.Tick)
		defer timer.Stop()
		tick = timer.C
	}
	select {
	case <-changed:
	case <-tick:
	case <-r.base.Done():
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// Done waits for the job's end.
func (r *Runner) Done(ctx context.Context, id string) (Job, error) {
	var seen uint64
	for {
		j, err := r.Wait(ctx, id, seen)
		if err != nil || j.State.Ended() {
			return j, err
		}
		seen = j.Seq()
	}
}
