package state_test

import (
	"math/rand/v2"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"go.uber.org/goleak"

	"github.com/vegadb/vega-flight/ivm/row"
	"github.com/vegadb/vega-flight/ivm/state"
	"github.com/vegadb/vega-flight/ivm/state/statetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestTableInMemory(t *testing.T) {
	statetest.Run(t, statetest.Backing{Open: func(_ *testing.T, spec state.Spec) *state.Table { return state.New(spec) }})
}

func TestTableOverPebble(t *testing.T) {
	var st *state.Store
	var c *state.Checkpoint
	statetest.Run(t, statetest.Backing{
		Open: func(t *testing.T, spec state.Spec) *state.Table {
			c = nil
			st = open(t, vfs.NewMem(), "one")
			t.Cleanup(func() {
				if err := st.Close(); err != nil {
					t.Error(err)
				}
			})
			return openTable(t, st, spec, state.Part{})
		},
		Between: func(t *testing.T, tab *state.Table, rnd *rand.Rand) {
			switch {
			case c == nil && rnd.IntN(2) == 0:
				c = st.Capture(nil)
			case c != nil && !c.Drain(1+rnd.IntN(500)):
				if err := c.Commit(t.Context()); err != nil {
					t.Fatal(err)
				}
				c = nil
			}
			st.Settle()
			tab.Trim(tab.Used() * rnd.IntN(100) / 100)
		},
	})
}

func TestNothingIsAllocatedPerRow(t *testing.T) {
	spec := state.Spec{Key: row.ParseLayout("BIGINT", "VARCHAR"), Entry: row.ParseLayout("BIGINT", "VARCHAR"), Order: 1, Payload: 1}
	t.Run("memory", func(t *testing.T) { nothingIsAllocated(t, state.New(spec)) })
	t.Run("pebble", func(t *testing.T) {
		st := open(t, vfs.NewMem(), "one")
		defer func() {
			if err := st.Close(); err != nil {
				t.Error(err)
			}
		}()
		nothingIsAllocated(t, openTable(t, st, spec, state.Part{}))
	})
}

func nothingIsAllocated(t *testing.T, tab *state.Table) {
	t.Helper()
	var h row.Heap
	key, e := make([]uint64, 4), make([]uint64, 4)
	tab.Spec().Key.SetBytes(key, 1, []byte("a key that is longer than twelve bytes"), &h)
	tab.Spec().Entry.SetBytes(e, 1, []byte("an entry that is longer than twelve bytes"), &h)
	var c state.Cursor
	run := func() {
		for i := range uint64(2000) {
			key[1], e[1] = i%7, i*7919%1000
			ref, _ := tab.Upsert(key, &h)
			tab.Payload(ref)[0]++
			tab.Add(ref, e, &h, 1)
		}
		for i := range uint64(7) {
			key[1] = i
			ref, ok := tab.Find(key, &h)
			if !ok {
				panic("no key")
			}
			for tab.Seek(&c, ref, e, &h); c.Next(); {
				_ = c.Row()
			}
			tab.Rank(ref, e, &h)
			tab.Last(ref)
			tab.Remove(ref)
		}
	}
	run()
	run()
	if n := testing.AllocsPerRun(20, run); n > 0 {
		t.Errorf("%v allocations in 2000 changes", n)
	}
}

func TestMemoryIsGivenBack(t *testing.T) {
	tab := state.New(state.Spec{Key: row.ParseLayout("BIGINT"), Entry: row.ParseLayout("BIGINT", "VARCHAR")})
	var h row.Heap
	key, e := make([]uint64, 2), make([]uint64, 4)
	tab.Spec().Entry.SetBytes(e, 1, []byte("an entry that is longer than twelve bytes"), &h)
	fill := func() int {
		for i := range uint64(200_000) {
			key[1], e[1] = i%500, i
			ref, _ := tab.Upsert(key, &h)
			tab.Add(ref, e, &h, 1)
		}
		return tab.Bytes()
	}
	empty := tab.Bytes()
	full := fill()
	if full < 200_000*(32+41) {
		t.Errorf("%d bytes for 200000 entries", full)
	}
	for range 3 {
		tab.Each(func(ref state.Ref) bool { tab.Remove(ref); return true })
		if tab.Keys() != 0 || tab.Heap().Size() != 0 {
			t.Fatalf("%d keys, %d bytes of long values are left", tab.Keys(), tab.Heap().Size())
		}
		if again := fill(); again > full+full/20 {
			t.Errorf("%d bytes, %d the first time", again, full)
		}
	}
	tab.Reset()
	if tab.Bytes() > empty {
		t.Errorf("%d bytes after Reset, %d when new", tab.Bytes(), empty)
	}
}
