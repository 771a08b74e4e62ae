package stream

import (
	"errors"
	"time"

	"github.com/vegadb/vega-flight/fault"
)

// State is where a streaming view stands.
type State string

// The states. All but Running have a reason.
const (
	Starting          State = "STARTING"           // made, and no server has taken it up yet
	Backfilling       State = "BACKFILLING"        // its first content is being computed
	Running           State = "RUNNING"            // it follows its sources
	Paused            State = "PAUSED"             // by its owner
	Recovering        State = "RECOVERING"         // it goes on by itself from its last checkpoint
	SchemaBlocked     State = "SCHEMA_BLOCKED"     // a used column or table is gone or another
	PermissionBlocked State = "PERMISSION_BLOCKED" // its owner may not read a source any more
	ResourceBlocked   State = "RESOURCE_BLOCKED"   // disk or memory is used up
	Failed            State = "FAILED"             // a row that cannot be computed, or an inconsistent source
)

// How a generation begins.
const (
	Backfill = "backfill"
	Future   = "future"
)

// Reason says why a view is not running, and what would mend it.
type Reason struct {
	Code    string // a fault's name, or ""
	Message string
	Hint    string
}

// reasonOf is an error as a reason.
func reasonOf(err error) Reason {
	var f *fault.Error
	if !errors.As(err, &f) {
		return Reason{Code: fault.InternalError.Name(), Message: err.Error()}
	}
	r := Reason{Code: f.Code.Name(), Message: f.Message, Hint: f.Hint}
	if f.Cause != nil {
		r.Message += ": " + f.Cause.Error()
	}
	return r
}

// Record is the durable row of a streaming view beside its definition. Statements write what is wanted, the
// server that owns the view what is.
type Record struct {
	UUID string

	// Wanted.
	Paused     bool
	PausedAt   time.Time
	Restarts   int64  // grows with each RESTART
	Generation int64  // 1 when the view is made, one more with each REBUILD
	Mode       string // how the wanted generation begins: Backfill or Future
	RebuiltAt  int64  // the lake snapshot at which the newest REBUILD was asked for; 0: none was

	// What is.
	State    State
	Reason   Reason
	Since    time.Time // when it came to that state
	Handled  int64     // the RESTART that was acted on last
	Boundary int64     // with Future, the lake snapshot after which the wanted generation counts rows; 0: none yet
	Late     int64     // rows dropped behind the watermark

	ServerID string // the owner; "" is none
	Fence    int64  // of the owner
}
