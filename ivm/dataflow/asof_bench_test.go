package dataflow

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/vegadb/vega-flight/ivm/row"
	"github.com/vegadb/vega-flight/ivm/zset"
)

// orderField makes BIGINT field 1 an order field.
type orderField struct{ in, out *row.Layout }

func (p orderField) Layout() *row.Layout { return p.out }

func (p orderField) Run(_ context.Context, in, out *zset.Batch, _ func(int, error)) error {
	o := p.in.Off[1]
	for i, w := range in.Weights {
		out.Words = append(out.Words, 0, in.Row(i)[o]^1<<63)
		out.Weights = append(out.Weights, w)
	}
	return nil
}

// BenchmarkAsof joins trades with the last quote before them, 100 instruments; of the changes a tenth are quotes, near the end.
func BenchmarkAsof(b *testing.B) {
	l := row.ParseLayout("BIGINT", "BIGINT", "BIGINT") // instrument, time, price
	order := orderField{l, row.ParseLayout("UBIGINT")}
	for _, size := range []int{10_000, 100} {
		b.Run(fmt.Sprintf("batch=%d", size), func(b *testing.B) {
			rng := rand.New(rand.NewPCG(1, 1))
			op, err := NewAsof("a", AsofSpec{
				Kind: JoinLeft, NullSafe: []bool{false}, Order: [2]Program{order, order},
				Left: JoinSide{l, fieldsOf(l, 0)}, Right: JoinSide{l, fieldsOf(l, 0)},
			}, Memory{})
			if err != nil {
				b.Fatal(err)
			}
			now := int64(0)
			batch := func(n int) []*zset.Batch {
				in := []*zset.Batch{zset.New(l), zset.New(l)}
				for range n {
					now++
					side := 0
					if rng.IntN(10) == 0 {
						side = 1
					}
					r := in[side].AppendRow(1)
					r[1], r[2], r[3] = uint64(rng.IntN(100)), uint64(now-rng.Int64N(100)), uint64(rng.IntN(1000))
				}
				return in
			}
			ctx, e, out := context.Background(), &Epoch{}, zset.New(op.Layout())
			first := batch(200_000)
			if err := op.Step(ctx, e, first, out); err != nil {
				b.Fatal(err)
			}
			var deltas [][]*zset.Batch
			for range 200_000 / size {
				deltas = append(deltas, batch(size))
			}
			b.ResetTimer()
			cpu := -processTime()
			for range b.N {
				for range 2 { // come, and go
					for _, in := range deltas {
						out.Reset()
						if err := op.Step(ctx, e, in, out); err != nil {
							b.Fatal(err)
						}
						out.Consolidate()
						in[0].Negate()
						in[1].Negate()
					}
				}
			}
			cpu += processTime()
			b.ReportMetric(float64(b.N)*400_000/cpu.Seconds(), "changes/cpu-s")
		})
	}
}

// BenchmarkDistinct keeps 100 k different rows of 1 M.
func BenchmarkDistinct(b *testing.B) {
	l := row.ParseLayout("BIGINT", "BIGINT")
	for _, size := range []int{10_000, 100} {
		b.Run(fmt.Sprintf("batch=%d", size), func(b *testing.B) {
			rng := rand.New(rand.NewPCG(1, 1))
			op, err := NewDistinct("d", DistinctSpec{Layout: l}, Memory{})
			if err != nil {
				b.Fatal(err)
			}
			batch := func(n int) []*zset.Batch {
				in := zset.New(l)
				for range n {
					r := in.AppendRow(1)
					r[1], r[2] = uint64(rng.IntN(100_000)), 7
				}
				return []*zset.Batch{in}
			}
			ctx, e, out := context.Background(), &Epoch{}, zset.New(op.Layout())
			if err := op.Step(ctx, e, batch(100_000), out); err != nil {
				b.Fatal(err)
			}
			var deltas [][]*zset.Batch
			for range 500_000 / size {
				deltas = append(deltas, batch(size))
			}
			b.ResetTimer()
			cpu := -processTime()
			for range b.N {
				for range 2 { // come, and go
					for _, in := range deltas {
						out.Reset()
						if err := op.Step(ctx, e, in, out); err != nil {
							b.Fatal(err)
						}
						in[0].Negate()
					}
				}
			}
			cpu += processTime()
			b.ReportMetric(float64(b.N)*1_000_000/cpu.Seconds(), "changes/cpu-s")
		})
	}
}
