package state_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/vegadb/vega-flight/ivm/row"
	"github.com/vegadb/vega-flight/ivm/state"
)

// Keys that are in memory, that are in the store only and that are gone: all that are there are met once, with what they have.
func TestEachKeyIsMetOnce(t *testing.T) {
	spec := state.Spec{Key: row.ParseLayout("VARCHAR"), Entry: row.ParseLayout("BIGINT"), Payload: 1}
	fs := vfs.NewMem()
	open := func(budget int) (*state.Store, *state.Table) {
		st, err := state.OpenStore(state.StoreOptions{Dir: "d", Stamp: "1", FS: fs})
		if err != nil {
			t.Fatal(err)
		}
		tab, err := state.Open(st, "t", spec, state.Part{Budget: budget})
		if err != nil {
			t.Fatal(err)
		}
		return st, tab
	}
	name := func(i int) string { return fmt.Sprintf("a key that is not short: %d", i) }
	var h row.Heap
	words := func(i int) []uint64 {
		h.Reset()
		key := make([]uint64, spec.Key.Words)
		spec.Key.SetBytes(key, 0, []byte(name(i)), &h)
		return key
	}
	want := map[string]string{}
	put := func(tab *state.Table, i, entries int) {
		ref, _ := tab.Upsert(words(i), &h)
		tab.Payload(ref)[0] = uint64(i)
		for e := range entries {
			tab.Add(ref, []uint64{0, uint64(e)}, nil, 1)
		}
		want[name(i)] = fmt.Sprint(i, " ", entries)
	}
	st, tab := open(0)
	for i := range 3000 {
		entries := i % 5
		if i%500 == 0 {
			entries = 2000 // more than lie in one place
		}
		put(tab, i, entries)
	}
	c := st.Capture([]byte("f"))
	c.Drain(0)
	if err := c.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	st, tab = open(1)
	for i := 3000; i < 3100; i++ {
		put(tab, i, 1)
	}
	for i := 0; i < 3050; i += 7 {
		ref, ok := tab.Find(words(i), &h)
		if !ok {
			t.Fatalf("key %d is not there", i)
		}
		tab.Remove(ref)
		delete(want, name(i))
	}
	text := func(key []uint64, h *row.Heap) string { return string(spec.Key.Bytes(key, 0, h, nil)) }
	for range 2 { // what was read is as it was
		keys, whole := map[string]bool{}, map[string]string{}
		tab.EachKey(func(key []uint64, h *row.Heap) bool {
			if keys[text(key, h)] {
				t.Errorf("%q is met twice", text(key, h))
			}
			keys[strings.Clone(text(key, h))] = true
			return true
		})
		tab.Each(func(ref state.Ref) bool {
			whole[text(tab.Key(ref), tab.Heap())] = fmt.Sprint(tab.Peek(ref)[0], " ", tab.Len(ref))
			return true
		})
		if len(keys) != len(want) || len(whole) != len(want) || tab.Keys() != len(want) {
			t.Errorf("%d keys and %d with all that they have, of %d; the table counts %d", len(keys), len(whole), len(want), tab.Keys())
		}
		for k, v := range want {
			if !keys[k] || whole[k] != v {
				t.Errorf("%s has %q, not %q", k, whole[k], v)
			}
		}
	}
	n := 0
	tab.EachKey(func([]uint64, *row.Heap) bool { n++; return n < 2500 })
	if n != 2500 {
		t.Errorf("it went on to key %d", n)
	}
	if err := tab.Err(); err != nil {
		t.Fatal(err)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
}
