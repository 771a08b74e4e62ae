package state_test

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/vegadb/vega-flight/ivm/row"
	"github.com/vegadb/vega-flight/ivm/state"
)

// TestKeysWithTheSameTag looks for keys whose hashes agree in all that the index
// has of them, and tells them apart, in memory and when one is in the store only.
func TestKeysWithTheSameTag(t *testing.T) {
	spec := state.Spec{Key: row.ParseLayout("BIGINT"), Payload: 1}
	seen := map[uint32]uint64{}
	var pairs [][2]uint64
	for i := range uint64(400_000) {
		tag := uint32(spec.Key.Hash([]uint64{0, i}, nil) >> 32)
		if j, ok := seen[tag]; ok {
			pairs = append(pairs, [2]uint64{j, i})
		}
		seen[tag] = i
	}
	if len(pairs) < 5 {
		t.Fatalf("only %d pairs", len(pairs))
	}
	st := open(t, vfs.NewMem(), "one")
	for _, tab := range []*state.Table{state.New(spec), openTable(t, st, spec, state.Part{})} {
		is := func(key, want uint64) {
			t.Helper()
			ref, ok := tab.Find([]uint64{0, key}, nil)
			if ok != (want > 0) || ok && tab.Peek(ref)[0] != want {
				t.Fatalf("key %d is not %d", key, want)
			}
		}
		put := func(key, v uint64) {
			ref, _ := tab.Upsert([]uint64{0, key}, nil)
			tab.Payload(ref)[0] = v
		}
		for _, p := range pairs {
			put(p[0], 1)
			is(p[1], 0)
			put(p[1], 2)
		}
		checkpoint(t, st, "a")
		st.Settle()
		tab.Trim(0) // all are in the store only, if there is one
		tab.Trim(0)
		for _, p := range pairs {
			is(p[1], 2)
			ref, _ := tab.Find([]uint64{0, p[1]}, nil)
			tab.Remove(ref)
			is(p[1], 0)
			is(p[0], 1)
			put(p[1], 3)
			is(p[0], 1)
			is(p[1], 3)
		}
		if tab.Keys() != 2*len(pairs) {
			t.Fatalf("%d keys, want %d", tab.Keys(), 2*len(pairs))
		}
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
}
