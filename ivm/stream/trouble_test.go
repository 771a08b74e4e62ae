package stream

import (
	"context"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/vegadb/vega-flight/fault"
)

func TestTrouble(t *testing.T) {
	file := func(e syscall.Errno) error {
		return fault.StateUnreadable.Wrap(&os.PathError{Op: "open", Path: "x", Err: e}, "the checkpoint in x")
	}
	for name, c := range map[string]struct {
		err   error
		state State
		clean bool
	}{
		"cancelled":           {context.Canceled, "", false},
		"disk full":           {file(syscall.ENOSPC), ResourceBlocked, false},
		"quota":               {file(syscall.EDQUOT), ResourceBlocked, false},
		"disk full, foreseen": {fault.DiskFull.Newf("x"), ResourceBlocked, false},
		"read-only":           {file(syscall.EROFS), ResourceBlocked, false},
		"not allowed":         {file(syscall.EACCES), ResourceBlocked, false},
		"too many open files": {file(syscall.EMFILE), ResourceBlocked, false},
		"damaged":             {fault.StateUnreadable.Newf("x"), Recovering, true},
		"a bad disk":          {file(syscall.EIO), Recovering, true},
		"history gone":        {fault.HistoryExpired.Newf("x"), Recovering, true},
		"table gone":          {fault.SourceChanged.Newf("x"), SchemaBlocked, false},
		"catalog gone":        {fault.CatalogGone.Newf("x"), "", false},
	} {
		if r := trouble(c.err); r.state != c.state || r.clean != c.clean || !r.again && r.state != "" {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

func TestAFileInTheStatesPlaceIsRemoved(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "uuid")
	if err := os.WriteFile(dir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	m := &member{dir: filepath.Join(dir, "1")}
	if err := m.clear(); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(m.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := m.clear(); err != nil {
		t.Fatal(err)
	}
}

func TestAReasonHasItsCause(t *testing.T) {
	r := reasonOf(fault.StateUnreadable.Wrap(syscall.EROFS, "the checkpoint in x").WithHint("do"))
	if want := (Reason{Code: "STATE_UNREADABLE", Message: "the checkpoint in x: " + syscall.EROFS.Error(), Hint: "do"}); r != want {
		t.Errorf("%+v", r)
	}
}
