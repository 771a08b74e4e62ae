package state

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/vegadb/vega-flight/ivm/row"
	"github.com/vegadb/vega-flight/ivm/zset"
)

// TestFill fills tables in pieces, of few keys and of many, and compares them with tables that were added to.
func TestFill(t *testing.T) {
	for _, c := range []struct {
		types      []string
		keys, rows int
	}{
		{[]string{"BIGINT", "BIGINT"}, 3, 200_000},
		{[]string{"BIGINT", "BIGINT"}, 50_000, 100_000},
		{[]string{"VARCHAR", "SMALLINT"}, 100, 30_000},
		{[]string{"HUGEINT", "VARCHAR", "DOUBLE", "UUID", "BIGINT"}, 1000, 20_000},
		{nil, 10, 1000},
	} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(uint64(c.keys), 2))
			entry := row.NewLayout(row.MustTypes(c.types...)...)
			spec := Spec{Key: row.ParseLayout("BIGINT"), Entry: entry}
			filled, added := New(spec), New(spec)
			for from := 0; from < c.rows; {
				n := min(1+rnd.IntN(2*pieceRows/3), c.rows-from)
				from += n
				keys, entries := zset.New(spec.Key), zset.New(entry)
				for range n {
					spec.Key.Set(keys.AppendRow(1), 0, uint64(rnd.IntN(c.keys)))
					w := int64(1)
					if from > c.rows/2 {
						w = int64(rnd.IntN(5)) - 1
					}
					randomEntry(rnd, entry, entries.AppendRow(w), entries.Heap)
				}
				for i := range n {
					ref, _ := added.Upsert(keys.Row(i), nil)
					added.Add(ref, entries.Row(i), entries.Heap, entries.Weights[i])
				}
				if filled.Fill(keys, entries, nil); from > c.rows/3 && rnd.IntN(3) == 0 {
					filled.Pack() // what comes later is added
				}
				entries.Heap.Reset()
			}
			filled.Pack()
			compareTables(t, filled, added)
		})
	}
}

func randomEntry(rnd *rand.Rand, l *row.Layout, r []uint64, h *row.Heap) {
	for i, typ := range l.Types {
		switch {
		case rnd.IntN(20) == 0:
			l.SetNull(r, i)
		case typ.Var():
			l.SetBytes(r, i, fmt.Appendf(nil, "text %*d", rnd.IntN(30), rnd.IntN(100)), h)
		case typ.Words() == 2:
			l.Set2(r, i, rnd.Uint64N(5), rnd.Uint64N(5))
		case i == 0:
			l.Set(r, i, rnd.Uint64N(100_000))
		default:
			l.Set(r, i, rnd.Uint64N(50))
		}
	}
}

func compareTables(t *testing.T, a, b *Table) {
	t.Helper()
	if a.Keys() != b.Keys() {
		t.Fatalf("%d keys, not %d", a.Keys(), b.Keys())
	}
	l := a.spec.Entry
	var x, y Cursor
	b.Each(func(ref Ref) bool {
		mine, ok := a.Find(b.Key(ref), b.Heap())
		if !ok || a.Len(mine) != b.Len(ref) || a.Total(mine) != b.Total(ref) {
			t.Fatalf("key %d: %d entries of weight %d, not %d of %d", b.Key(ref)[1], a.Len(mine), a.Total(mine), b.Len(ref), b.Total(ref))
		}
		a.Scan(&x, mine)
		for b.Scan(&y, ref); y.Next(); {
			if !x.Next() || x.Weight() != y.Weight() || !l.Equal(x.Row(), a.Heap(), y.Row(), b.Heap()) {
				t.Fatalf("key %d: an entry differs", b.Key(ref)[1])
			}
		}
		return true
	})
	// Nothing is left of what cancelled.
	if !l.Fixed() && a.Heap().Size() != b.Heap().Size() {
		t.Errorf("%d bytes of long values, not %d", a.Heap().Size(), b.Heap().Size())
	}
}
