package state_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/ivm/row"
	"github.com/vegadb/vega-flight/ivm/state"
	"github.com/vegadb/vega-flight/ivm/zset"
)

// TestKeyGroupIsThatOfTheLeadingFields compares a key's place with that of a row
// of its first fields alone, which is what rows are spread by.
func TestKeyGroupIsThatOfTheLeadingFields(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 6))
	kinds := row.MustTypes("BIGINT", "VARCHAR", "HUGEINT", "DOUBLE", "UUID", "BOOLEAN", "BLOB", "INTERVAL", "INTEGER[]")
	for _, fields := range []int{1, 2, 3, 8, 63, 64, 65, 130} {
		types := make([]row.Type, fields)
		for i := range types {
			types[i] = kinds[rnd.IntN(len(kinds))]
		}
		for _, first := range []int{1, 2, fields / 2, fields - 1, fields, 64} {
			if first < 1 || first > fields {
				continue
			}
			spec := state.Spec{Key: row.NewLayout(types...), Group: first}
			short := row.NewLayout(types[:first]...)
			b, hashes := zset.New(short), []uint64(nil)
			var places []uint64
			for range 50 {
				key, lead := zset.New(spec.Key), b.AppendRow(1)
				r := key.AppendRow(1)
				for i, ty := range types {
					switch {
					case rnd.IntN(4) == 0:
						spec.Key.SetNull(r, i)
					case ty.Var():
						spec.Key.SetBytes(r, i, slices.Repeat([]byte{byte(rnd.IntN(256))}, rnd.IntN(30)), key.Heap)
					case ty.Words() == 2:
						spec.Key.Set2(r, i, rnd.Uint64(), rnd.Uint64())
					default:
						spec.Key.Set(r, i, rnd.Uint64())
					}
					if i < first {
						short.CopyField(lead, i, b.Heap, spec.Key, r, i, key.Heap)
					}
				}
				places = append(places, spec.Hash(r, key.Heap))
			}
			if hashes = short.HashAll(hashes, b.Words, b.Len(), b.Heap); !slices.Equal(hashes, places) {
				t.Fatalf("%d of %d fields: keys and rows of their first fields have different places", first, fields)
			}
		}
	}
}

// TestKeyOfAnotherPartIsRefused looks for keys in the part that does not have them.
func TestKeyOfAnotherPartIsRefused(t *testing.T) {
	for _, group := range []int{0, 1} {
		spec := state.Spec{Key: row.ParseLayout("BIGINT", "BIGINT"), Payload: 1, Group: group}
		var mine, other []uint64
		for i := uint64(0); mine == nil || other == nil; i++ {
			if key := []uint64{0, i, 2 * i}; state.Shard(spec.Hash(key, nil), 3) == 1 {
				mine = key
			} else {
				other = key
			}
		}
		for i, look := range []func(*state.Table, []uint64){
			func(tab *state.Table, key []uint64) { tab.Upsert(key, nil) },
			func(tab *state.Table, key []uint64) { tab.Find(key, nil) },
			func(tab *state.Table, key []uint64) {
				tab.UpsertAll(&zset.Batch{Layout: spec.Key, Words: key, Weights: []int64{1}}, nil)
			},
		} {
			t.Run(fmt.Sprint(group, i), func(t *testing.T) {
				st := open(t, vfs.NewMem(), "one")
				tab := openTable(t, st, spec, state.PartOf(1, 3))
				if look(tab, mine); tab.Err() != nil {
					t.Fatal(tab.Err())
				}
				if look(tab, other); !errors.Is(tab.Err(), fault.InternalError.Sentinel()) {
					t.Fatalf("a key of another part gives %v", tab.Err())
				}
				if err := st.Close(); err != nil {
					t.Fatal(err)
				}
			})
		}
	}
}
