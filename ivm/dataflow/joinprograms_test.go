package dataflow

import (
	"context"
	"errors"

	"github.com/vegadb/vega-flight/ivm/row"
	"github.com/vegadb/vega-flight/ivm/zset"
)

// fieldsProgram gives some fields of a row.
type fieldsProgram struct {
	in, out *row.Layout
	fields  []int
}

func fieldsOf(in *row.Layout, fields ...int) Program {
	types := make([]row.Type, len(fields))
	for i, f := range fields {
		types[i] = in.Types[f]
	}
	return &fieldsProgram{in, row.NewLayout(types...), fields}
}

func (p *fieldsProgram) Layout() *row.Layout { return p.out }

func (p *fieldsProgram) Run(_ context.Context, in, out *zset.Batch, _ func(int, error)) error {
	if len(p.fields) == 1 && p.in.Nulls == 1 && p.out.Words == 2 {
		f, o := uint(p.fields[0]), p.in.Off[p.fields[0]]
		for i, w := range in.Weights {
			r := in.Row(i)
			out.Words = append(out.Words, r[0]>>f&1, r[o])
			out.Weights = append(out.Weights, w)
		}
		return nil
	}
	for i, w := range in.Weights {
		r := out.AppendRow(w)
		for k, f := range p.fields {
			p.out.CopyField(r, k, out.Heap, p.in, in.Row(i), f, in.Heap)
		}
	}
	return nil
}

var errBadRow = errors.New("bad value")

// funcProgram computes a row from a row of plain values; an error is a row that cannot be computed.
type funcProgram struct {
	in, out *row.Layout
	f       func(r []any) ([]any, error)
}

func (p *funcProgram) Layout() *row.Layout { return p.out }

func (p *funcProgram) Run(_ context.Context, in, out *zset.Batch, bad func(int, error)) error {
	for i, w := range in.Weights {
		v, err := p.f(plainRow(p.in, in.Row(i), in.Heap))
		if err != nil {
			bad(i, err)
			continue
		}
		putPlain(p.out, out.AppendRow(w), out.Heap, v)
	}
	return nil
}

// plainRow is a row as nil, int64, bool and string values.
func plainRow(l *row.Layout, r []uint64, h *row.Heap) []any {
	v := make([]any, len(l.Types))
	for i, t := range l.Types {
		switch {
		case l.IsNull(r, i):
		case t.Var():
			var buf [row.Inline]byte
			v[i] = string(l.Bytes(r, i, h, buf[:]))
		case t.Kind == row.Bool:
			v[i] = r[l.Off[i]] != 0
		default:
			v[i] = int64(r[l.Off[i]])
		}
	}
	return v
}

func putPlain(l *row.Layout, r []uint64, h *row.Heap, v []any) {
	for i, x := range v {
		switch x := x.(type) {
		case nil:
			l.SetNull(r, i)
		case int64:
			l.Set(r, i, uint64(x))
		case bool:
			l.Set(r, i, 0)
			if x {
				l.Set(r, i, 1)
			}
		case string:
			l.SetBytes(r, i, []byte(x), h)
		}
	}
}

// ascending turns BIGINT into an order field.
func ascending(in *row.Layout, field int) Program {
	out := row.ParseLayout("UBIGINT")
	return &funcProgram{in, out, func(r []any) ([]any, error) {
		if x, ok := r[field].(int64); ok {
			return []any{x ^ -1<<63}, nil
		}
		return []any{r[field]}, nil
	}}
}
