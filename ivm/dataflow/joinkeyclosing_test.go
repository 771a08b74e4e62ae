package dataflow

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/vegadb/vega-flight/ivm/row"
	"github.com/vegadb/vega-flight/ivm/state"
)

// TestKeyClosingChangesNothing runs joins of equal times over random histories that keep to watermarks, with keys that are let go and keys
// that are kept: what they give is the same, and in the end nothing is left of the one but keys without a time.
func TestKeyClosingChangesNothing(t *testing.T) {
	layout := row.ParseLayout("BIGINT", "VARCHAR", "BIGINT") // time, text, value
	kinds := []JoinKind{JoinInner, JoinLeft, JoinRight, JoinFull, JoinSemi, JoinAnti, JoinMark}
	for seed := range uint64(70) {
		kind := kinds[seed%uint64(len(kinds))]
		t.Run(fmt.Sprintf("%d/%d", kind, seed), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 2))
			var floors [2]int64
			known := false
			side := JoinSide{Layout: layout, Keys: fieldsOf(layout, 1, 0)}
			spec := JoinSpec{Kind: kind, Left: side, Right: side, NullSafe: []bool{seed%3 == 0, seed%5 == 0}}
			if seed%4 == 0 && kind <= JoinFull {
				spec.Output = []int{0, 1, 3} // the right side's rows are numbers
			}
			kept, err := NewJoin("j", spec, Memory{})
			if err != nil {
				t.Fatal(err)
			}
			spec.KeyClosing = KeyClosing{Field: 1, Floor: func(context.Context) (int64, bool) { return min(floors[0], floors[1]), known }}
			tables := sameTables{}
			open := func() *Graph {
				op, err := NewJoin("j", spec, tables)
				if err != nil {
					t.Fatal(err)
				}
				g := NewGraph()
				g.Add("join", op, g.Source("l", layout), g.Source("r", layout))
				return g
			}
			var graphs [2]*Graph
			graphs[0] = NewGraph()
			graphs[0].Add("join", kept, graphs[0].Source("l", layout), graphs[0].Source("r", layout))
			graphs[1] = open()
			content := [2]bag{{}, {}}
			for step := range 40 {
				var in [2]bag
				for n := range in {
					in[n] = bag{}
					for range rng.IntN(8) {
						if have := content[n].ordered(); len(have) > 0 && rng.IntN(3) == 0 {
							r := have[rng.IntN(len(have))].row
							if at, ok := r[0].(int64); !known || !ok || at >= floors[n] {
								in[n].add(r, -1)
								content[n].add(r, -1)
							}
							continue
						}
						r := []any{floors[n] + int64(rng.IntN(6)), fmt.Sprintf("text that is not short %d", rng.IntN(2)), int64(rng.IntN(3))}
						for f := range 2 {
							if rng.IntN(12) == 0 {
								r[f] = nil
							}
						}
						in[n].add(r, 1)
						content[n].add(r, 1)
					}
				}
				if rng.IntN(2) == 0 {
					known = true
					floors[rng.IntN(2)] += int64(rng.IntN(4))
				}
				if step == 39 {
					known, floors = true, [2]int64{1000, 1000}
				}
				var out [2]bag
				for k, g := range graphs {
					d, err := g.Step(t.Context(), 0, in[0].batch(layout), in[1].batch(layout))
					if err != nil {
						t.Fatal(err)
					}
					out[k] = bag{}
					out[k].addBatch(d, 1)
				}
				if d := minus(out[0], out[1]); len(d) > 0 {
					t.Fatalf("step %d: with keys that are let go, %s is missing", step, d)
				}
				if rng.IntN(10) == 0 {
					graphs[1] = open()
				}
			}
			last := bag{}
			last.add([]any{nil, nil, int64(0)}, 1)
			if _, err := graphs[1].Step(t.Context(), 0, last.batch(layout), nil); err != nil {
				t.Fatal(err)
			}
			for name, table := range tables {
				table.Each(func(ref state.Ref) bool {
					if key := plainRow(table.Spec().Key, table.Key(ref), table.Heap()); key[1] != nil {
						t.Errorf("%s still has %v", name, key)
					}
					return true
				})
			}
		})
	}
}
