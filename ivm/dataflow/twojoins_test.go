package dataflow

import (
	"math/rand/v2"
	"testing"

	"github.com/vegadb/vega-flight/ivm/row"
)

// twoJoins runs a join that keeps all and one that lets go of what watermarks have passed over the same random history, which keeps to them.
type twoJoins struct {
	kept   Operator
	open   func() (Operator, error) // the other one, over the state that it has
	layout *row.Layout              // of both sides
	field  int                      // the time, 0 or 1; the first two fields may be NULL
	rows   int                      // of a side come in a step, fewer than
	rise   int                      // of a floor in a step, less than
	row    func(floor int64) []any
	last   []any // comes when the floors are above all
}

// run sets the floors, which are known once one has moved, as the history goes on.
func (x twoJoins) run(t *testing.T, rng *rand.Rand, floors *[2]int64, known *bool) {
	t.Helper()
	graph := func(op Operator) *Graph {
		g := NewGraph()
		g.Add("join", op, g.Source("l", x.layout), g.Source("r", x.layout))
		return g
	}
	open := func() *Graph {
		op, err := x.open()
		if err != nil {
			t.Fatal(err)
		}
		return graph(op)
	}
	graphs := [2]*Graph{graph(x.kept), open()}
	content := [2]bag{{}, {}}
	for step := range 40 {
		var in [2]bag
		for n := range in {
			in[n] = bag{}
			for range rng.IntN(x.rows) {
				if have := content[n].ordered(); len(have) > 0 && rng.IntN(3) == 0 {
					r := have[rng.IntN(len(have))].row
					if at, ok := r[x.field].(int64); !*known || !ok || at >= floors[n] {
						in[n].add(r, -1)
						content[n].add(r, -1)
					}
					continue
				}
				r := x.row(floors[n])
				for f := range 2 {
					if rng.IntN(12) == 0 {
						r[f] = nil
					}
				}
				in[n].add(r, 1)
				content[n].add(r, 1)
			}
		}
		// The watermark of a step's rows is known when the join sees them.
		if rng.IntN(2) == 0 {
			*known = true
			floors[rng.IntN(2)] += int64(rng.IntN(x.rise))
		}
		if step == 39 {
			*known, *floors = true, [2]int64{1000, 1000}
		}
		var out [2]bag
		for k, g := range graphs {
			d, err := g.Step(t.Context(), 0, in[0].batch(x.layout), in[1].batch(x.layout))
			if err != nil {
				t.Fatal(err)
			}
			out[k] = bag{}
			out[k].addBatch(d, 1)
		}
		if d := minus(out[0], out[1]); len(d) > 0 {
			t.Fatalf("step %d: with state that is let go, %s is missing", step, d)
		}
		if rng.IntN(10) == 0 { // what is kept beside the state is made again from it
			graphs[1] = open()
		}
	}
	end := bag{}
	end.add(x.last, 1)
	if _, err := graphs[1].Step(t.Context(), 0, end.batch(x.layout), nil); err != nil {
		t.Fatal(err)
	}
}
