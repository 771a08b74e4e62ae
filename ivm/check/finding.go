package check

import "fmt"

// Kind names what was found; it never changes its meaning.
type Kind string

// The kinds.
const (
	Differs         Kind = "DIFFERS"               // the content is not the query's answer at the recorded version
	NotReproducible Kind = "NOT_REPRODUCIBLE"      // the query itself may answer differently each time
	Expired         Kind = "HISTORY_EXPIRED"       // the recorded version cannot be read any more
	SourceChanged   Kind = "SOURCE_CHANGED"        // a source is gone or does not fit the query any more
	Definition      Kind = "DEFINITION_UNREADABLE" // the stored definition is damaged or too new
	Comment         Kind = "COMMENT_LOST"          // the table's comment is not the definition
	Unadopted       Kind = "UNADOPTED"             // a table carries a definition that nobody vouches for
	Orphan          Kind = "TABLE_GONE"            // a view's row has no table
	Altered         Kind = "TABLE_ALTERED"         // another program changed the columns of a view's table
	Rows            Kind = "ROW_COUNT"             // the recorded number of rows is not the content's
	Staging         Kind = "STAGING_LEFT"          // staged files of no unfinished job
	Hold            Kind = "HOLD_LEFT"             // a hold of nobody
	Journal         Kind = "OPERATION_UNFINISHED"  // an interrupted operation
	Hidden          Kind = "HIDDEN_TABLE_LEFT"     // a half built table
	Job             Kind = "JOB_ORPHANED"          // an unfinished job of a server that is gone
)

// Finding is one thing that was found.
type Finding struct {
	Kind    Kind   `json:"kind"`
	View    string `json:"view,omitempty"` // qualified name
	Failure bool   `json:"failure"`        // false: a note
	Message string `json:"message"`
}

func (f Finding) String() string {
	level := "note"
	if f.Failure {
		level = "FAILURE"
	}
	if f.View != "" {
		return fmt.Sprintf("%s %s view %s: %s", level, f.Kind, f.View, f.Message)
	}
	return fmt.Sprintf("%s %s: %s", level, f.Kind, f.Message)
}

// Report is the outcome of a check.
type Report struct {
	Snapshot int64     `json:"snapshot"` // the lake snapshot that was checked
	Views    int       `json:"views"`    // views that were looked at
	Compared int       `json:"compared"` // views whose content was compared with their query
	Findings []Finding `json:"findings"`
}

// OK says that nothing failed.
func (r Report) OK() bool {
	for _, f := range r.Findings {
		if f.Failure {
			return false
		}
	}
	return true
}

func (r *Report) add(failure bool, kind Kind, view, format string, args ...any) {
	r.Findings = append(r.Findings, Finding{Kind: kind, View: view, Failure: failure, Message: fmt.Sprintf(format, args...)})
}
