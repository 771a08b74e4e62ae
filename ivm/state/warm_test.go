package state

import (
	"fmt"
	"math/rand/v2"
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

// TestAddsBehindWarm adds rows to a table that is warmed for them and to one that is not: rows of one key follow each other in a
// window, their first words repeat, some of the rows that were announced are left out, and keys go.
func TestAddsBehindWarm(t *testing.T) {
	for _, c := range []struct {
		types []string
		order int
	}{{[]string{"BIGINT", "BIGINT"}, 0}, {[]string{"BIGINT", "BIGINT"}, 1}, {[]string{"VARCHAR", "BIGINT"}, 0}} {
		entry := row.ParseLayout(c.types...)
		spec := Spec{Key: row.ParseLayout("BIGINT"), Entry: entry, Order: c.order}
		tables := [2]*Table{New(spec), New(spec)}
		r := rand.New(rand.NewPCG(1, uint64(c.order)))
		for round := range 300 {
			keys, rows := zset.New(spec.Key), zset.New(entry)
			for range 1 + r.IntN(2*Window) {
				spec.Key.Set(keys.AppendRow(1), 0, uint64(r.IntN(3)*r.IntN(20)))
				e := rows.AppendRow(int64(r.IntN(4) - 1))
				if entry.Types[0].Var() {
					entry.SetBytes(e, 0, fmt.Appendf(nil, "the same beginning %d", r.IntN(200)), rows.Heap)
				} else {
					entry.Set(e, 0, uint64(r.IntN(1+round)))
				}
				entry.Set(e, 1, uint64(r.IntN(3)))
			}
			var refs [2][]Ref
			for k, table := range tables {
				refs[k] = table.UpsertAll(keys, nil)
			}
			for i := range keys.Len() {
				if i%Window == 0 {
					k := min(i+Window, keys.Len())
					tables[0].Warm(refs[0][i:k], rows.Words[i*entry.Words:k*entry.Words])
				}
				if r.IntN(20) == 0 {
					continue
				}
				b0, a0 := tables[0].Add(refs[0][i], rows.Row(i), rows.Heap, rows.Weights[i])
				b1, a1 := tables[1].Add(refs[1][i], rows.Row(i), rows.Heap, rows.Weights[i])
				if b0 != b1 || a0 != a1 {
					t.Fatalf("%v, round %d: %d to %d, want %d to %d", c, round, b0, a0, b1, a1)
				}
			}
			ref := r.IntN(keys.Len())
			if r.IntN(30) == 0 {
				tables[0].Clear(refs[0][ref])
				tables[1].Clear(refs[1][ref])
			}
		}
		tables[0].Each(func(ref Ref) bool {
			other, ok := tables[1].Find(tables[0].Key(ref), nil)
			var a, b Cursor
			tables[0].Scan(&a, ref)
			tables[1].Scan(&b, other)
			for n := 0; ; n++ {
				x, y := a.Next(), b.Next()
				if !ok || x != y {
					t.Fatalf("%v: a key has %d rows in one table and not in the other", c, n)
				}
				if !x {
					return true
				}
				if !entry.Equal(a.Row(), tables[0].Heap(), b.Row(), tables[1].Heap()) || a.Weight() != b.Weight() {
					t.Fatalf("%v: row %d differs", c, n)
				}
			}
		})
	}
}
