package stream_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/vegadb/vega-flight/ducklake/duck"
	"github.com/vegadb/vega-flight/ducklake/extension"
	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/ivm/stream"
	"github.com/vegadb/vega-flight/ivm/zset"
)

// fate is what goes wrong around a supervisor, as often as is asked for.
type fate struct {
	clock         atomic.Int64 // what time it is
	lost, refused failing      // commits: their answer; they themselves
	source        failing      // reads of the lake
	disk          failing      // writes of state
	budget        int64        // bytes of state in memory, of supervisors that begin; 0: any
	foreign       *duck.Conn   // of another program; nil: the lake is not shared
}

// failing fails some times. Unfused, it does until it is mended.
type failing struct {
	left atomic.Int64
	with atomic.Pointer[error]
}

func (f *failing) fail(times int64, with error) {
	f.with.Store(&with)
	f.left.Store(times)
}

func (f *failing) next() error {
	for {
		n := f.left.Load()
		if n <= 0 {
			return nil
		}
		if f.left.CompareAndSwap(n, n-1) {
			return *f.with.Load()
		}
	}
}

func newFate() *fate { return &fate{} }

// mend ends all that goes wrong until then.
func (f *fate) mend() { f.disk.left.Store(0) }

// on puts it into a lab before that starts.
func (f *fate) on(l *lab) {
	l.publisher.Faults.AfterCommit = f.lost.next
	l.publisher.Faults.BeforeCommit = f.refused.next
	l.configure = append(l.configure, func(c *stream.Config) {
		c.Source = &flaky{c.Source, f}
		c.FS = errorfs.Wrap(vfs.Default, f)
		c.Now = f.now
		c.MemoryBudget = f.budget // less than statements allow
		c.RefileEvery = 3
	})
}

// join opens what needs the lake.
func (f *fate) join(l *lab) {
	if !l.lake.Shared() {
		return
	}
	db, err := duck.Open("", duck.Options{})
	l.must(err)
	f.foreign, err = db.Connect()
	l.must(err)
	l.t.Cleanup(func() { l.must(errors.Join(f.foreign.Close(), db.Close())) })
	for _, e := range []string{extension.DuckLake, extension.Postgres} {
		file, err := extension.Find(l.place.Config.ExtensionDir, e)
		l.must(err)
		_, err = f.foreign.Exec(l.ctx, "LOAD '"+file+"'")
		l.must(err)
	}
	_, err = f.foreign.Exec(l.ctx, fmt.Sprintf("SET TimeZone = 'UTC'; ATTACH 'ducklake:postgres:%s' AS lake (DATA_PATH '%s', METADATA_SCHEMA '%s'); USE lake",
		l.place.Config.Catalog, l.lake.DataPath(), l.place.Config.MetadataSchema))
	l.must(err)
}

// MaybeError implements [errorfs.Injector].
func (f *fate) MaybeError(op errorfs.Op) error {
	if op.Kind.ReadOrWrite() == errorfs.OpIsWrite {
		return f.disk.next()
	}
	return nil
}

func (f *fate) String() string { return "fate" }

// flaky is a source whose reads may fail.
type flaky struct {
	stream.Source
	by *fate
}

func (s *flaky) Commits(ctx context.Context, from, to int64) ([]stream.Commit, error) {
	if err := s.by.source.next(); err != nil {
		return nil, err
	}
	return s.Source.Commits(ctx, from, to)
}

// Changes fails after it has given some.
func (s *flaky) Changes(ctx context.Context, r stream.Reading, from, to int64, take func(*zset.Batch) error) error {
	return s.Source.Changes(ctx, r, from, to, func(b *zset.Batch) error { return errors.Join(take(b), s.by.source.next()) })
}

func (s *flaky) Content(ctx context.Context, r stream.Reading, at int64, take func(*zset.Batch) error) error {
	return s.Source.Content(ctx, r, at, func(b *zset.Batch) error { return errors.Join(take(b), s.by.source.next()) })
}

// troubles are errors of each kind that a source, a commit or a disk may give.
var (
	sourceTroubles = []error{errStopped, fault.CatalogGone.Newf("injected"), fault.LakeUnreadable.Newf("injected"), fault.HistoryExpired.Newf("injected")}
	commitTroubles = []error{errStopped, fault.CatalogGone.Newf("injected"), fault.CommitConflict.Newf("injected"), fault.DiskFull.Newf("injected")}
	diskTroubles   = []error{errorfs.ErrInjected, syscall.ENOSPC}
)

func (f *fate) now() time.Time { return time.UnixMicro(f.clock.Load()) }
