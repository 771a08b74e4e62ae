package refresh

import (
	"context"
	"time"

	"github.com/vegadb/vega-flight/ivm/job"
)

// Schedule is the stored state of a view's own refreshing.
type Schedule struct {
	ViewID    string
	View      string // qualified name, for people
	Principal string // the view's owner: the jobs are the owner's
	Interval  *time.Duration
	Cron      string
	TimeZone  string

	NextAt    time.Time // when the next run is due; earliest, when it waits for a commit
	JobID     string    // the run that is out, "" when none is
	Failures  int       // failed runs in a row
	LastError string    // of the last failed run, "" after a success
	LastEnd   time.Time // end of the last run of any kind, zero before it
	ServerID  string    // the server that made the last move
	Version   uint64    // grows with every change of the row
}

// Spec is the parsed form of the schedule's options.
func (s Schedule) Spec() (Spec, error) {
	if s.Interval != nil {
		return NewSpec(*s.Interval, true, s.Cron, s.TimeZone)
	}
	return NewSpec(0, false, s.Cron, s.TimeZone)
}

// Schedules keeps the rows. Every write is a compare-and-swap on the version; false means that somebody else moved the row.
type Schedules interface {
	// Load returns all rows.
	Load(ctx context.Context) ([]Schedule, error)
	// Save writes s if the row still has s.Version, with version s.Version+1; version 0 inserts.
	Save(ctx context.Context, s Schedule) (bool, error)
	// Fire is Save, and inserts the job in the same transaction.
	Fire(ctx context.Context, s Schedule, j job.Job) (bool, error)
	// Remove deletes the view's row, if there is one.
	Remove(ctx context.Context, viewID string) error
}
