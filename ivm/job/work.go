package job

import (
	"context"
	"encoding/json"
)

// Work is what the jobs of one kind do.
type Work interface {
	// Run does the job. It returns soon after ctx ends, and when it returns nothing of it runs and what it staged is removed, or
	// published in a transaction that moved the job's row to SUCCEEDED itself.
	Run(ctx context.Context, j Job, r *Reporter) (Outcome, error)
	// Discard removes what a run of the job left behind when its server died.
	Discard(ctx context.Context, j Job) error
}

// Outcome is what a run came to.
type Outcome struct {
	Result json.RawMessage
	Rows   int64
}

// Reporter takes the progress of a running job.
type Reporter struct {
	r  *Runner
	id string
}

// Progress says what the job is doing and how far it is (0…1, or Unknown). It is cheap; waiters are woken when something differs.
func (r *Reporter) Progress(phase string, fraction float64, rows int64) {
	if r != nil {
		r.r.progress(r.id, phase, fraction, rows)
	}
}
