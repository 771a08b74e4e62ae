package ducklake

import (
	"context"
	"errors"
	"strings"

	"github.com/vegadb/vega-flight/ducklake/duck"
	"github.com/vegadb/vega-flight/ducklake/metadata"
	"github.com/vegadb/vega-flight/fault"
)

// errTimeLimit is the cause of a context that the statement's time limit ended.
var errTimeLimit = errors.New("the statement's time limit")

// translate makes those errors of DuckDB faults whose meaning this package knows: lost conflicts, transactions that
// failed, limits. All others stay DuckDB's own, with their text and position.
func translate(err error) error {
	if err == nil || fault.CodeOf(err) != nil {
		return err
	}
	text := err.Error()
	switch {
	case conflicted(err):
		return fault.CommitConflict.Wrap(err, "another commit was first")
	case strings.Contains(text, "Current transaction is aborted"):
		return fault.TransactionFailed.Newf("an earlier statement of the transaction failed").WithHint("roll it back")
	case strings.Contains(text, "No space left on device"), strings.Contains(text, "Disk quota exceeded"), strings.Contains(text, "File too large"):
		return fault.DiskFull.Wrap(err, "writing failed")
	}
	var d *duck.Error
	if errors.As(err, &d) && d.Type == "Out of Memory" {
		message, _, _ := strings.Cut(d.Message, "\n\nPossible solutions:") // they are not the user's
		return fault.MemoryExhausted.Newf("the statement: %s", message)
	}
	return err
}

// conflicted reports whether a statement or COMMIT lost against another commit.
func conflicted(err error) bool {
	if metadata.IsConflict(err) {
		return true
	}
	if err == nil || fault.CodeOf(err) != nil {
		return fault.CodeOf(err) == fault.CommitConflict
	}
	text := err.Error()
	return strings.Contains(text, "Transaction conflict") || strings.Contains(text, "Exceeded the maximum retry count")
}

// stopped makes an error that ctx caused say whether a limit or the caller ended the statement.
func stopped(ctx context.Context, err error) error {
	if err == nil || ctx.Err() == nil || fault.CodeOf(err) != nil {
		return err
	}
	if !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errTimeLimit):
		return fault.TimedOut.Wrap(err, "the statement ran longer than vega.statement_timeout")
	case errors.Is(cause, errMemory):
		return fault.MemoryExhausted.Newf("the server needed memory, and this statement was the newest").WithHint("run it again, or let it do less at a time")
	}
	return err
}

// unknownOutcome says that a COMMIT got no answer.
func unknownOutcome(err error) bool { return fault.CodeOf(err) == fault.CommitUnknown }
