package dataflow

import (
	"context"
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"github.com/vegadb/vega-flight/ivm/row"
	"github.com/vegadb/vega-flight/ivm/zset"
)

// changesOf gives batches of size n over rows that make makes: half of them insertions, half deletions of rows that are
// there, after a start content of which every row is one of an operator's first input.
type churn struct {
	rng  *rand.Rand
	make func(id int, r []uint64)
	l    *row.Layout
	live []int
	next int
}

func newChurn(l *row.Layout, start int, make func(id int, r []uint64)) (*churn, *zset.Batch) {
	c := &churn{rng: rand.New(rand.NewPCG(1, 2)), make: make, l: l}
	b := zset.New(l)
	for range start {
		c.insert(b)
	}
	return c, b
}

func (c *churn) insert(b *zset.Batch) {
	c.make(c.next, b.AppendRow(1))
	c.live = append(c.live, c.next)
	c.next++
}

func (c *churn) batch(n int) *zset.Batch {
	b := zset.New(c.l)
	for i := range n {
		if i%2 == 0 {
			c.insert(b)
			continue
		}
		k := c.rng.IntN(len(c.live))
		c.make(c.live[k], b.AppendRow(-1))
		c.live[k] = c.live[len(c.live)-1]
		c.live = c.live[:len(c.live)-1]
	}
	return b
}

// scatter is a fixed number of a row's own.
func scatter(id int) uint64 {
	x := uint64(id)*0x9e3779b97f4a7c15 + 1
	x ^= x >> 31
	x *= 0xbf58476d1ce4e5b9
	return x ^ x>>29
}

// cpu is the time that the process has had of all cores: what a loaded machine can measure.
func cpu() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func benchmarkSteps(b *testing.B, op Operator, c *churn, start *zset.Batch) {
	b.Helper()
	ctx := context.Background()
	e := testEpoch(0)
	out := zset.New(op.Layout())
	must := func(err error) {
		if err != nil {
			b.Fatal(err)
		}
	}
	must(op.(Loader).Load(ctx, e, 0, start))
	must(op.(Loader).Emit(ctx, e, out))
	for _, n := range []int{10000, 100, 1} {
		batches := make([]*zset.Batch, min(2_000_000/n, 1000))
		for i := range batches {
			batches[i] = c.batch(n)
		}
		k := 0
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			spent, before := time.Duration(0), cpu()
			for b.Loop() {
				if k == len(batches) { // back to where we were: what was taken is given again
					b.StopTimer()
					spent += cpu() - before
					for i := len(batches) - 1; i >= 0; i-- {
						batches[i].Negate()
						out.Reset()
						must(op.Step(ctx, e, []*zset.Batch{batches[i]}, out))
						batches[i].Negate()
					}
					k = 0
					b.StartTimer()
					before = cpu()
				}
				out.Reset()
				must(op.Step(ctx, e, []*zset.Batch{batches[k]}, out))
				if op.Cancels() {
					out.Consolidate()
				}
				k++
			}
			spent += cpu() - before
			b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds()/1e6, "M/s")
			b.ReportMetric(float64(n)*float64(b.N)/spent.Seconds()/1e6, "M/cpu-s")
			b.ReportAllocs()
		})
		for ; k < len(batches); k++ { // leave the state as the next size expects it
			out.Reset()
			must(op.Step(ctx, e, []*zset.Batch{batches[k]}, out))
		}
	}
}

// benchmarkLoad loads the rows, as a graph does, 64 k at a time.
func benchmarkLoad(b *testing.B, rows *zset.Batch, make func() (Operator, error)) {
	spent := cpu()
	for b.Loop() {
		op, err := make()
		if err != nil {
			b.Fatal(err)
		}
		w := rows.Layout.Words
		for from := 0; from < rows.Len(); from += loadRows {
			to := min(from+loadRows, rows.Len())
			part := &zset.Batch{Layout: rows.Layout, Heap: rows.Heap, Words: rows.Words[from*w : to*w], Weights: rows.Weights[from:to]}
			if err := op.(Loader).Load(context.Background(), testEpoch(0), 0, part); err != nil {
				b.Fatal(err)
			}
		}
		if err := op.(Loader).Emit(context.Background(), testEpoch(0), zset.New(op.Layout())); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(rows.Len())*float64(b.N)/b.Elapsed().Seconds()/1e6, "M/s")
	b.ReportMetric(float64(rows.Len())*float64(b.N)/(cpu()-spent).Seconds()/1e6, "M/cpu-s")
}

func benchmarkAggregate(b *testing.B, l *row.Layout, start int, make func(int, []uint64), functions ...Function) {
	op, err := NewAggregate(AggregateSpec{Name: "a", Input: l, Groups: []Group{{0, 0}}, Functions: functions}, Memory{})
	if err != nil {
		b.Fatal(err)
	}
	c, rows := newChurn(l, start, make)
	benchmarkSteps(b, op, c, rows)
}

var (
	bigint  = row.MustType("BIGINT")
	hugeint = row.MustType("HUGEINT")
	double  = row.MustType("DOUBLE")
)

func BenchmarkW1(b *testing.B) {
	l := row.ParseLayout("BIGINT", "BIGINT")
	benchmarkAggregate(b, l, 1_000_000, func(id int, r []uint64) {
		x := scatter(id)
		r[1], r[2] = x%1000, x>>32%100000
	}, Function{Name: "count_star", Result: bigint}, Function{Name: "sum", Args: []int{1}, Result: hugeint})
}

func w1bRow(id int, r []uint64) {
	x := scatter(id)
	v := x >> 32 % 100000
	r[1], r[2], r[3] = x%100000, v, v%100
}

var (
	w1bLayout    = row.ParseLayout("BIGINT", "BIGINT", "BIGINT")
	w1bFunctions = []Function{{Name: "count_star", Result: bigint}, {Name: "sum", Args: []int{1}, Result: hugeint},
		{Name: "min", Args: []int{1}, Result: bigint}, {Name: "max", Args: []int{1}, Result: bigint},
		{Name: "count", Args: []int{2}, Distinct: true, Result: bigint}}
)

func BenchmarkW1b(b *testing.B) {
	benchmarkAggregate(b, w1bLayout, 1_000_000, w1bRow, w1bFunctions...)
}

func BenchmarkW1bLoad(b *testing.B) {
	_, start := newChurn(w1bLayout, 1_000_000, w1bRow)
	benchmarkLoad(b, start, func() (Operator, error) {
		return NewAggregate(AggregateSpec{Name: "a", Input: w1bLayout, Groups: []Group{{0, 0}}, Functions: w1bFunctions}, Memory{})
	})
}
