package state_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/vegadb/vega-flight/ivm/row"
	"github.com/vegadb/vega-flight/ivm/state"
)

// TestPartsAreChangedSideBySide changes the parts of a table on a goroutine
// each, checkpoints and trims in between, and restores them as other parts.
func TestPartsAreChangedSideBySide(t *testing.T) {
	for _, bulk := range []int{1 << 30, 1} {
		t.Run(fmt.Sprintf("bulk=%v", bulk == 1), func(t *testing.T) {
			defer state.SetBulk(bulk)()
			const parts, keys = 3, 500
			spec := state.Spec{Key: row.ParseLayout("BIGINT"), Entry: row.ParseLayout("BIGINT"), Payload: 1}
			fs := vfs.NewMem()
			st := open(t, fs, "one")
			var tabs [parts]*state.Table
			for i := range tabs {
				tabs[i] = openTable(t, st, spec, state.PartOf(i, parts))
			}
			var counts [keys]uint64
			step := func(seed uint64) {
				var wg sync.WaitGroup
				for i, tab := range tabs {
					wg.Go(func() {
						rnd := rand.New(rand.NewPCG(seed, 1))
						for range 2000 {
							k, e := rnd.Uint64N(keys), rnd.Uint64N(50)
							key := []uint64{0, k}
							if state.Shard(spec.Key.Hash(key, nil), parts) != i {
								continue
							}
							ref, _ := tab.Upsert(key, nil)
							tab.Payload(ref)[0]++
							tab.Add(ref, []uint64{0, e}, nil, 1)
							counts[k]++
						}
					})
				}
				wg.Wait()
			}
			var c *state.Checkpoint
			for round := range uint64(30) {
				step(round)
				if c == nil {
					c = st.Capture([]byte{byte(round)})
				} else if !c.Drain(200) {
					if err := c.Commit(t.Context()); err != nil {
						t.Fatal(err)
					}
					c = nil
				}
				st.Settle()
				for _, tab := range tabs {
					tab.Trim(20_000)
				}
			}
			if c != nil {
				c.Abort()
			}
			checkpoint(t, st, "last")
			if err := st.Close(); err != nil {
				t.Fatal(err)
			}
			st = open(t, fs, "one")
			for i := range 2 {
				openTable(t, st, spec, state.PartOf(i, 2)).Each(func(ref state.Ref) bool { return true })
			}
			if err := st.Close(); err != nil {
				t.Fatal(err)
			}
			st = open(t, fs, "one")
			tab := openTable(t, st, spec, state.Part{})
			for k, n := range counts {
				ref, ok := tab.Find([]uint64{0, uint64(k)}, nil)
				if ok != (n > 0) || ok && (tab.Peek(ref)[0] != n || tab.Total(ref) != int64(n)) {
					t.Fatalf("key %d is not what it was", k)
				}
			}
			if err := st.Close(); err != nil {
				t.Fatal(err)
			}
		})
	}
}
