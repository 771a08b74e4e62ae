package flightsql

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/vegadb/vega-flight/fault"
)

var numbers = arrow.NewSchema([]arrow.Field{{Name: "n", Type: arrow.PrimitiveTypes.Int64, Nullable: true}}, nil)

func numbered(from, count int64) arrow.RecordBatch {
	b := array.NewRecordBuilder(memory.DefaultAllocator, numbers)
	defer b.Release()
	for i := from; i < from+count; i++ {
		b.Field(0).(*array.Int64Builder).Append(i)
	}
	return b.NewRecordBatch()
}

func newSpools(t *testing.T, limit, each int64) *spools {
	t.Helper()
	s, err := openSpools(filepath.Join(t.TempDir(), "spool"), limit, each, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// readAll sums what a reader of the spool sees.
func readAll(ctx context.Context, sp *spool) (rows, sum int64, err error) {
	f, err := sp.open(ctx)
	if err != nil {
		return 0, 0, err
	}
	defer f.Close()
	r, err := ipc.NewReader(f, ipc.WithDelayReadSchema(true))
	if err != nil {
		return 0, 0, err
	}
	defer r.Release()
	for r.Next() {
		b := r.RecordBatch()
		rows += b.NumRows()
		for _, v := range b.Column(0).(*array.Int64).Int64Values() {
			sum += v
		}
	}
	return rows, sum, firstOf(f.failure(), r.Err())
}

func TestSpoolIsReadWhileItIsWritten(t *testing.T) {
	s := newSpools(t, 1<<30, 1<<30)
	sp, err := s.create("vqh_a", "alice", numbers)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			rows, sum, err := readAll(context.Background(), sp)
			if err != nil || rows != 100*1000 || sum != 100_000*99_999/2 {
				t.Errorf("%d rows, sum %d, %v", rows, sum, err)
			}
		})
	}
	for i := range int64(100) {
		b := numbered(i*1000, 1000)
		if err := sp.add(b); err != nil {
			t.Fatal(err)
		}
		b.Release()
	}
	if err := sp.finish(nil); err != nil {
		t.Fatal(err)
	}
	wg.Wait()
	if info, err := os.Stat(sp.path); err != nil || info.Size() != sp.size() || s.used != sp.size() || info.Mode().Perm() != 0o600 {
		t.Fatalf("%v %v, booked %d, used %d", info, err, sp.size(), s.used)
	}
	// Another process finds a complete result and reads it.
	after := &spools{dir: s.dir, limit: 1 << 30, each: 1 << 30, users: map[string]int64{}}
	adopted, err := after.adopt("vqh_a", "alice", 100_000)
	if err != nil {
		t.Fatal(err)
	}
	if rows, _, err := readAll(context.Background(), adopted); err != nil || rows != 100_000 {
		t.Fatalf("%d %v", rows, err)
	}
	sp.remove()
	sp.remove()
	if s.used != 0 || len(s.users) != 0 {
		t.Fatalf("%d bytes stay booked", s.used)
	}
	if _, err := sp.open(context.Background()); fault.CodeOf(err) != fault.HandleNotFound {
		t.Fatal(err)
	}
}

func TestSpoolQuotas(t *testing.T) {
	s := newSpools(t, 60_000, 40_000)
	fill := func(handle, user string) error {
		sp, err := s.create(handle, user, numbers)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(sp.remove)
		b := numbered(0, 1000)
		defer b.Release()
		for range 100 {
			if err := sp.add(b); err != nil {
				_ = sp.finish(err)
				return err
			}
		}
		return sp.finish(nil)
	}
	if err := fill("a", "alice"); fault.CodeOf(err) != fault.QuotaExceeded {
		t.Fatalf("alice: %v", err)
	}
	if err := fill("b", "bob"); fault.CodeOf(err) != fault.QuotaExceeded {
		t.Fatalf("bob: %v", err)
	}
	if s.used > 60_000 || s.users["alice"] > 40_000 {
		t.Fatalf("%d of %v", s.used, s.users)
	}
}

func TestSpoolFailureReachesReaders(t *testing.T) {
	s := newSpools(t, 1<<30, 1<<30)
	sp, err := s.create("a", "alice", numbers)
	if err != nil {
		t.Fatal(err)
	}
	defer sp.remove()
	b := numbered(0, 10)
	defer b.Release()
	if err := sp.add(b); err != nil {
		t.Fatal(err)
	}
	failure := fault.SQLError.Newf("row 11")
	_ = sp.finish(failure)
	if _, _, err := readAll(context.Background(), sp); !errors.Is(err, failure) {
		t.Fatalf("a cut result looks complete: %v", err)
	}
}

func TestSpoolReaderEndsWithItsContext(t *testing.T) {
	s := newSpools(t, 1<<30, 1<<30)
	sp, err := s.create("a", "alice", numbers)
	if err != nil {
		t.Fatal(err)
	}
	defer sp.remove()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() {
		_, _, err := readAll(ctx, sp)
		done <- err
	}()
	cancel()
	if err := <-done; err == nil {
		t.Fatal("a reading that was given up ended well")
	}
	_ = sp.finish(nil)
}

func TestSpoolFolder(t *testing.T) {
	dir := t.TempDir()
	old := filepath.Join(dir, "vqh_old"+spoolSuffix)
	if err := os.WriteFile(old, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(old, time.Now().Add(-48*time.Hour), time.Now().Add(-48*time.Hour)); err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(dir, "somebody.txt")
	if err := os.WriteFile(other, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := openSpools(dir, 1, 1, 24*time.Hour); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(old); err == nil {
		t.Error("a dead process's result stays for ever")
	}
	if _, err := os.Stat(other); err != nil {
		t.Error("somebody else's file was removed")
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	if _, err := openSpools(link, 1, 1, time.Hour); err == nil {
		t.Error("a symbolic link was taken for the folder")
	}
}
