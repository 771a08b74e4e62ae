package stream

import (
	"context"
	"errors"
	"fmt"
	"syscall"

	"github.com/vegadb/vega-flight/fault"
)

// full says that a disk is.
func full(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG) || fault.CodeOf(err) == fault.DiskFull
}

// barred says that files cannot be opened or written just now, whatever is in them.
func barred(err error) bool {
	for _, e := range []error{syscall.EROFS, syscall.EACCES, syscall.EPERM, syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// shortage is the reason of a view that lacks something, with what helps.
func shortage(r Reason, err error) Reason {
	hint := "let the server open and write that file; the view goes on by itself"
	switch {
	case full(err):
		r.Code, hint = fault.DiskFull.Name(), "make room on that disk; the view goes on by itself"
	case fault.CodeOf(err) == fault.MemoryExhausted:
		hint = "give the server more memory, or the view a smaller memory_budget; it goes on by itself"
	}
	if r.Hint == "" {
		r.Hint = hint
	}
	return r
}

// trouble is what an error means for a member. Without a state it is nobody's fault: the same is tried again.
func trouble(err error) report {
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return report{cause: err}
	case full(err), barred(err): // what is in the state is as good as before
		return report{state: ResourceBlocked, cause: err, again: true}
	}
	switch fault.CodeOf(err) {
	case fault.SourceChanged:
		return report{state: SchemaBlocked, cause: err, again: true} // the table may be made again, or the column put back
	case fault.HistoryExpired, fault.HistoryRewritten:
		// What came between is not known: the content is computed anew, and the difference published.
		return report{state: Recovering, cause: err, again: true, clean: true}
	case fault.SourceInconsistent:
		return report{state: Failed, cause: err, clean: true}
	case fault.CatalogGone, fault.CommitConflict, fault.LakeUnreadable:
		return report{cause: err}
	case fault.MemoryExhausted:
		return report{state: ResourceBlocked, cause: err, again: true}
	case fault.StateUnreadable:
		return report{state: Recovering, cause: err, again: true, clean: true}
	}
	return report{state: Recovering, cause: err, again: true}
}

// stepped is trouble of operators, whose state is then of no use: what is nobody's fault elsewhere is here a reason to begin again.
func stepped(err error) report {
	r := trouble(err)
	if r.state == "" {
		r.state, r.again = Recovering, true
	}
	return r
}

// rowFailed is the report of a view with rows that have no value.
func rowFailed(m *member) report {
	e := m.errors[0]
	err := fault.RowFailed.Newf("%s of row (%s) in %s", e.Message, e.Row, m.graph.Node(e.Node)).
		WithHint("change or delete that row in its source, then ALTER STREAMING MATERIALIZED VIEW %s RESTART", m.name())
	if n := len(m.errors) - 1; n > 0 {
		err.Message += moreRows(n)
	}
	return report{state: Failed, cause: err}
}

func moreRows(n int) string {
	if n == 1 {
		return ", and of one more row"
	}
	return fmt.Sprintf(", and of %d more rows", n)
}
