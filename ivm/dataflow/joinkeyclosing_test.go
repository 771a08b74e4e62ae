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
			twoJoins{
				kept: kept, layout: layout, field: 0, rows: 8, rise: 4,
				open: func() (Operator, error) { return NewJoin("j", spec, tables) },
				row: func(floor int64) []any {
					return []any{floor + int64(rng.IntN(6)), fmt.Sprintf("text that is not short %d", rng.IntN(2)), int64(rng.IntN(3))}
				},
				last: []any{nil, nil, int64(0)},
			}.run(t, rng, &floors, &known)
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
