package eval

import (
	"bytes"
	"math"

	"github.com/vegadb/vega-flight/ivm/plan"
	"github.com/vegadb/vega-flight/ivm/row"
)

// comparer compares vectors of one type.
type comparer struct {
	typ  row.Type
	x, y []uint64 // the numbers to compare, where the words are none
}

// order is how the words of a type compare.
type order uint8

const (
	noOrder order = iota
	asSigned
	asUnsigned
	asDouble
	asSingle
	asBool
	asWide         // signed, two words
	asWideUnsigned // two words
	asText
)

func orderOf(t row.Type) order {
	switch t.Kind {
	case row.Bool:
		return asBool
	case row.Int8, row.Int16, row.Int32, row.Int64, row.Uint8, row.Uint16, row.Uint32, row.Date, row.Time, row.TimeNS,
		row.Timestamp, row.TimestampS, row.TimestampMS, row.TimestampNS, row.TimestampTZ:
		return asSigned
	case row.Uint64:
		return asUnsigned
	case row.Double:
		return asDouble
	case row.Float:
		return asSingle
	case row.Decimal:
		if t.Words() == 2 {
			return asWide
		}
		return asSigned
	case row.Int128:
		return asWide
	case row.Uint128, row.UUID:
		return asWideUnsigned
	case row.Varchar, row.Blob:
		if t.Collation == "" {
			return asText
		}
	case row.Enum: // equality only: the order is the labels'
		return asText
	}
	return noOrder
}

// doubleKey is a number whose signed order is DuckDB's order of doubles: NaN is one and the greatest, the zeros are one.
func doubleKey(b uint64) uint64 {
	f := math.Float64frombits(b)
	if f != f {
		return math.MaxInt64
	}
	if f == 0 {
		return 0
	}
	return b ^ uint64(int64(b)>>63)>>1
}

// keys are the words of v as numbers whose signed order is the type's.
func keys(o order, v *vec, n int, scratch *[]uint64) []uint64 {
	src := v.lo[:n]
	if o == asSigned {
		return src
	}
	if *scratch == nil {
		*scratch = make([]uint64, chunk)
	}
	dst := (*scratch)[:n]
	switch o {
	case asUnsigned:
		for i, w := range src {
			dst[i] = w ^ 1<<63
		}
	case asDouble:
		for i, w := range src {
			dst[i] = doubleKey(w)
		}
	case asSingle:
		for i, w := range src {
			dst[i] = doubleKey(math.Float64bits(float64(math.Float32frombits(uint32(w)))))
		}
	}
	return dst
}

// compare sets the bits of the rows for which a op b; op is Equal, NotEqual, Less, LessEqual, Greater or GreaterEqual.
func (c *comparer) compare(op plan.CompareOp, a, b *vec, n int, out *mask) {
	if op == plan.Greater || op == plan.GreaterEqual {
		a, b, op = b, a, op.Flip()
	}
	switch o := orderOf(c.typ); o {
	case asBool:
		compareBits(op, a, b, words(n), out)
	case asWide, asWideUnsigned:
		flip := uint64(0)
		if o == asWideUnsigned {
			flip = 1 << 63
		}
		compareWide(op, a, b, n, flip, out)
	case asText:
		compareText(op, a, b, n, out)
	default:
		compareWords(op, keys(o, a, n, &c.x), keys(o, b, n, &c.y), out)
	}
}

func compareBits(op plan.CompareOp, a, b *vec, w int, out *mask) {
	for i := range w {
		x, y := a.bits[i], b.bits[i]
		switch op {
		case plan.Equal:
			out[i] = ^(x ^ y)
		case plan.NotEqual:
			out[i] = x ^ y
		case plan.Less:
			out[i] = ^x & y
		case plan.LessEqual:
			out[i] = ^x | y
		}
	}
}

func compareWords(op plan.CompareOp, x, y []uint64, out *mask) {
	y = y[:len(x)]
	for at := 0; at < len(x); at += 64 {
		p, q := x[at:min(at+64, len(x))], y[at:min(at+64, len(x))]
		q = q[:len(p)]
		var w uint64
		switch op {
		case plan.Equal:
			for j := range p {
				var b uint64
				if p[j] == q[j] {
					b = 1
				}
				w |= b << (uint(j) & 63)
			}
		case plan.NotEqual:
			for j := range p {
				var b uint64
				if p[j] != q[j] {
					b = 1
				}
				w |= b << (uint(j) & 63)
			}
		case plan.Less:
			for j := range p {
				var b uint64
				if int64(p[j]) < int64(q[j]) {
					b = 1
				}
				w |= b << (uint(j) & 63)
			}
		case plan.LessEqual:
			for j := range p {
				var b uint64
				if int64(p[j]) <= int64(q[j]) {
					b = 1
				}
				w |= b << (uint(j) & 63)
			}
		}
		out[at>>6] = w
	}
}

func compareWide(op plan.CompareOp, a, b *vec, n int, flip uint64, out *mask) {
	clear(out[:words(n)])
	for i := range n {
		x, y := int64(a.hi[i]^flip), int64(b.hi[i]^flip)
		var is bool
		switch equal := x == y && a.lo[i] == b.lo[i]; op {
		case plan.Equal:
			is = equal
		case plan.NotEqual:
			is = !equal
		case plan.Less:
			is = x < y || x == y && a.lo[i] < b.lo[i]
		case plan.LessEqual:
			is = x < y || x == y && a.lo[i] <= b.lo[i]
		}
		if is {
			out.set(i)
		}
	}
}

func compareText(op plan.CompareOp, a, b *vec, n int, out *mask) {
	clear(out[:words(n)])
	for i := range n {
		var is bool
		if op == plan.Equal || op == plan.NotEqual {
			is = a.lo[i] == b.lo[i]
			if is {
				if k := uint32(a.lo[i]); k <= row.Inline {
					is = a.hi[i] == b.hi[i]
				} else if !a.isNullAt(i) && !b.isNullAt(i) {
					is = bytes.Equal(a.heap.Get(a.hi[i], int(k)), b.heap.Get(b.hi[i], int(k)))
				}
			}
			is = is == (op == plan.Equal)
		} else if !a.isNullAt(i) && !b.isNullAt(i) {
			c := row.CompareVar(a.lo[i], a.hi[i], a.heap, b.lo[i], b.hi[i], b.heap)
			is = c < 0 || c == 0 && op == plan.LessEqual
		}
		if is {
			out.set(i)
		}
	}
}

func (v *vec) isNullAt(i int) bool { return v.nulls && v.null.has(i) }

// comparison is a comparison operator.
type comparison struct {
	vec
	comparer
	op   plan.CompareOp
	a, b node
}

func (x *comparison) eval(m *machine, act *mask) *vec {
	a := x.a.eval(m, act)
	b := x.b.eval(m, act)
	if x.op != plan.Distinct && x.op != plan.NotDistinct {
		x.compare(x.op, a, b, m.n, &x.bits)
		x.nullFrom(m.w, a, b)
		return &x.vec
	}
	x.compare(plan.Equal, a, b, m.n, &x.bits)
	for i := range m.w {
		var p, q uint64
		if a.nulls {
			p = a.null[i]
		}
		if b.nulls {
			q = b.null[i]
		}
		same := x.bits[i]&^(p|q) | p&q
		if x.op == plan.Distinct {
			same = ^same
		}
		x.bits[i] = same
	}
	return &x.vec
}

// between is BETWEEN.
type between struct {
	vec
	comparer
	child, low, high node
	above, under     plan.CompareOp
	not              bool
	p, q             mask
}

func (x *between) eval(m *machine, act *mask) *vec {
	v := x.child.eval(m, act)
	low := x.low.eval(m, act)
	high := x.high.eval(m, act)
	p, q := &x.p, &x.q
	x.compare(x.above, v, low, m.n, p)
	x.compare(x.under, v, high, m.n, q)
	var any uint64
	for i := range m.w {
		var vn, ln, hn uint64
		if v.nulls {
			vn = v.null[i]
		}
		if low.nulls {
			ln = low.null[i]
		}
		if high.nulls {
			hn = high.null[i]
		}
		pn, qn := vn|ln, vn|hn
		no := ^p[i]&^pn | ^q[i]&^qn
		yes := p[i] & q[i] &^ (pn | qn)
		if x.not {
			yes, no = no, yes
		}
		x.bits[i] = yes
		x.null[i] = ^(yes | no)
		any |= x.null[i]
	}
	x.nulls = any != 0
	return &x.vec
}

// inList is IN over constants.
type inList struct {
	vec
	comparer
	child node
	items []*constant
	nulls bool // one of the list is NULL
	not   bool

	found, one mask
}

func (x *inList) eval(m *machine, act *mask) *vec {
	v := x.child.eval(m, act)
	found, one := &x.found, &x.one
	clear(found[:m.w])
	for _, c := range x.items {
		x.compare(plan.Equal, v, &c.vec, m.n, one)
		for i := range m.w {
			found[i] |= one[i]
		}
	}
	x.vec.nullFrom(m.w, v)
	if x.nulls { // what is not found may be
		for i := range m.w {
			var null uint64
			if v.nulls {
				null = v.null[i]
			}
			x.null[i] = null | ^found[i]
		}
		x.vec.nulls = true
	}
	for i := range m.w {
		if x.not {
			found[i] = ^found[i]
		}
		x.bits[i] = found[i]
	}
	return &x.vec
}
