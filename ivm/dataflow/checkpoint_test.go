package dataflow

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/vegadb/vega-flight/ivm/row"
	"github.com/vegadb/vega-flight/ivm/state"
	"github.com/vegadb/vega-flight/ivm/zset"
)

// countsByKey is a graph of one aggregation in shards.
func countsByKey(t *testing.T, tables Tables, shards int) *Graph {
	t.Helper()
	g, err := OpenGraph(tables)
	if err != nil {
		t.Fatal(err)
	}
	in := row.ParseLayout("BIGINT", "BIGINT")
	source := g.Source("t", in)
	var parts []Operator
	for i := range shards {
		op, err := NewAggregate(AggregateSpec{Name: "counts", Input: in, Groups: []Group{{Key: 0, Shown: 0}}, Functions: []Function{
			{Name: "count_star", Result: row.MustType("BIGINT")}, {Name: "sum", Args: []int{1}, Result: row.MustType("HUGEINT")},
			{Name: "max", Args: []int{1}, Result: row.MustType("BIGINT")}}}, tables.(Parted).Part(i, shards))
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, op)
	}
	g.Add("counts", newSharded(parts, []Program{firstField{row.ParseLayout("BIGINT")}}, []*row.Layout{in}), source)
	return g
}

// firstField is the first of two fields.
type firstField struct{ layout *row.Layout }

func (f firstField) Layout() *row.Layout { return f.layout }

func (f firstField) Run(_ context.Context, in, out *zset.Batch, bad func(int, error)) error {
	for i, w := range in.Weights {
		f.layout.CopyField(out.AppendRow(w), 0, out.Heap, in.Layout, in.Row(i), 0, in.Heap)
	}
	return nil
}

// A graph that goes on from a checkpoint, also with another number of shards, gives what the one that made it gives.
func TestGoOnFromACheckpoint(t *testing.T) {
	ctx := context.Background()
	fs := vfs.NewMem()
	open := func(shards int) (*Graph, *state.Store) {
		s, err := state.OpenStore(state.StoreOptions{Dir: "d", Stamp: "1", FS: fs})
		if err != nil {
			t.Fatal(err)
		}
		return countsByKey(t, Stored{Store: s}, shards), s
	}
	r := rand.New(rand.NewPCG(3, 4))
	live := countsByKey(t, Memory{}, 1)
	g, s := open(3)
	rows := zset.New(row.ParseLayout("BIGINT", "BIGINT"))
	for step, shards := range []int{3, 1, 2, 5, 4} {
		for range 3 {
			delta := zset.New(rows.Layout)
			for range 4000 {
				if n := rows.Len(); n > 0 && r.IntN(3) == 0 {
					i := r.IntN(n)
					delta.Append(rows.Row(i), rows.Heap, -rows.Weights[i])
					rows.Weights[i] = 0
					rows.Consolidate()
					continue
				}
				x := delta.AppendRow(1)
				rows.Layout.Set(x, 0, uint64(r.IntN(50)))
				rows.Layout.Set(x, 1, uint64(r.IntN(100)))
				rows.Append(x, delta.Heap, 1)
			}
			want, err := live.Step(ctx, int64(step), delta)
			if err != nil {
				t.Fatal(err)
			}
			got, err := g.Step(ctx, int64(step), delta)
			if err != nil {
				t.Fatal(err)
			}
			if !got.Equal(want) {
				t.Fatalf("step %d: %s\nnot %s", step, got.Print(), want.Print())
			}
		}
		c := s.Capture([]byte(fmt.Sprint(step)))
		for c.Drain(10) {
		}
		if err := errors.Join(c.Commit(ctx), g.Close(), s.Close()); err != nil {
			t.Fatal(err)
		}
		g, s = open(shards)
		if string(s.Frontier()) != fmt.Sprint(step) || !g.Stepped() {
			t.Fatalf("the frontier is %q after step %d", s.Frontier(), step)
		}
	}
	if err := errors.Join(g.Close(), s.Close()); err != nil {
		t.Fatal(err)
	}
}
