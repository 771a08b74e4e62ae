package state_test

import (
	"fmt"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/ivm/row"
	"github.com/vegadb/vega-flight/ivm/state"
)

// TestADiskThatEndsAnywhere lets each write fail from the n-th one on, for ever more n: whatever is being written, the log, the manifest, a table
// in the background, checkpoints fail with that as their reason and nothing else ends. Opened again, the store has the newest checkpoint that
// was acknowledged, or the one that was not, and all of it.
func TestADiskThatEndsAnywhere(t *testing.T) {
	step := int64(5)
	if testing.Short() {
		step = 41
	}
	for n := int64(0); ; n += step {
		if !diskEnds(t, n) {
			if n < 100 {
				t.Errorf("there are only %d writes", n)
			}
			return
		}
		if t.Failed() {
			t.Fatalf("with the disk's end after %d writes", n)
		}
	}
}

// diskEnds says that the end of the disk was met.
func diskEnds(t *testing.T, after int64) bool {
	const keys, rounds = 2000, 8
	var writes atomic.Int64
	mem := vfs.NewMem()
	fs := errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind.ReadOrWrite() == errorfs.OpIsWrite && writes.Add(1) > after {
			return syscall.EDQUOT
		}
		return nil
	}))
	spec := state.Spec{Key: row.ParseLayout("BIGINT"), Payload: 1}
	acknowledged, tried := 0, 0
	met := func(err error) bool {
		if err != nil && fault.CodeOf(err) != fault.StateUnreadable {
			t.Errorf("the error is %v", err)
		}
		return err != nil
	}
	use := func() (failed bool) {
		st, err := state.OpenStore(state.StoreOptions{Dir: "state", Stamp: "one", FS: fs})
		if met(err) {
			return true
		}
		defer func() { failed = met(st.Close()) || failed }()
		tab, err := state.Open(st, "table", spec, state.Part{})
		if met(err) {
			return true
		}
		for range rounds {
			tried++
			for k := range uint64(keys) {
				ref, _ := tab.Upsert([]uint64{0, k}, nil)
				tab.Payload(ref)[0] = uint64(tried)
			}
			c := st.Capture(fmt.Append(nil, tried))
			c.Drain(0)
			if met(c.Commit(t.Context())) {
				return true
			}
			acknowledged = tried
		}
		return false
	}
	failed := use()
	if !failed {
		failed = use() // on what is there
	}

	st := open(t, mem, "one")
	defer st.Close()
	tab := openTable(t, st, spec, state.Part{})
	at := 0
	if f := st.Frontier(); f != nil {
		if _, err := fmt.Sscan(string(f), &at); err != nil {
			t.Fatal(err)
		}
	}
	if at != acknowledged && at != tried {
		t.Errorf("checkpoint %d of %d, and %d was acknowledged", at, tried, acknowledged)
	}
	if want := min(at, 1) * keys; tab.Keys() != want {
		t.Errorf("%d keys in checkpoint %d, want %d", tab.Keys(), at, want)
	}
	tab.Each(func(ref state.Ref) bool {
		if p := tab.Payload(ref)[0]; p != uint64(at) {
			t.Errorf("key %v is %d in checkpoint %d", tab.Key(ref), p, at)
		}
		return !t.Failed()
	})
	return failed
}
