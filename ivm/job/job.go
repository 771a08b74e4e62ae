package job

import (
	"encoding/json"
	"time"

	"github.com/vegadb/vega-flight/fault"
)

// State is where a job stands.
type State string

// The states. The last four are ends.
const (
	Queued      State = "QUEUED"
	Running     State = "RUNNING"
	Cancelling  State = "CANCELLING"
	Succeeded   State = "SUCCEEDED"
	Failed      State = "FAILED"
	Cancelled   State = "CANCELLED"
	Interrupted State = "INTERRUPTED"
)

// Ended says that the job will not move again.
func (s State) Ended() bool {
	return s == Succeeded || s == Failed || s == Cancelled || s == Interrupted
}

// States lists all states, in the order of a job's life.
func States() []State {
	return []State{Queued, Running, Cancelling, Succeeded, Failed, Cancelled, Interrupted}
}

// Kind says which work a job is.
type Kind string

// The kinds.
const (
	Create  Kind = "CREATE"  // first content of a new view, or OR REPLACE
	Refresh Kind = "REFRESH" // new content of a view
)

// Unknown is the progress of work that cannot be measured.
const Unknown = -1.0

// Job is one durable job. A Job value is a copy; the row in the store is the truth.
type Job struct {
	ID        string
	Kind      Kind
	Subject   string // identity of what it works on: the view's id; jobs of one subject queue
	View      string // the view's qualified name when the job was submitted, for people
	Principal string // who asked: owns the job besides administrators
	Trigger   string // "statement" or "schedule"

	State       State
	Phase       string  // what it is doing, for people: "queued", "evaluating", "publishing", …
	Progress    float64 // 0…1, or Unknown
	RowsWritten int64

	SubmittedAt time.Time
	StartedAt   time.Time // zero before the first run
	FinishedAt  time.Time // zero before the end

	ErrorCode    string // stable name, set with FAILED, CANCELLED and INTERRUPTED
	ErrorMessage string
	ErrorHint    string

	Spec   json.RawMessage // what to do, in the words of its Work
	Result json.RawMessage // what came out, set with SUCCEEDED

	ServerID string // the owner
	Fence    int64  // the owner's fencing epoch when it took the job
	Attempt  int    // runs started so far
	Version  uint64 // grows with every change of the row

	beat uint64 // progress reports since the row's last change; not stored
}

// Seq is what Wait compares: it differs after every change, progress included.
func (j Job) Seq() uint64 { return j.Version<<20 | j.beat&(1<<20-1) }

// Err is the error that an unsuccessful end stands for, nil for anything else.
func (j Job) Err() error {
	if !j.State.Ended() || j.State == Succeeded {
		return nil
	}
	code := fault.Lookup(j.ErrorCode)
	if code == nil {
		code = fault.InternalError
	}
	e := code.Newf("job %s: %s", j.ID, j.ErrorMessage)
	if j.ErrorHint != "" {
		e = e.WithHint("%s", j.ErrorHint)
	}
	return e
}
