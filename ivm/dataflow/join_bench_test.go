package dataflow

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/vegadb/vega-flight/ivm/row"
	"github.com/vegadb/vega-flight/ivm/zset"
)

// orders is a history of orders (id, customer, amount) and customers (id, region): inserts, deletes and updates of the former,
// half of which move to another customer, and few of the latter, each of which moves all its orders.
type orders struct {
	rng       *rand.Rand
	live      [][3]int64
	customers [][2]int64
	next      int64
}

var (
	orderLayout    = row.ParseLayout("BIGINT", "BIGINT", "BIGINT")
	customerLayout = row.ParseLayout("BIGINT", "BIGINT")
)

func newOrders(n, customers int) (*orders, *zset.Batch, *zset.Batch) {
	o := &orders{rng: rand.New(rand.NewPCG(42, 1))}
	left, right := zset.New(orderLayout), zset.New(customerLayout)
	for i := range customers {
		o.customers = append(o.customers, [2]int64{int64(i), o.rng.Int64N(25)})
		o.customer(right, i, 1)
	}
	for range n {
		o.insert(left)
	}
	return o, left, right
}

func (o *orders) customer(b *zset.Batch, i int, w int64) { putCustomer(b, o.customers[i], w) }

func (o *orders) insert(b *zset.Batch) {
	r := [3]int64{o.next, o.of(), o.rng.Int64N(1000)}
	o.next++
	o.live = append(o.live, r)
	putOrder(b, r, 1)
}

// of is a customer; one in twenty is none.
func (o *orders) of() int64 { return o.rng.Int64N(int64(len(o.customers)) * 20 / 19) }

func putOrder(b *zset.Batch, r [3]int64, w int64) {
	d := b.AppendRow(w)
	d[1], d[2], d[3] = uint64(r[0]), uint64(r[1]), uint64(r[2])
}

func putCustomer(b *zset.Batch, r [2]int64, w int64) {
	d := b.AppendRow(w)
	d[1], d[2] = uint64(r[0]), uint64(r[1])
}

// batch is n changes; an update is one, and two rows.
func (o *orders) batch(n int) (left, right *zset.Batch) {
	left, right = zset.New(orderLayout), zset.New(customerLayout)
	touched := map[int64]bool{}
	gone := map[int]bool{}
	for range n {
		if o.rng.IntN(100) == 0 {
			i := o.rng.IntN(len(o.customers))
			if gone[i] {
				continue
			}
			gone[i] = true
			c := &o.customers[i]
			putCustomer(right, *c, -1)
			c[1] = (c[1] + 1) % 25
			putCustomer(right, *c, 1)
			continue
		}
		k := o.rng.IntN(5)
		if k < 3 {
			o.insert(left)
			continue
		}
		i := o.rng.IntN(len(o.live))
		r := o.live[i]
		if touched[r[0]] {
			continue
		}
		touched[r[0]] = true
		putOrder(left, r, -1)
		if k == 3 {
			o.live[i] = o.live[len(o.live)-1]
			o.live = o.live[:len(o.live)-1]
			continue
		}
		if o.rng.IntN(2) == 0 {
			r[1] = o.of()
		} else {
			r[2]++
		}
		o.live[i] = r
		putOrder(left, r, 1)
	}
	return left, right
}

func BenchmarkJoin(b *testing.B) {
	for _, kind := range []JoinKind{JoinInner, JoinLeft, JoinSemi, JoinFull} {
		for _, size := range []int{10_000, 100} {
			b.Run(fmt.Sprintf("%s/batch=%d", joinKindNames[kind], size), func(b *testing.B) {
				s := JoinSpec{
					Kind: kind, NullSafe: []bool{false}, Output: []int{4, 0, 2},
					Left:  JoinSide{orderLayout, fieldsOf(orderLayout, 1)},
					Right: JoinSide{customerLayout, fieldsOf(customerLayout, 0)},
				}
				if !kind.pairs() {
					s.Output = []int{0, 2}
				}
				benchmarkJoin(b, size, func() (Loader, error) { return NewJoin("j", s, Memory{}) })
			})
		}
	}
}

// processTime is the processor time used so far, which other processes on the machine do not count in.
func processTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// benchmarkJoin times a million changes an iteration, a third of them in small batches, on a million orders.
func benchmarkJoin(b *testing.B, size int, make func() (Loader, error)) {
	ctx := context.Background()
	changes, cpu := 0, time.Duration(0)
	for range b.N {
		b.StopTimer()
		op, err := make()
		if err != nil {
			b.Fatal(err)
		}
		o, left, right := newOrders(1_000_000, 20_000)
		e := &Epoch{errors: newErrorSet()}
		for i, rows := range []*zset.Batch{left, right} {
			if err := op.Load(ctx, e, i, rows); err != nil {
				b.Fatal(err)
			}
		}
		var deltas [][]*zset.Batch
		for range max(100, 300_000/size) {
			l, r := o.batch(size)
			deltas = append(deltas, []*zset.Batch{l, r})
			changes += size
		}
		out := zset.New(op.Layout())
		runtime.GC()
		b.StartTimer()
		cpu -= processTime()
		for _, in := range deltas {
			out.Reset()
			if err := op.Step(ctx, e, in, out); err != nil {
				b.Fatal(err)
			}
			out.Consolidate()
		}
		cpu += processTime()
	}
	b.ReportMetric(float64(changes)/b.Elapsed().Seconds(), "changes/s")
	b.ReportMetric(float64(changes)/cpu.Seconds(), "changes/cpu-s")
}
