package dataflow

import (
	"context"

	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/ivm/eval"
	"github.com/vegadb/vega-flight/ivm/plan"
	"github.com/vegadb/vega-flight/ivm/row"
	"github.com/vegadb/vega-flight/ivm/zset"
)

// watermark puts the watermark of an input behind its source.
func (b *builder) watermark(in Input, source int) (int, error) {
	s, l := in.Source, in.Layout()
	spec := WatermarkSpec{Name: b.name("watermark"), Source: s.String(), Input: l, Time: in.Time(), Position: len(in.Fields), Row: upTo(len(in.Fields)), Late: b.o.Late, Keep: b.o.KeepDropped}
	t := in.Fields[spec.Time].Type
	delay, ok := plan.Ticks(t, s.DelayMicros)
	if !ok {
		return 0, fault.InvalidOption.Newf("the watermark column %q of %s is %s", s.Watermark, s, t).WithHint("a watermark follows a DATE, a TIMESTAMP or a TIMESTAMPTZ")
	}
	spec.Delay, spec.Tick, spec.Infinite = delay, tickOf[t.Kind], infinityOf(t)
	m, err := NewWatermark(spec, b.o.Tables)
	if err != nil {
		return 0, err
	}
	m.input = b.inputs[s]
	b.marks[s] = m
	b.graph.marks = append(b.graph.marks, m)
	return b.graph.Add("watermark of "+spec.Source, m, source), nil
}

// tickOf is how many microseconds a unit of a type has; negative: units in a microsecond.
var tickOf = map[row.Kind]int64{row.Date: 86400e6, row.TimestampS: 1e6, row.TimestampMS: 1e3, row.TimestampNS: -1e3}

func infinityOf(t row.Type) int64 {
	if t.Kind == row.Date {
		return 1<<31 - 1
	}
	return 1<<63 - 1
}

func upTo(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// windows is the closing of groups that are windows of a node's watermark; nil if they are not.
func (b *builder) windows(n plan.Node) (*Windows, error) {
	i := b.plan.Info(n)
	if i == nil || !i.Windowed || len(i.Floors) == 0 {
		return nil, nil
	}
	floor, err := b.least(i.Floors)
	if floor == nil || err != nil {
		return nil, err
	}
	return &Windows{Group: i.Watermark, Floor: floor}, nil
}

// closing is that of a join's side; nil if there is none.
func (b *builder) closing(c *plan.Closing, in *row.Layout) (*JoinClosing, error) {
	if c == nil || in.Types[c.Own].Words() != 1 {
		return nil, nil
	}
	out := &JoinClosing{Own: c.Own}
	var err error
	if out.Below, err = b.least(c.Below); out.Below == nil || err != nil {
		return nil, err
	}
	if out.Above, err = b.least(c.Above); out.Above == nil || err != nil {
		return nil, err
	}
	out.Value, err = b.compile(in, []plan.Expr{c.Value}, nil)
	return out, err
}

// least computes the least of what is known of a column; nil if nothing is.
func (b *builder) least(floors []plan.Floor) (func(context.Context) (int64, bool), error) {
	var all []func(context.Context) (int64, bool)
	for _, f := range floors {
		m := b.marks[f.Source]
		if m == nil || f.Value.Result().Words() != 1 {
			return nil, nil
		}
		value, err := b.floor(m, f)
		if err != nil {
			return nil, err
		}
		all = append(all, value)
	}
	if len(all) == 0 {
		return nil, nil
	}
	return func(ctx context.Context) (least int64, ok bool) {
		for k, f := range all {
			v, ok := f(ctx)
			if !ok {
				return 0, false
			}
			if k == 0 || v < least {
				least = v
			}
		}
		return least, true
	}, nil
}

// floor computes what the watermark says of a column.
func (b *builder) floor(m *Watermark, f plan.Floor) (func(context.Context) (int64, bool), error) {
	l := row.NewLayout(m.spec.Input.Types[m.spec.Time])
	p, err := eval.Compile(l, []plan.Expr{f.Value}, nil, b.options())
	if err != nil {
		return nil, err
	}
	b.graph.keep(p)
	in, out := zset.New(l), zset.New(p.Out)
	return func(ctx context.Context) (int64, bool) {
		mark, ok := m.At()
		if !ok {
			return 0, false
		}
		in.Reset()
		out.Reset()
		l.Set(in.AppendRow(1), 0, uint64(mark))
		failed := false
		if err := p.Run(ctx, in, out, func(int, error) { failed = true }); err != nil || failed || out.Len() == 0 || p.Out.IsNull(out.Row(0), 0) {
			return 0, false // windows stay open: state, not content
		}
		return int64(out.Row(0)[p.Out.Off[0]]), true
	}, nil
}

// Mark is how far a source's watermark is.
type Mark struct {
	Source string
	At     int64 // in the unit of the watermark column
	Known  bool  // a row has come
	Late   int64 // changes that were dropped
	Input  int   // the source's place among the graph's inputs
	Newest int64 // time that has come, from which At follows; in the same unit
}

// Watermarks tells of the watermarks of all sources that have one.
func (g *Graph) Watermarks() []Mark {
	var out []Mark
	for _, m := range g.marks {
		at, known := m.At()
		out = append(out, Mark{m.spec.Source, at, known, m.Late(), m.input, m.newest})
	}
	return out
}

// Dropped gives the late changes of each input that were dropped since it was asked last, if they are kept; with their positions.
func (g *Graph) Dropped(take func(input int, changes *zset.Batch)) {
	for _, m := range g.marks {
		if b := m.Dropped(); b != nil {
			take(m.input, b)
		}
	}
}

// ResumeWatermark takes the watermark of an input, which has been loaded with its content at a position, to where it was there.
func (g *Graph) ResumeWatermark(at Mark, position int64) error {
	for _, m := range g.marks {
		if m.input == at.Input {
			m.resume(at, position)
			return m.table.Err()
		}
	}
	return fault.InternalError.Newf("input %d has no watermark", at.Input)
}
