package dataflow

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/ivm/row"
	"github.com/vegadb/vega-flight/ivm/state"
	"github.com/vegadb/vega-flight/ivm/zset"
)

// openShards is a graph of the operator in shards over a store.
func (m *modelCase) openShards(s *state.Store, shards int) (*Graph, error) {
	tables := Stored{Store: s, Budget: 1 << 8}
	g, err := OpenGraph(tables)
	if err != nil {
		return nil, err
	}
	var from []int
	var by []*row.Layout
	for i, l := range m.in {
		from = append(from, g.Source(fmt.Sprint("in", i), l))
		if m.spread[i] == nil {
			by = append(by, l)
		} else {
			by = append(by, m.spread[i].Layout())
		}
	}
	var parts []Operator
	for i := range shards {
		op, err := m.make(routed{tables.Part(i, shards), by})
		if err != nil {
			return nil, err
		}
		parts = append(parts, op)
	}
	g.Add("op", newSharded(parts, m.spread, m.in), from...)
	return g, nil
}

// rescale drives the operator through a random history, in which it goes on from a checkpoint in other numbers of shards.
func (m *modelCase) rescale(t *testing.T, seed uint64) {
	t.Helper()
	ctx, fs, rng := context.Background(), vfs.NewMem(), rand.New(rand.NewPCG(seed, 2))
	content := make([]bag, len(m.in))
	for i := range content {
		content[i] = bag{}
	}
	before := m.content(content, &modelErrors{map[string]int64{}})
	var history strings.Builder
	for round, shards := range []int{3, 1, 2, 5, 16, 1, 4} {
		fmt.Fprintf(&history, "in %d shards\n", shards)
		s, err := state.OpenStore(state.StoreOptions{Dir: "d", Stamp: "1", FS: fs})
		if err != nil {
			t.Fatal(err)
		}
		g, err := m.openShards(s, shards)
		if err != nil {
			t.Fatal(err)
		}
		for step := range 4 {
			var deltas []*zset.Batch
			for i, l := range m.in {
				d := m.delta(rng, i, content[i], l)
				fmt.Fprintf(&history, "input %d:\n%s", i, d.Print())
				content[i].addBatch(d, 1)
				deltas = append(deltas, d)
			}
			var out *zset.Batch
			if round+step == 0 {
				read := func(i int, take func(*zset.Batch) error) error { return take(deltas[i]) }
				if seed%2 == 0 {
					out, err = g.Load(ctx, 0, read)
				} else { // in parts
					out = zset.New(g.Layout())
					err = g.LoadTo(ctx, 0, rowsOnly(read), func(part *zset.Batch) error {
						out.AppendBatch(part)
						return nil
					})
					out.Consolidate()
				}
			} else {
				out, err = g.Step(ctx, 0, deltas...)
			}
			if err != nil {
				t.Fatalf("seed %d\n%s%v", seed, &history, err)
			}
			got, now := bag{}, m.content(content, &modelErrors{map[string]int64{}})
			got.addBatch(out, 1)
			if want := minus(now, before); got.String() != want.String() {
				t.Fatalf("seed %d\n%sdelta\n%swant\n%s", seed, &history, got, want)
			}
			before = now
		}
		c := s.Capture([]byte{byte(round)})
		c.Drain(0)
		if err := errors.Join(c.Commit(ctx), g.Close(), s.Close()); err != nil {
			t.Fatal(err)
		}
	}
}

// Rows that another field spreads than the one that keys begin with come to shards that do not have their keys: that is said, when
// the tables are opened or else when the row comes.
func TestRowsInTheWrongShardAreRefused(t *testing.T) {
	ctx := context.Background()
	s, err := state.OpenStore(state.StoreOptions{Dir: "d", Stamp: "1", FS: vfs.NewMem()})
	if err != nil {
		t.Fatal(err)
	}
	m := joinCase{kind: JoinFull, keys: 1, pred: valuesLess}.model("full")
	m.spread = []Program{fieldsOf(sideLayout, 2), fieldsOf(sideLayout, 2)}
	if _, err := m.openShards(s, 3); !errors.Is(err, fault.InternalError.Sentinel()) {
		t.Errorf("tables whose keys begin with something else are opened: %v", err)
	}
	m.spread = []Program{fieldsOf(sideLayout, 1), fieldsOf(sideLayout, 1)} // of the same type
	g, err := m.openShards(s, 3)
	if err != nil {
		t.Fatal(err)
	}
	in := zset.New(sideLayout)
	for i := range int64(20) {
		putPlain(sideLayout, in.AppendRow(1), in.Heap, []any{i, i * i, "x"})
	}
	if _, err := g.Step(ctx, 0, in, nil); !errors.Is(err, fault.InternalError.Sentinel()) {
		t.Errorf("a row in the wrong shard gives %v", err)
	}
	if err := errors.Join(g.Close(), s.Close()); err != nil {
		t.Error(err)
	}
}

// spreadBy are routers by fields of each input.
func spreadBy(l *row.Layout, inputs int, fields ...int) []Program {
	if len(fields) == 0 {
		return nil
	}
	return slices.Repeat([]Program{fieldsOf(l, fields...)}, inputs)
}
