package job

import (
	"context"
	"errors"
	"time"

	"github.com/vegadb/vega-flight/fault"
)

// Event is what happened to a job, or what somebody wants of it.
type Event int

// The events.
const (
	Start    Event = iota + 1 // a worker takes the job
	Cancel                    // somebody wants it stopped
	Returned                  // its work returned, with or without an error; nothing of it runs, its staging is gone
	Adopt                     // a new owner found it after its owner's death; what it left is gone
	Drained                   // its work was stopped because the server shuts down; nothing of it runs
)

// Facts come with an event.
type Facts struct {
	Now         time.Time
	Err         error // Returned: the work's error
	Result      []byte
	Rows        int64
	MaxAttempts int // Adopt: runs after which a job is not tried again
}

// Decide gives the row that follows j after e, or ok = false when the event changes nothing in this state.
// It is the only place that knows the transitions; the publishing transaction's RUNNING → SUCCEEDED is the same as Returned without error.
func Decide(j Job, e Event, f Facts) (next Job, ok bool) {
	if j.State.Ended() {
		return j, false
	}
	next = j
	end := func(s State, err *fault.Error) (Job, bool) {
		next.State, next.FinishedAt, next.Phase = s, f.Now, "ended"
		next.ErrorCode, next.ErrorMessage, next.ErrorHint = "", "", ""
		if err != nil {
			next.ErrorCode, next.ErrorMessage, next.ErrorHint = err.Code.Name(), text(err), err.Hint
		}
		return next, true
	}
	requeue := func(phase string) (Job, bool) {
		next.State, next.Phase, next.Progress, next.RowsWritten = Queued, phase, Unknown, 0
		return next, true
	}
	cancelled := fault.Cancelled.Newf("it was cancelled; nothing of it was published")
	switch {
	case e == Start && j.State == Queued:
		next.State, next.Phase, next.Attempt = Running, "starting", j.Attempt+1
		if j.StartedAt.IsZero() {
			next.StartedAt = f.Now
		}
		return next, true

	case e == Cancel && j.State == Queued:
		return end(Cancelled, cancelled)
	case e == Cancel && j.State == Running:
		next.State, next.Phase = Cancelling, "cancelling"
		return next, true

	case e == Returned && j.State == Running:
		if f.Err != nil {
			return end(Failed, asFault(f.Err))
		}
		next.Result, next.RowsWritten, next.Progress = f.Result, f.Rows, 1
		return end(Succeeded, nil)
	case (e == Returned || e == Adopt || e == Drained) && j.State == Cancelling:
		return end(Cancelled, cancelled)

	case e == Adopt && j.State == Running:
		if j.Attempt >= f.MaxAttempts {
			return end(Interrupted, fault.JobInterrupted.Newf("its server stopped during run %d", j.Attempt).WithHint("submit the statement again"))
		}
		return requeue("resumed after its server stopped")
	case e == Drained && j.State == Running:
		// A drained run was no failure of the job: it does not count.
		next.Attempt--
		return requeue("waiting for a server")
	}
	return j, false
}

// asFault gives any error a stable name.
func asFault(err error) *fault.Error {
	var e *fault.Error
	if errors.As(err, &e) {
		return e
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return fault.Cancelled.Wrap(err, "it was stopped")
	}
	return fault.InternalError.Wrap(err, "unexpected failure")
}

// text is the message with its causes, without name and hint.
func text(e *fault.Error) string {
	if e.Cause == nil {
		return e.Message
	}
	return e.Message + ": " + e.Cause.Error()
}
