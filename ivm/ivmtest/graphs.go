package ivmtest

import (
	"context"
	"fmt"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/vegadb/vega-flight/ivm/dataflow"
	"github.com/vegadb/vega-flight/ivm/row"
	"github.com/vegadb/vega-flight/ivm/state"
	"github.com/vegadb/vega-flight/ivm/zset"
)

// Dataflow is the engine.
type Dataflow struct{ Options dataflow.BuildOptions }

// Open builds the graph.
func (d Dataflow) Open(ctx context.Context, def Definition) (Maintained, error) {
	v := &graphView{tables: new([]*state.Table), interrupts: &interruption{}}
	o := d.Options
	o.TimeZone = def.TimeZone
	faulty := interrupted{o.Evaluator, o.Groups, v.interrupts}
	o.Evaluator, o.Groups = faulty, faulty
	o.Late = func(l dataflow.Lateness) { v.behind = append(v.behind, l) }
	if o.Tables == nil {
		o.Tables = keptTables{v.tables}
	}
	var err error
	if v.graph, v.inputs, err = dataflow.Build(ctx, def.Plan, o); err != nil {
		return nil, err
	}
	return v, nil
}

// OpenStored builds the graph over a store.
func (d Dataflow) OpenStored(ctx context.Context, def Definition) (Maintained, error) {
	v := &storedView{engine: d, def: def, disk: &diskFault{}}
	v.fs = errorfs.Wrap(vfs.NewMem(), v.disk)
	return v, v.open(ctx, shards[len(shards)-1])
}

// keptTables notes the tables that a graph opens in memory.
type keptTables struct{ opened *[]*state.Table }

func (k keptTables) Table(name string, spec state.Spec) (*state.Table, error) {
	t, err := dataflow.Memory{}.Table(name, spec)
	*k.opened = append(*k.opened, t)
	return t, err
}

type graphView struct {
	graph  *dataflow.Graph
	inputs []dataflow.Input
	tables *[]*state.Table     // that it has opened
	behind []dataflow.Lateness // of the last step

	interrupts *interruption
}

// Late is how many changes of each table came too late.
func (v *graphView) Late() map[string]int64 {
	out := map[string]int64{}
	for _, m := range v.graph.Watermarks() {
		out[m.Source] = m.Late
	}
	return out
}

func (v *graphView) Layout() *row.Layout { return v.graph.Layout() }

func (v *graphView) Step(ctx context.Context, now int64, deltas map[string]*zset.Batch) (*zset.Batch, error) {
	v.behind = v.behind[:0]
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
	if in.Position {
		from = append(from, len(in.Source.Columns))
	}
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
