package ivmtest

import (
	"context"
	"fmt"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/vegadb/vega-flight/ivm/dataflow"
	"github.com/vegadb/vega-flight/ivm/row"
	"github.com/vegadb/vega-flight/ivm/zset"
)

// Dataflow is the engine.
type Dataflow struct{ Options dataflow.BuildOptions }

// Open builds the graph.
func (d Dataflow) Open(ctx context.Context, def Definition) (Maintained, error) {
	o := d.Options
	o.TimeZone = def.TimeZone
	g, inputs, err := dataflow.Build(ctx, def.Plan, o)
	if err != nil {
		return nil, err
	}
	return &graphView{graph: g, inputs: inputs}, nil
}

// OpenStored builds the graph over a store.
func (d Dataflow) OpenStored(ctx context.Context, def Definition) (Maintained, error) {
	v := &storedView{engine: d, def: def, fs: vfs.NewMem()}
	return v, v.open(ctx, shards[len(shards)-1])
}

type graphView struct {
	graph  *dataflow.Graph
	inputs []dataflow.Input
}

func (v *graphView) Layout() *row.Layout { return v.graph.Layout() }

func (v *graphView) Step(ctx context.Context, now int64, deltas map[string]*zset.Batch) (*zset.Batch, error) {
	in := make([]*zset.Batch, len(v.inputs))
	for i, input := range v.inputs {
		if d := deltas[input.Source.Name]; d != nil {
			in[i] = pick(d, input)
		}
	}
	return v.graph.Step(ctx, now, in...)
}

func (v *graphView) Load(ctx context.Context, now int64, tables map[string]*zset.Batch) (*zset.Batch, error) {
	return v.graph.Load(ctx, now, func(i int, take func(*zset.Batch) error) error {
		all := tables[v.inputs[i].Source.Name]
		if all == nil {
			return nil
		}
		rows := pick(all, v.inputs[i])
		half := rows.Len() / 2 // two batches in one buffer
		part := zset.New(rows.Layout)
		for k, w := range rows.Weights {
			if k == half {
				if err := take(part); err != nil {
					return err
				}
				part.Reset()
			}
			part.Append(rows.Row(k), rows.Heap, w)
		}
		return take(part)
	})
}

// pick takes the columns that an input reads.
func pick(d *zset.Batch, in dataflow.Input) *zset.Batch {
	l := in.Layout()
	out := zset.New(l)
	from := make([]int, len(in.Fields))
	for i, f := range in.Fields {
		for j, c := range in.Source.Columns {
			if c.Name == f.Name {
				from[i] = j
			}
		}
	}
	for k, w := range d.Weights {
		r := out.AppendRow(w)
		for i, j := range from {
			l.CopyField(r, i, out.Heap, d.Layout, d.Row(k), j, d.Heap)
		}
	}
	return out
}

func (v *graphView) Errors() []string {
	var out []string
	for _, e := range v.graph.Errors() {
		out = append(out, fmt.Sprintf("%s: %s (%s, %+d)", v.graph.Node(e.Node), e.Message, e.Row, e.Count))
	}
	return out
}

func (v *graphView) Close() error { return v.graph.Close() }
