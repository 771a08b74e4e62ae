package state_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/ivm/row"
	"github.com/vegadb/vega-flight/ivm/state"
	"github.com/vegadb/vega-flight/ivm/state/statetest"
)

var errFull = errors.New("no space left on device")

// TestFullDiskLosesNothing fills the disk while a large checkpoint is written:
// the commit says so, and after there is room again all is in the next.
func TestFullDiskLosesNothing(t *testing.T) {
	defer state.SetBulk(1)()
	var full atomic.Bool
	mem := vfs.NewMem()
	fs := errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if full.Load() && strings.Contains(op.Path, "ingest") && op.Kind.ReadOrWrite() == errorfs.OpIsWrite {
			return errFull
		}
		return nil
	}))
	st := open(t, fs, "one")
	s := statetest.Shapes()[3]
	tab, m := openTable(t, st, s.Spec, state.Part{}), statetest.NewModel(s.Spec)
	rnd := rand.New(rand.NewPCG(1, 1))
	for round := range 6 {
		m.Drive(t, tab, s, rnd, 2000)
		full.Store(round%2 == 1)
		c := st.Capture(fmt.Appendf(nil, "%d", round))
		m.Drive(t, tab, s, rnd, 200)
		c.Drain(0)
		err := c.Commit(t.Context())
		if full.Load() != (err != nil) {
			t.Fatalf("round %d: %v", round, err)
		}
		if want := fmt.Sprint(round &^ 1); string(st.Frontier()) != want {
			t.Fatalf("round %d: frontier %s, want %s", round, st.Frontier(), want)
		}
		m.Check(t, tab)
	}
	full.Store(false)
	checkpoint(t, st, "last")
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	st = open(t, mem, "one")
	m.Check(t, openTable(t, st, s.Spec, state.Part{}))
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestUnreadableStoreIsToldOf damages reads: the table says so and nothing is committed.
func TestUnreadableStoreIsToldOf(t *testing.T) {
	var broken atomic.Bool
	fs := errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if broken.Load() && strings.HasSuffix(op.Path, ".sst") && op.Kind == errorfs.OpFileReadAt {
			return errFull
		}
		return nil
	}))
	defer state.SetBulk(1)()
	st, err := state.OpenStore(state.StoreOptions{Dir: "state", Stamp: "one", FS: fs, Cache: 1})
	if err != nil {
		t.Fatal(err)
	}
	spec := state.Spec{Key: row.ParseLayout("BIGINT"), Entry: row.ParseLayout("BIGINT"), Order: 1}
	tab := openTable(t, st, spec, state.Part{})
	for i := range uint64(20_000) {
		ref, _ := tab.Upsert([]uint64{0, i % 100 * (i % 3)}, nil)
		tab.Add(ref, []uint64{0, i}, nil, 1)
	}
	checkpoint(t, st, "f")
	st.Settle()
	tab.Trim(0)
	broken.Store(true)
	for i := range uint64(300) {
		if ref, ok := tab.Find([]uint64{0, i}, nil); ok {
			tab.Add(ref, []uint64{0, 1 << 40}, nil, 1)
			tab.At(ref, 1)
		}
	}
	if !errors.Is(tab.Err(), fault.StateUnreadable.Sentinel()) {
		t.Fatalf("the error is %v", tab.Err())
	}
	broken.Store(false)
	c := st.Capture([]byte("g"))
	c.Drain(0)
	if err := c.Commit(t.Context()); err == nil || string(st.Frontier()) != "f" {
		t.Fatal("a checkpoint of a table that failed is committed")
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestStoreThatEndsIsOpenedAgain fills the disk under the database's log: the
// commit says that the store has ended, and opening it again has the checkpoint before.
func TestStoreThatEndsIsOpenedAgain(t *testing.T) {
	var full atomic.Bool
	mem := vfs.NewMem()
	fs := errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if full.Load() && op.Kind.ReadOrWrite() == errorfs.OpIsWrite {
			return errFull
		}
		return nil
	}))
	st := open(t, fs, "one")
	spec := state.Spec{Key: row.ParseLayout("BIGINT"), Payload: 1}
	tab := openTable(t, st, spec, state.Part{})
	tab.Upsert([]uint64{0, 1}, nil)
	checkpoint(t, st, "f")
	tab.Upsert([]uint64{0, 2}, nil)
	full.Store(true)
	c := st.Capture([]byte("g"))
	c.Drain(0)
	if err := c.Commit(t.Context()); !errors.Is(err, fault.StateUnreadable.Sentinel()) || st.Err() == nil || string(st.Frontier()) != "f" {
		t.Fatalf("a full disk gives %v", err)
	}
	full.Store(false)
	c = st.Capture([]byte("h"))
	c.Drain(0)
	if err := c.Commit(t.Context()); err == nil {
		t.Fatal("a store that ended commits")
	}
	_ = st.Close()
	st = open(t, mem, "one")
	if tab = openTable(t, st, spec, state.Part{}); tab.Keys() != 1 || string(st.Frontier()) != "f" {
		t.Fatalf("%d keys at %s", tab.Keys(), st.Frontier())
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestTableOfAFullDisk opens a table when the disk is full: its first checkpoint cannot be made, and nothing else ends.
func TestTableOfAFullDisk(t *testing.T) {
	var full atomic.Bool
	fs := errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if full.Load() && op.Kind.ReadOrWrite() == errorfs.OpIsWrite {
			return errFull
		}
		return nil
	}))
	st := open(t, fs, "one")
	full.Store(true)
	tab := openTable(t, st, state.Spec{Key: row.ParseLayout("BIGINT")}, state.Part{})
	tab.Upsert([]uint64{0, 1}, nil)
	c := st.Capture([]byte("f"))
	c.Drain(0)
	if err := c.Commit(t.Context()); !errors.Is(err, fault.StateUnreadable.Sentinel()) {
		t.Fatalf("the error is %v", err)
	}
	_ = st.Close()
	full.Store(false)
	st = open(t, fs, "two") // nothing holds the folder, and nothing was said of what it is of
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
}
