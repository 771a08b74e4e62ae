package dataflow

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/vegadb/vega-flight/ivm/row"
	"github.com/vegadb/vega-flight/ivm/zset"
)

// eventRows are rows of (time, value, position) of a source, position by position; some are late, some are taken back.
func eventRows(rng *rand.Rand, positions int) (out [][][4]int64) {
	var live [][4]int64
	now := int64(0)
	for p := range positions {
		now += rng.Int64N(4)
		var rows [][4]int64
		for range 1 + rng.IntN(5) {
			if len(live) > 0 && rng.IntN(3) == 0 {
				i := rng.IntN(len(live))
				r := live[i]
				live = append(live[:i], live[i+1:]...)
				rows = append(rows, [4]int64{r[0], r[1], int64(p), -1})
				continue
			}
			r := [4]int64{now - rng.Int64N(12), rng.Int64N(5), int64(p), 1}
			rows = append(rows, r)
			live = append(live, r)
		}
		out = append(out, rows)
	}
	return out
}

var eventLayout = row.ParseLayout("BIGINT", "BIGINT", "BIGINT", "BIGINT", "BIGINT") // time, value, position, window, its end

func putEvent(b *zset.Batch, r [4]int64) {
	x := b.AppendRow(r[3])
	window := (r[0] + 1000) / 10 * 10
	for i, v := range []int64{r[0], r[1], r[2], window - 1000, window - 990} {
		b.Layout.Set(x, i, uint64(v))
	}
}

// events is source → watermark → windows.
type events struct {
	graph *Graph
	mark  *Watermark
	agg   *aggregate
}

func newEvents(t *testing.T, letGo bool) *events {
	g := NewGraph()
	src := g.Source("events", eventLayout)
	m := must[*Watermark](t)(NewWatermark(WatermarkSpec{Name: "m", Input: eventLayout, Time: 0, Position: 2, Delay: 5, Row: []int{3, 4, 1}}, Memory{}))
	at := g.Add("watermark", m, src)
	spec := AggregateSpec{Name: "a", Input: m.Layout(), Groups: []Group{{0, 0}, {1, 1}}, Functions: []Function{
		{Name: "count_star", Result: bigint}, {Name: "max", Args: []int{2}, Result: bigint}, {Name: "count", Args: []int{2}, Distinct: true, Result: bigint}}}
	if letGo {
		spec.Windows = &Windows{Group: 0, Floor: func(context.Context) (int64, bool) { at, ok := m.At(); return (at+1000)/10*10 - 1000, ok }}
	}
	op := must[Operator](t)(NewAggregate(spec, Memory{}))
	g.Add("windows", op, at)
	return &events{g, m, op.(*aggregate)}
}

// feed steps the graph with some positions at a time and gives the content.
func (x *events) feed(t *testing.T, rows [][][4]int64, some func() int) *zset.Batch {
	content := zset.New(x.graph.Layout())
	for len(rows) > 0 {
		n := min(some(), len(rows))
		b := zset.New(eventLayout)
		for _, p := range rows[:n] {
			for _, r := range p {
				putEvent(b, r)
			}
		}
		rows = rows[n:]
		out := must[*zset.Batch](t)(x.graph.Step(context.Background(), 0, b))
		content.AppendBatch(out)
		content.Consolidate()
	}
	return content
}

// TestWatermarkIsOfPositions feeds one history in steps of different sizes: what is late, what is closed and what the windows
// hold does not depend on them, and letting closed windows go changes nothing but the state.
func TestWatermarkIsOfPositions(t *testing.T) {
	late := int64(0)
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 5))
		rows := eventRows(rng, 40)
		one := newEvents(t, false)
		want := one.feed(t, rows, func() int { return 1 })
		for _, letGo := range []bool{false, true} {
			x := newEvents(t, letGo)
			got := x.feed(t, rows, func() int { return 1 + rng.IntN(6) })
			if !got.Equal(want) {
				t.Fatalf("seed %d letGo %v:\n%sand not\n%s", seed, letGo, got.Print(), want.Print())
			}
			if a, b := fmt.Sprint(x.mark.At()), fmt.Sprint(one.mark.At()); a != b || x.mark.Late() != one.mark.Late() {
				t.Fatalf("seed %d: watermark %s, late %d and not %s, %d", seed, a, x.mark.Late(), b, one.mark.Late())
			}
			if letGo {
				for _, r := range x.agg.sets[0].multisets {
					if n := r.table.Keys(); n > 4 {
						t.Fatalf("seed %d: %d windows are kept", seed, n)
					}
				}
			}
		}
		late += one.mark.Late()
	}
	if late == 0 {
		t.Fatal("nothing was late")
	}
}
