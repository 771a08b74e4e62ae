package plan

import (
	"encoding/binary"
	"math"
	"math/big"

	"github.com/vegadb/vega-flight/ivm/row"
)

// meaning writes what an expression or a part of a node means, so that two of them are written alike only when they mean the same: with every
// type, collation and bound value, without places in the text and names that are for people. A column is written as what at makes of its position.
type meaning struct {
	b     []byte
	at    func(int) int
	alone func() int // a number that nothing else has, for what equals nothing
}

func (x *meaning) int(n int) { x.b = binary.AppendVarint(x.b, int64(n)) }

func (x *meaning) bool(v bool) {
	if v {
		x.b = append(x.b, 1)
	} else {
		x.b = append(x.b, 0)
	}
}

func (x *meaning) text(s string) {
	x.int(len(s))
	x.b = append(x.b, s...)
}

func (x *meaning) ints(list []int) {
	x.int(len(list))
	for _, i := range list {
		x.int(i)
	}
}

func (x *meaning) texts(list []string) {
	x.int(len(list))
	for _, s := range list {
		x.text(s)
	}
}

func (x *meaning) typ(t row.Type) {
	x.b = append(x.b, byte(t.Kind), t.Width, t.Scale)
	x.int(t.Size)
	x.text(t.Collation)
	x.texts(t.Names)
	x.types(t.Children)
}

func (x *meaning) types(list []row.Type) {
	x.int(len(list))
	for _, t := range list {
		x.typ(t)
	}
}

func (x *meaning) exprs(es []Expr) {
	x.int(len(es))
	for _, e := range es {
		x.expr(e)
	}
}

// head begins an expression.
func (x *meaning) head(kind byte, e Expr) {
	x.b = append(x.b, kind)
	x.typ(e.Result())
}

func (x *meaning) expr(e Expr) {
	switch e := e.(type) {
	case nil:
		x.b = append(x.b, 'n')
		return
	case *ColumnRef:
		x.head('c', e)
		x.int(x.at(e.Index))
		return
	case *ParamRef:
		x.head('p', e)
		x.text(e.Name)
		return
	case *Clock:
		x.head('t', e)
		return
	case *Constant:
		x.constant(e)
		return
	case *Cast:
		x.head('C', e)
		x.bool(e.Try)
	case *Comparison:
		x.head('=', e)
		x.int(int(e.Op))
	case *Conjunction:
		x.head('&', e)
		x.bool(e.Or)
	case *Not:
		x.head('!', e)
	case *IsNull:
		x.head('0', e)
		x.bool(e.Not)
	case *Coalesce:
		x.head('o', e)
	case *In:
		x.head('i', e)
		x.bool(e.Not)
	case *Between:
		x.head('b', e)
		x.bool(e.LowOpen)
		x.bool(e.HighOpen)
		x.bool(e.Not)
	case *Case:
		x.head('w', e)
	case *Function:
		x.function(e)
	default: // refused
		x.head('?', e)
		x.int(x.alone())
	}
	x.exprs(e.Inputs())
}

func (x *meaning) function(e *Function) {
	x.head('f', e)
	x.text(e.Schema)
	x.text(e.Name)
	x.bool(e.Operator)
	x.types(e.ArgTypes)
	x.texts(e.ArgNames)
	x.text(e.Data)
	if x.bool(e.Volatile); e.Volatile {
		x.int(x.alone())
	}
	if x.bool(e.Lambda != nil); e.Lambda != nil {
		x.texts(e.Lambda.Params)
	}
}

func (x *meaning) constant(e *Constant) {
	if e == nil {
		x.b = append(x.b, 'n')
		return
	}
	x.head('k', e)
	switch v := e.Value.(type) {
	case nil:
		x.b = append(x.b, 0)
	case bool:
		x.b = append(x.b, 1)
		x.bool(v)
	case int64:
		x.b = binary.AppendVarint(append(x.b, 2), v)
	case uint64:
		x.b = binary.AppendUvarint(append(x.b, 3), v)
	case *big.Int:
		x.b = append(x.b, 4)
		x.text(v.String())
	case float64: // by its bits: zeros of two signs are two values
		x.b = binary.BigEndian.AppendUint64(append(x.b, 5), math.Float64bits(v))
	case string:
		x.b = append(x.b, 6)
		x.text(v)
	case []byte:
		x.b = append(x.b, 7)
		x.text(string(v))
	case Interval:
		x.b = append(x.b, 8)
		x.int(int(v.Months))
		x.int(int(v.Days))
		x.b = binary.AppendVarint(x.b, v.Micros)
	case Elements:
		x.b = append(x.b, 9)
		x.constants(v)
	case Member:
		x.b = append(x.b, 10)
		x.int(v.Tag)
		x.constant(v.Value)
	default:
		x.b = append(x.b, 11)
		x.int(x.alone())
	}
}

func (x *meaning) constants(list []*Constant) {
	x.int(len(list))
	for _, c := range list {
		x.constant(c)
	}
}

func (x *meaning) order(items []OrderItem) {
	x.int(len(items))
	for _, o := range items {
		x.expr(o.Expr)
		x.bool(o.Desc)
		x.bool(o.NullsFirst)
	}
}

func (x *meaning) agg(a *Agg) {
	x.text(a.Schema)
	x.text(a.Name)
	x.exprs(a.Args)
	x.types(a.ArgTypes)
	x.bool(a.Distinct)
	x.expr(a.Filter)
	x.order(a.Order)
	x.typ(a.Type)
	x.constants(a.Params)
	x.text(a.Data)
	x.bool(a.Internal)
}

func (x *meaning) window(f *WindowFunc) {
	x.text(f.Schema)
	x.text(f.Name)
	x.bool(f.Aggregate)
	x.exprs(f.Args)
	x.types(f.ArgTypes)
	x.bool(f.Distinct)
	x.bool(f.IgnoreNulls)
	x.expr(f.Filter)
	x.order(f.ArgOrder)
	x.expr(f.Offset)
	x.expr(f.Default)
	x.int(int(f.Frame.Unit))
	for _, end := range []FrameBound{f.Frame.Start, f.Frame.End} {
		x.int(int(end.Kind))
		x.expr(end.Expr)
	}
	x.text(f.Frame.Exclude)
	x.typ(f.Type)
	x.constants(f.Params)
	x.text(f.Data)
}
