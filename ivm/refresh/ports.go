package refresh

import (
	"context"
	"time"

	"github.com/vegadb/vega-flight/ivm/catalog"
	"github.com/vegadb/vega-flight/ivm/job"
)

// Lake is where a refresh reads and publishes.
type Lake interface {
	// Pin starts a read of the lake at its newest snapshot, or at an older one (0: the newest). fault.HistoryExpired when that is gone.
	Pin(ctx context.Context, p PinSpec) (Pinned, error)
	// Build makes a table that nobody sees, to take a view's place with other columns when it is published.
	Build(ctx context.Context, v *catalog.View, columns []catalog.Column, jobID string) (catalog.Table, error)
	// Publish makes what was staged the view's content and ends the job, in one commit. The errors of a lost race are
	// fault.RefreshConflict, fault.Fenced and fault.Cancelled.
	Publish(ctx context.Context, p Publication) (Published, error)
	// Reflect records that a view's content is its answer for a later state of its sources too. A newer publication wins silently.
	Reflect(ctx context.Context, v *catalog.View, f catalog.Frontier) error
	// Discard removes what the job staged or built and did not publish.
	Discard(ctx context.Context, jobID string) error
}

// PinSpec says what to pin.
type PinSpec struct {
	Version  int64  // 0: the newest snapshot
	TimeZone string // what the query was bound with
	JobID    string // what was pinned stays readable for as long as the job has it
}

// Pinned is one state of the lake, for one goroutine. What it evaluates reads exactly Version.
type Pinned interface {
	Version() int64
	// Tables are the lake's tables at Version.
	Tables(ctx context.Context) ([]catalog.Table, error)
	// Changed says whether a snapshot after since and up to Version, or the other way round, changed rows of the tables.
	// It is true when the snapshots between are not all known any more.
	Changed(ctx context.Context, since int64, tables []int64) (bool, error)
	// Stage evaluates the query and writes the target's data files, unseen by anyone. progress may be called from another goroutine.
	Stage(ctx context.Context, s StageSpec, progress func(fraction float64, rows int64)) (Staged, error)
	// Increment computes how the content changes from what is published to Version; ok is false when it has to be computed anew.
	Increment(ctx context.Context, s IncrementSpec) (_ Staged, ok bool, err error)
	// Close lets go of the state.
	Close() error
}

// StageSpec is what to evaluate for which table.
type StageSpec struct {
	Target catalog.Table
	SQL    string // gives the target's columns in their order; they are cast to its types
	JobID  string
}

// IncrementSpec is which view's content is to be changed. tables are those at the version.
type IncrementSpec struct {
	View   *catalog.View
	Tables []catalog.Table
	Job    job.Job
}

// Staged is complete and not published. Rows is how many rows it writes.
type Staged interface{ Rows() int64 }

// Publication is one view's new generation.
type Publication struct {
	Job      job.Job
	View     *catalog.View // as it was read before the sources were pinned: its epoch must still hold
	Staged   Staged
	Frontier catalog.Frontier
	Redefine *catalog.Row   // what to write over the view's row, nil to leave it
	Built    *catalog.Table // the table that takes the place of the view's, nil otherwise
	// Result is the job's result for the snapshot of the commit.
	Result func(p Published) []byte
}

// Published is where a publication went.
type Published struct {
	Snapshot int64
	At       time.Time
	Rows     int64
}

// Views reads what is known about all views.
type Views interface {
	Load(ctx context.Context) (catalog.Facts, error)
}

// Text rewrites canonical queries.
type Text interface {
	// Read gives the query with its sources under their present names, read at a snapshot (0: the pinned newest one).
	Read(ctx context.Context, query string, reads []Reading, version int64) (string, error)
}
