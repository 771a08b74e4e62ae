package refresh

import (
	"encoding/json"
	"fmt"

	"github.com/vegadb/vega-flight/ivm/catalog"
)

// Mode is how a refresh came to the new content.
type Mode string

// The modes of traditional views.
const (
	Rebuild     Mode = "rebuild"     // the query was evaluated and its result replaced the content
	Incremental Mode = "incremental" // the rows that differ were written and taken away
	NoOp        Mode = "no_op"       // the content is the answer already
)

// Result is what a refresh came to: one row of REFRESH.
type Result struct {
	JobID          string           `json:"job_id"`
	View           string           `json:"view"`
	Mode           Mode             `json:"mode"`
	RowsWritten    int64            `json:"rows_written"`
	SourceVersion  int64            `json:"source_version"`
	SourceVersions map[string]int64 `json:"source_versions"` // by lake
	Version        int64            `json:"version"`         // the publishing snapshot
	DurationMS     int64            `json:"duration_ms"`
}

// Encode is the result as a job keeps it.
func (r Result) Encode() []byte {
	b, err := json.Marshal(r)
	if err != nil {
		panic(fmt.Sprintf("refresh: a result must encode: %v", err))
	}
	return b
}

// DecodeResult reads a job's result.
func DecodeResult(b []byte) (Result, error) {
	var r Result
	if err := json.Unmarshal(b, &r); err != nil {
		return Result{}, fmt.Errorf("refresh: result %q: %w", b, err)
	}
	return r, nil
}

// Order is what a job of this package is to do.
type Order struct {
	Full          bool             `json:"full,omitempty"`
	SourceVersion *int64           `json:"source_version,omitempty"`
	Redefine      *catalog.Row     `json:"redefine,omitempty"` // OR REPLACE: the row that takes the view's place with the new content
	Columns       []catalog.Column `json:"columns,omitempty"`  // OR REPLACE with other columns: those of the table to be made
}

// Encode is the order as a job keeps it.
func (s Order) Encode() []byte {
	b, err := json.Marshal(s)
	if err != nil {
		panic(fmt.Sprintf("refresh: an order must encode: %v", err))
	}
	return b
}

// DecodeOrder reads a job's order.
func DecodeOrder(b []byte) (Order, error) {
	var s Order
	if len(b) == 0 {
		return s, nil
	}
	if err := json.Unmarshal(b, &s); err != nil {
		return Order{}, fmt.Errorf("refresh: order %q: %w", b, err)
	}
	return s, nil
}
