package dataflow

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/vegadb/vega-flight/ivm/row"
	"github.com/vegadb/vega-flight/ivm/state"
)

// TestClosingChangesNothing runs joins of rows within a span over random histories that keep to watermarks, with state that is let go and
// state that is kept: what they give is the same, and in the end nothing is left of the one but rows without a time.
func TestClosingChangesNothing(t *testing.T) {
	const span = 6
	layout := row.ParseLayout("BIGINT", "BIGINT", "VARCHAR") // key, time, text
	pair := PairLayout(layout, layout)
	within := &funcProgram{pair, row.ParseLayout("BOOLEAN"), func(r []any) ([]any, error) {
		if r[1] == nil || r[4] == nil {
			return []any{nil}, nil
		}
		l, p := r[1].(int64), r[4].(int64)
		return []any{p >= l && p <= l+span}, nil
	}}
	later := &funcProgram{layout, row.ParseLayout("BIGINT"), func(r []any) ([]any, error) {
		if r[1] == nil {
			return []any{nil}, nil
		}
		return []any{r[1].(int64) + span}, nil
	}}
	for seed := range uint64(60) {
		kind := []JoinKind{JoinInner, JoinLeft, JoinRight, JoinFull, JoinSemi, JoinAnti}[seed%6]
		t.Run(fmt.Sprintf("%d/%d", kind, seed), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 1))
			var floors [2]int64
			known := false
			floor := func(n int) func(context.Context) (int64, bool) {
				return func(context.Context) (int64, bool) { return floors[n], known }
			}
			side := JoinSide{Layout: layout}
			if seed%4 != 3 {
				side.Keys = fieldsOf(layout, 0)
			}
			spec := JoinSpec{Kind: kind, Left: side, Right: side, NullSafe: []bool{seed%5 == 0}, Predicate: within}
			if side.Keys == nil {
				spec.NullSafe = nil
			}
			kept, err := NewJoin("j", spec, Memory{})
			if err != nil {
				t.Fatal(err)
			}
			spec.Closings = [2]*JoinClosing{
				{Own: 1, Value: later, Below: floor(0), Above: floor(1)},
				{Own: 1, Value: fieldsOf(layout, 1), Below: floor(1), Above: floor(0)},
			}
			tables := sameTables{}
			twoJoins{
				kept: kept, layout: layout, field: 1, rows: 6, rise: 9,
				open: func() (Operator, error) { return newRowJoin("j", spec, tables) },
				row: func(floor int64) []any {
					return []any{int64(rng.IntN(3)), floor + int64(rng.IntN(12)), fmt.Sprintf("text that is not short %d", rng.IntN(2))}
				},
				last: []any{nil, nil, "so that there is a step"},
			}.run(t, rng, &floors, &known)
			for name, table := range tables {
				l := table.Spec().Key
				table.Each(func(ref state.Ref) bool {
					if table.Spec().Entry == nil { // what is counted of a row, which is behind its key
						if r := plainRow(l, table.Key(ref), table.Heap()); r[len(r)-2] != nil {
							t.Errorf("%s still counts for %v", name, r)
						}
						return true
					}
					var c state.Cursor
					for table.Scan(&c, ref); c.Next(); {
						if r := plainRow(layout, c.Row(), table.Heap()); r[1] != nil {
							t.Errorf("%s still has %v", name, r)
						}
					}
					return true
				})
			}
		})
	}
}

// sameTables gives a table of a name that is there again.
type sameTables map[string]*state.Table

func (s sameTables) Table(name string, spec state.Spec) (*state.Table, error) {
	if s[name] == nil {
		s[name] = state.New(spec)
	}
	return s[name], nil
}
