package state

import (
	"errors"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"go.uber.org/goleak"
)

// TestOpeningsThatFail fail at the first write, then at the second, and so on, until one does not. None leaves anything running.
func TestOpeningsThatFail(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	failed := 0
	for at := int64(0); ; at++ {
		var writes atomic.Int64
		fs := errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
			if op.Kind.ReadOrWrite() == errorfs.OpIsWrite && writes.Add(1)-1 == at {
				return errors.New("the disk is full")
			}
			return nil
		}))
		s, err := OpenStore(StoreOptions{Dir: "state", FS: fs, Stamp: "one"})
		if err == nil {
			if err := s.Close(); err != nil && writes.Load() <= at {
				t.Error(err)
			}
			if writes.Load() <= at {
				break
			}
			continue
		}
		failed++
	}
	if failed < 5 {
		t.Errorf("only %d openings have failed", failed)
	}
}
