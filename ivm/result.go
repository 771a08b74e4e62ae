package ivm

import (
	"github.com/apache/arrow-go/v18/arrow"

	"github.com/vegadb/vega-flight/ivm/job"
)

// Caller is who runs a statement, and in which session.
type Caller struct {
	Principal      string
	Admin          bool
	MayAcceptStale bool   // a property of the user
	AcceptStale    bool   // the session's vega.accept_stale
	SessionKey     string // identifies the session in logs
	Session        any    // what Binder binds in
	Detach         bool   // the caller's going away does not cancel its jobs

	// Clean takes out of what went wrong what the caller may not read; nil leaves it as it is.
	Clean func(message string) string
}

func (c Caller) clean(message string) string {
	if c.Clean == nil || message == "" {
		return message
	}
	return c.Clean(message)
}

// reading are jobs as the caller may read them.
func (c Caller) reading(jobs ...job.Job) []job.Job {
	for i := range jobs {
		jobs[i].ErrorMessage, jobs[i].ErrorHint = c.clean(jobs[i].ErrorMessage), c.clean(jobs[i].ErrorHint)
	}
	return jobs
}

// Result is what a statement gives. The caller releases Records.
type Result struct {
	Schema  *arrow.Schema
	Records arrow.RecordBatch // never nil when the error is nil
	Job     *job.Job          // set when a durable job stands behind the statement
}

// Release lets go of the rows.
func (r Result) Release() {
	if r.Records != nil {
		r.Records.Release()
	}
}
