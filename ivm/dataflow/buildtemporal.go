package dataflow

import (
	"context"

	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/ivm/eval"
	"github.com/vegadb/vega-flight/ivm/plan"
	"github.com/vegadb/vega-flight/ivm/row"
	"github.com/vegadb/vega-flight/ivm/zset"
)

// temporal computes what the bounds compare, and the bounds' times from the clock.
func (b *builder) temporal(n *plan.Temporal) (int, error) {
	in, err := b.node(n.Input)
	if err != nil {
		return 0, err
	}
	p := b.prepare(in)
	spec := TemporalSpec{Name: b.name("temporal"), Row: p.showAll(columnsOf(n.Input))}
	for _, c := range n.Bounds {
		at, err := b.clockTime(c.At)
		if err != nil {
			return 0, err
		}
		spec.Bounds = append(spec.Bounds, Bound{Field: p.show(c.Row), Monotone: c.Monotone, At: at,
			Below: c.Op == plan.Less || c.Op == plan.LessEqual, OrEqual: c.Op == plan.LessEqual || c.Op == plan.GreaterEqual})
	}
	if spec.Input, spec.Prepare, err = p.program(); err != nil {
		return 0, err
	}
	op, err := NewTemporal(spec, b.o.Tables)
	if err != nil {
		return 0, err
	}
	return b.add(n, "temporal", op, in), nil
}

// clockTime computes an expression of the clock alone.
func (b *builder) clockTime(e plan.Expr) (func(now int64) (uint64, bool, error), error) {
	none := row.NewLayout()
	p, err := eval.Compile(none, []plan.Expr{e}, nil, b.options())
	if err != nil {
		return nil, err
	}
	b.graph.keep(p)
	if p.Out.Types[0].Words() != 1 {
		return nil, fault.NotYetSupported.Newf("a comparison of a %s with the clock", p.Out.Types[0]).WithHint("compare a DATE or a TIMESTAMP")
	}
	one, out := zset.New(none), zset.New(p.Out)
	one.AppendRow(1)
	return func(now int64) (uint64, bool, error) {
		out.Reset()
		p.SetClock(now)
		if err := p.Run(context.Background(), one, out, nil); err != nil {
			return 0, false, err
		}
		r := out.Row(0)
		return r[p.Out.Off[0]], !p.Out.IsNull(r, 0), nil
	}, nil
}
