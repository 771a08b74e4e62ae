package job

import (
	"context"
	"time"
)

// Store keeps the rows. All moves but the publishing transaction's own go through Update.
type Store interface {
	// Insert adds a row as it is.
	Insert(ctx context.Context, j Job) error
	// Update writes every field of j but its identity (ID, Kind, Subject, SubmittedAt, Principal, Trigger, Spec) and sets
	// the row's version to j.Version+1, if the row still has j.Version; otherwise it changes nothing and returns false.
	Update(ctx context.Context, j Job) (bool, error)
	// ByID returns the row, or fault.JobNotFound.
	ByID(ctx context.Context, id string) (Job, error)
	// List returns rows, the newest submitted first.
	List(ctx context.Context, q Query) ([]Job, error)
	// Prune forgets ended jobs: those that ended before the given time, and all but the newest keep. It returns how many.
	Prune(ctx context.Context, keep int, before time.Time) (int64, error)
}

// Query selects jobs; zero fields select all.
type Query struct {
	Subject    string
	Principal  string
	ServerID   string
	Unfinished bool // only jobs that have not ended
	Limit      int
}
