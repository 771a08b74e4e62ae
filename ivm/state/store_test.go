package state_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/ivm/row"
	"github.com/vegadb/vega-flight/ivm/state"
	"github.com/vegadb/vega-flight/ivm/state/statetest"
)

func open(t *testing.T, fs vfs.FS, stamp string) *state.Store {
	t.Helper()
	s, err := state.OpenStore(state.StoreOptions{Dir: "state", Stamp: stamp, FS: fs})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func openTable(t *testing.T, s *state.Store, spec state.Spec, part state.Part) *state.Table {
	t.Helper()
	tab, err := state.Open(s, "table", spec, part)
	if err != nil {
		t.Fatal(err)
	}
	return tab
}

func TestStoredTableIsItsModel(t *testing.T) {
	for _, bulk := range []int{1 << 30, 1} {
		for _, s := range statetest.Shapes() {
			for seed := range uint64(3) {
				t.Run(fmt.Sprintf("%s/bulk=%v/%d", s.Name, bulk == 1, seed), func(t *testing.T) {
					defer state.SetBulk(bulk)()
					history(t, s, rand.New(rand.NewPCG(seed, 5)))
				})
			}
		}
	}
}

// history is a random life of a table: changes, checkpoints that are taken piece
// by piece between them, given up or committed, crashes, trims.
func history(t *testing.T, s statetest.Shape, rnd *rand.Rand) {
	fs := vfs.NewCrashableMem()
	st := open(t, fs, "one")
	tab := openTable(t, st, s.Spec, state.Part{})
	m, saved := statetest.NewModel(s.Spec), statetest.NewModel(s.Spec)
	savedAt := 0
	var c *state.Checkpoint
	var captured *statetest.Model
	steps := s.Steps / 60
	for round := range 40 {
		for range 3 {
			if c != nil {
				c.Drain(1 + rnd.IntN(50))
			}
			m.Drive(t, tab, s, rnd, steps/2)
		}
		switch rnd.IntN(8) {
		case 0:
			if c == nil {
				captured = m.Clone()
				if c = st.Capture(fmt.Appendf(nil, "%d", round)); c == nil {
					t.Fatal("no checkpoint")
				}
				if st.Capture(nil) != nil {
					t.Fatal("two checkpoints")
				}
				savedAt = round
			}
		case 1, 2:
			if c == nil {
				break
			}
			if rnd.IntN(4) == 0 {
				c.Abort()
				c = nil
				break
			}
			for c.Drain(1 + rnd.IntN(300)) {
				m.Drive(t, tab, s, rnd, 5)
			}
			m.Drive(t, tab, s, rnd, 50)
			if err := c.Commit(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := string(st.Frontier()); got != fmt.Sprint(savedAt) {
				t.Fatalf("frontier %s, want %d", got, savedAt)
			}
			c, saved = nil, captured
		case 3:
			if rnd.IntN(3) == 0 {
				if c != nil {
					c.Abort()
					c = nil
				}
				clone := fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 50, RNG: rand.New(rand.NewPCG(rnd.Uint64(), 1))})
				if err := st.Close(); err != nil {
					t.Fatal(err)
				}
				fs = clone
				st = open(t, fs, "one")
				budget := 0
				if rnd.IntN(2) == 0 {
					budget = 20000
				}
				tab = openTable(t, st, s.Spec, state.Part{Budget: budget})
				m = saved.Clone()
				m.Check(t, tab)
			}
		case 4, 5:
			st.Settle()
			tab.Trim(tab.Used() * rnd.IntN(100) / 100)
			if rnd.IntN(3) == 0 {
				st.Settle()
				tab.Trim(0)
			}
		case 6:
			m.Batches(t, tab, s, rnd)
		}
		if round%10 == 9 {
			m.Check(t, tab)
		}
	}
	if c != nil {
		c.Abort()
	}
	m.Check(t, tab)
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
}

func checkpoint(t *testing.T, st *state.Store, frontier string) {
	t.Helper()
	c := st.Capture([]byte(frontier))
	c.Drain(0)
	if err := c.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestRescale(t *testing.T) {
	for _, s := range statetest.Shapes() {
		if s.Steps > 50000 {
			continue
		}
		t.Run(s.Name, func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(1, 9))
			fs := vfs.NewMem()
			m := statetest.NewModel(s.Spec)
			for round, n := range []int{1, 3, 2, 5, 1} {
				st := open(t, fs, "one")
				tabs := make([]*state.Table, n)
				for i := range tabs {
					tabs[i] = openTable(t, st, s.Spec, state.PartOf(i, n))
				}
				m.DriveParts(t, tabs, s, rnd, 3000)
				for i, tab := range tabs {
					m.Part(i, n).Check(t, tab)
				}
				checkpoint(t, st, fmt.Sprint(round))
				if err := st.Close(); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

func TestStampThatDiffersIsRefused(t *testing.T) {
	fs := vfs.NewMem()
	spec := state.Spec{Key: row.ParseLayout("BIGINT"), Payload: 1}
	st := open(t, fs, "one")
	openTable(t, st, spec, state.Part{})
	checkpoint(t, st, "f")
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := state.OpenStore(state.StoreOptions{Dir: "state", Stamp: "two", FS: fs}); !errors.Is(err, fault.StateStampDiffers.Sentinel()) {
		t.Fatalf("another stamp gives %v", err)
	}
	st = open(t, fs, "one")
	if string(st.Frontier()) != "f" {
		t.Fatalf("frontier %q", st.Frontier())
	}
	spec.Payload = 2
	if _, err := state.Open(st, "table", spec, state.Part{}); !errors.Is(err, fault.StateStampDiffers.Sentinel()) {
		t.Fatalf("another shape gives %v", err)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestCancelledCommitLosesNothing(t *testing.T) {
	for _, bulk := range []int{1 << 30, 1} {
		func() {
			defer state.SetBulk(bulk)()
			fs := vfs.NewMem()
			spec := state.Spec{Key: row.ParseLayout("BIGINT"), Payload: 1}
			st := open(t, fs, "one")
			tab := openTable(t, st, spec, state.Part{})
			ref, _ := tab.Upsert([]uint64{0, 7}, nil)
			tab.Payload(ref)[0] = 5
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			c := st.Capture([]byte("lost"))
			c.Drain(0)
			if err := c.Commit(ctx); !errors.Is(err, context.Canceled) {
				t.Fatalf("a cancelled commit gives %v", err)
			}
			if st.Frontier() != nil {
				t.Fatal("the frontier moved")
			}
			checkpoint(t, st, "kept")
			if err := st.Close(); err != nil {
				t.Fatal(err)
			}
			st = open(t, fs, "one")
			tab = openTable(t, st, spec, state.Part{})
			if ref, ok := tab.Find([]uint64{0, 7}, nil); !ok || tab.Peek(ref)[0] != 5 || string(st.Frontier()) != "kept" {
				t.Fatal("what was captured first is lost")
			}
			if err := st.Close(); err != nil {
				t.Fatal(err)
			}
		}()
	}
}
