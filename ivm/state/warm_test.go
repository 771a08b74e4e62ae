package state

import (
	"testing"

	"github.com/vegadb/vega-flight/ivm/row"
	"github.com/vegadb/vega-flight/ivm/zset"
)

// TestWarmChangesNothing warms keys of all heights, with and without weights, and finds every entry as it was.
func TestWarmChangesNothing(t *testing.T) {
	for _, types := range [][]string{{"BIGINT"}, {"BIGINT", "VARCHAR"}, {"VARCHAR", "BIGINT"}} {
		entry := row.ParseLayout(types...)
		table := New(Spec{Key: row.ParseLayout("BIGINT"), Entry: entry, Order: 1})
		keys, entries := zset.New(table.spec.Key), zset.New(entry)
		for key, n := range []int{0, 1, 2, 50, 300, 20_000} {
			for i := range n {
				keys.Layout.Set(keys.AppendRow(1), 0, uint64(key))
				r := entries.AppendRow(int64(1 + i%2))
				for f, typ := range entry.Types {
					if typ.Var() {
						entry.SetBytes(r, f, []byte{byte(i >> 8), byte(i), 'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k', 'l'}, entries.Heap)
					} else {
						entry.Set(r, f, uint64(i*7))
					}
				}
			}
		}
		refs := table.UpsertAll(keys, nil)
		empty, _ := table.Upsert([]uint64{0, 1 << 40}, nil)
		for i, ref := range refs {
			table.Warm([]Ref{ref, empty}, append(append([]uint64{}, entries.Row(i)...), entries.Row(0)...))
			table.Add(ref, entries.Row(i), entries.Heap, entries.Weights[i])
		}
		table.Warm(refs, entries.Words)
		table.Warm(refs, nil)
		table.Warm(nil, nil)
		for i, ref := range refs {
			if got := table.Weight(ref, entries.Row(i), entries.Heap); got != entries.Weights[i] {
				t.Fatalf("%v: entry %d has the weight %d, want %d", types, i, got, entries.Weights[i])
			}
		}
	}
}
