package zset

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"go.uber.org/goleak"

	"github.com/vegadb/vega-flight/ivm/row"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestParsePrint(t *testing.T) {
	l := row.ParseLayout("BIGINT", "VARCHAR")
	b, err := Parse(l, `
		2 | a longer text than fits | +1
		1 | NULL | -2
		1 | '| quoted' | 1
	`)
	if err != nil {
		t.Fatal(err)
	}
	want := "1 | '| quoted' | +1\n1 | NULL | -2\n2 | a longer text than fits | +1\n"
	if got := b.Print(); got != want {
		t.Errorf("printed\n%swant\n%s", got, want)
	}
	for _, bad := range []string{"1 | x", "1 | +1", "x | y | +1", "1 | 2 | 3 | +1", "1 | 'x | +1"} {
		if b, err := Parse(l, bad); err == nil {
			t.Errorf("%q is read as %s", bad, b.Print())
		}
	}
	none, err := Parse(row.NewLayout(), "+1\n-3\n")
	if err != nil || none.Len() != 2 {
		t.Fatalf("rows without fields: %v", err)
	}
	if none.Consolidate(); none.Len() != 1 || none.Weights[0] != -2 {
		t.Errorf("rows without fields become %s", none.Print())
	}
}

func TestConsolidateIsASum(t *testing.T) {
	for _, l := range []*row.Layout{row.ParseLayout("BIGINT"), row.ParseLayout("BIGINT", "VARCHAR"), row.ParseLayout("HUGEINT", "DATE", "BLOB", "BIGINT")} {
		for _, n := range []int{0, 1, 2, 3, 50, 3000, 200000} {
			rnd := rand.New(rand.NewPCG(uint64(n), 1))
			b := New(l)
			sums := map[string]int64{}
			for range n {
				k := rnd.IntN(1 + n/2)
				r := b.AppendRow(int64(rnd.IntN(5)) - 2)
				l.Set(r, 0, uint64(k))
				for i, typ := range l.Types {
					if typ.Var() && k%3 > 0 {
						l.SetBytes(r, i, fmt.Appendf(nil, "%0*d", k%3*9, k), b.Heap)
					} else if typ.Var() {
						l.SetNull(r, i)
					}
				}
				sums[string(l.AppendBytes(nil, r, b.Heap))] += b.Weights[b.Len()-1]
			}
			before := b.Clone()
			b.Consolidate()
			left := 0
			for _, w := range sums {
				if w != 0 {
					left++
				}
			}
			if b.Len() != left {
				t.Fatalf("%s: %d rows of %d, want %d", l, b.Len(), n, left)
			}
			for i, w := range b.Weights {
				if want := sums[string(l.AppendBytes(nil, b.Row(i), b.Heap))]; w != want {
					t.Fatalf("%s: weight %d, want %d", l, w, want)
				}
			}
			if !b.Equal(before) || !before.Equal(b) {
				t.Fatalf("%s: not equal to what it was", l)
			}
			if n > 0 {
				before.Append(before.Row(0), before.Heap, 1)
				if b.Equal(before) {
					t.Fatalf("%s: equal to one more row", l)
				}
			}
		}
	}
}

func TestBatchesAreReusedWithoutAllocation(t *testing.T) {
	l := row.ParseLayout("BIGINT", "VARCHAR")
	src, b := New(l), New(l)
	for i := range 1000 {
		r := src.AppendRow(1)
		l.Set(r, 0, uint64(i%300))
		l.SetBytes(r, 1, fmt.Appendf(nil, "some text of the row %d", i%300), src.Heap)
	}
	run := func() {
		b.Reset()
		b.AppendBatch(src)
		b.Consolidate()
		b.Negate()
	}
	run()
	run()
	if n := testing.AllocsPerRun(100, run); n != 0 {
		t.Errorf("%v allocations a batch", n)
	}
}

func BenchmarkConsolidate(b *testing.B) {
	for _, n := range []int{100, 10000, 1000000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			l := row.ParseLayout("BIGINT", "BIGINT")
			src, z := New(l), New(l)
			rnd := rand.New(rand.NewPCG(1, 1))
			for range n {
				r := src.AppendRow(1)
				r[1], r[2] = rnd.Uint64N(uint64(n)), rnd.Uint64N(2)
			}
			for b.Loop() {
				z.Reset()
				z.AppendBatch(src)
				z.Consolidate()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/row")
		})
	}
}
