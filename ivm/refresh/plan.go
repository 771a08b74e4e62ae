package refresh

import (
	"time"

	"github.com/vegadb/vega-flight/ivm/job"
)

// Facts are what one schedule's next move depends on.
type Facts struct {
	Schedule
	Spec    Spec
	Job     *job.Job // the job of Schedule.JobID; nil when it is forgotten or there is none
	Changed bool     // for Spec.OnCommit: a source has changes that the view does not reflect, or cannot be asked
}

// Move is what to do with a schedule now.
type Move int

// The moves.
const (
	Stay   Move = iota
	Settle      // the run that is out has ended: save Next
	Fire        // save Next and submit a job
)

// Plan decides one schedule's move and, for Stay, when to look again at the latest (zero: at the next event).
func Plan(now time.Time, f Facts) (m Move, next Schedule, wake time.Time) {
	next = f.Schedule
	if f.JobID != "" {
		if f.Job != nil && !f.Job.State.Ended() {
			return Stay, next, time.Time{}
		}
		end := now
		if f.Job != nil {
			end = f.Job.FinishedAt
			next = note(next, *f.Job)
		}
		next.JobID, next.LastEnd = "", end
		next.NextAt = f.Spec.Next(end, next.Failures)
		return Settle, next, time.Time{}
	}
	switch {
	case f.NextAt.IsZero():
		return Stay, next, time.Time{}
	case f.NextAt.After(now):
		return Stay, next, f.NextAt
	case f.Spec.OnCommit && !f.Changed:
		return Stay, next, time.Time{}
	}
	return Fire, next, time.Time{}
}

// Ended is the schedule after a job of its view that it did not submit itself: an interval counts from any run's end, and a success
// ends a series of failures.
func Ended(s Schedule, spec Spec, j job.Job) Schedule {
	if s.JobID != "" || j.State != job.Succeeded {
		return s
	}
	s = note(s, j)
	s.LastEnd = j.FinishedAt
	if next := spec.Next(j.FinishedAt, 0); spec.Every > 0 || s.NextAt.After(next) {
		s.NextAt = next
	}
	return s
}

func note(s Schedule, j job.Job) Schedule {
	switch j.State {
	case job.Succeeded:
		s.Failures, s.LastError = 0, ""
	case job.Failed, job.Interrupted:
		s.Failures++
		s.LastError = j.ErrorCode + ": " + j.ErrorMessage
	}
	return s
}
