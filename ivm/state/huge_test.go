package state_test

import (
	"math/rand/v2"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/vegadb/vega-flight/ivm/row"
	"github.com/vegadb/vega-flight/ivm/state"
	"github.com/vegadb/vega-flight/ivm/zset"
)

// TestKeyOfAMillionEntries loads one key, changes it, keeps it within an eighth
// of its size, restores it and takes all of it away.
func TestKeyOfAMillionEntries(t *testing.T) {
	if testing.Short() {
		t.Skip("a million entries")
	}
	const n = 1_000_000
	spec := state.Spec{Key: row.ParseLayout("BIGINT"), Entry: row.ParseLayout("BIGINT"), Order: 1}
	fs := vfs.NewMem()
	st := open(t, fs, "one")
	tab := openTable(t, st, spec, state.Part{})
	keys, entries := zset.New(spec.Key), zset.New(spec.Entry)
	rnd := rand.New(rand.NewPCG(1, 1))
	for _, i := range rnd.Perm(n) {
		keys.AppendRow(1)
		entries.AppendRow(1)[1] = uint64(2 * i)
	}
	ref := tab.Load(keys, entries, nil)[0]
	check := func(count int) {
		t.Helper()
		if tab.Len(ref) != count || tab.Total(ref) != int64(count) {
			t.Fatalf("%d entries of total %d, want %d", tab.Len(ref), tab.Total(ref), count)
		}
		for range 2000 {
			i := rnd.IntN(count)
			if e, _ := tab.At(ref, i); e[1] != uint64(2*(n-count)+2*i) || tab.Rank(ref, e, nil) != i {
				t.Fatalf("entry %d is %d of rank %d", i, e[1], tab.Rank(ref, e, nil))
			}
		}
		if err := tab.Err(); err != nil {
			t.Fatal(err)
		}
	}
	check(n)
	whole := tab.Used()
	checkpoint(t, st, "a")
	st.Settle()
	tab.Trim(whole / 8)
	find := func() {
		t.Helper()
		var ok bool
		if ref, ok = tab.Find([]uint64{0, 0}, nil); !ok {
			t.Fatal("the key is gone")
		}
	}
	find()
	check(n)
	for i := range uint64(n / 4) { // the least quarter goes
		if i%20_000 == 0 {
			checkpoint(t, st, "b")
			st.Settle()
			tab.Trim(whole / 8)
			find()
		}
		if before, after := tab.Add(ref, []uint64{0, 2 * i}, nil, -1); before != 1 || after != 0 {
			t.Fatalf("entry %d: %d, %d", i, before, after)
		}
	}
	check(n - n/4)
	st.Settle()
	tab.Trim(0)
	checkpoint(t, st, "c")
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	st = open(t, fs, "one")
	tab = openTable(t, st, spec, state.Part{Budget: whole / 8})
	if tab.Used() > whole/4 {
		t.Errorf("%d bytes are restored of %d, with a budget of %d", tab.Used(), whole, whole/8)
	}
	find()
	check(n - n/4)
	for _, i := range rnd.Perm(n - n/4) {
		tab.Add(ref, []uint64{0, uint64(2 * (n/4 + i))}, nil, -1)
	}
	if tab.Len(ref) != 0 || tab.Err() != nil {
		t.Fatalf("%d entries are left: %v", tab.Len(ref), tab.Err())
	}
	checkpoint(t, st, "d")
	find()
	tab.Remove(ref)
	checkpoint(t, st, "e")
	st.Settle()
	tab.Trim(0)
	if tab.Keys() != 0 || tab.Used() > 100_000 {
		t.Errorf("%d keys, %d bytes at the end", tab.Keys(), tab.Used())
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
}
