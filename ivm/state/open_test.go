package state

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"go.uber.org/goleak"

	"github.com/vegadb/vega-flight/fault"
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

// heard counts the errors that are logged.
type heard struct {
	slog.Handler
	n *atomic.Int64
}

func (heard) Enabled(context.Context, slog.Level) bool { return true }

func (h heard) Handle(_ context.Context, r slog.Record) error {
	if r.Level >= slog.LevelError {
		h.n.Add(1)
	}
	return nil
}

// small is a disk with little room.
type small struct{ vfs.FS }

func (small) GetDiskUsage(string) (vfs.DiskUsage, error) {
	return vfs.DiskUsage{TotalBytes: 1 << 30, AvailBytes: 1 << 20}, nil
}

// TestOpeningOnAFullDisk has a log that has to become a table first, and no room for that: Pebble alone would try until there is some.
func TestOpeningOnAFullDisk(t *testing.T) {
	h := heard{slog.DiscardHandler, new(atomic.Int64)}
	before := slog.Default()
	slog.SetDefault(slog.New(h))
	defer slog.SetDefault(before)
	mem := vfs.NewMem()
	s, err := OpenStore(StoreOptions{Dir: "state", FS: mem, Stamp: "one"})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.db.Set([]byte("key"), make([]byte, 1000), pebble.Sync); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	var tried atomic.Int64
	fs := errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind.ReadOrWrite() == errorfs.OpIsWrite && strings.HasSuffix(op.Path, ".sst") && tried.Add(1) <= 5 {
			return errors.New("the disk is full")
		}
		return nil
	}))
	if _, err := OpenStore(StoreOptions{Dir: "state", FS: small{fs}, Stamp: "one"}); fault.CodeOf(err) != fault.DiskFull {
		t.Errorf("%v", err)
	}
	if n := tried.Load(); n != 0 {
		t.Errorf("a table is begun %d times", n)
	}
	// The disk is full although it did not look like that, for some time: who opens is told so, and tries again.
	opens := int64(1)
	for ; ; opens++ {
		if s, err = OpenStore(StoreOptions{Dir: "state", FS: fs, Stamp: "one"}); err == nil {
			break
		}
		if fault.CodeOf(err) != fault.StateUnreadable || !strings.Contains(err.Error(), "the disk is full") {
			t.Fatal(err)
		}
	}
	if opens == 1 || tried.Load() <= 5 {
		t.Errorf("it is opened %d times, and tried %d times", opens, tried.Load())
	}
	if v, err := s.get([]byte("key")); err != nil || len(v) != 1000 {
		t.Errorf("%d bytes, %v", len(v), err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
