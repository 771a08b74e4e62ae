package dataflow

import (
	"errors"
	"math"
	"math/big"
	"math/bits"
	"strings"

	"github.com/vegadb/vega-flight/ivm/row"
	"github.com/vegadb/vega-flight/ivm/state"
)

// A value shows a function of a group as a field of its row. An error says that the group has none.
type value interface {
	show(c *group, i int) error
}

// group is one of the touched groups while its row is made.
type group struct {
	slot   int
	acc    []uint64
	key    []uint64
	keys   *row.Heap
	layout *row.Layout
	dst    []uint64
	heap   *row.Heap
	cursor state.Cursor
	buf    []byte
	small  [row.Inline]byte
}

func (c *group) null(i int) error { c.layout.SetNull(c.dst, i); return nil }

func (c *group) set(i int, v uint64) error { c.layout.Set(c.dst, i, v); return nil }

func (c *group) float(i int, x float64) error {
	if x != x {
		return c.set(i, oneNaN) // Go's own is another
	}
	return c.set(i, math.Float64bits(x))
}

// countValue is count(*) and count(x).
type countValue struct{ at *place }

func (v *countValue) show(c *group, i int) error { return c.set(i, c.acc[v.at.off]) }

// sizeValue is count(DISTINCT x).
type sizeValue struct{ m *multiset }

func (v *sizeValue) show(c *group, i int) error {
	return c.set(i, uint64(v.m.table.Len(v.m.refs[c.slot])))
}

// boolValue is bool_and, bool_or and count_if.
type boolValue struct {
	at   *place
	name string
}

func (v *boolValue) show(c *group, i int) error {
	yes, no := c.acc[v.at.off], c.acc[v.at.off+1]
	switch {
	case yes == 0 && no == 0: // also of count_if, which DuckDB computes as a sum
		return c.null(i)
	case v.name == "count_if":
		c.layout.Set(c.dst, i, yes)
		if c.layout.Types[i].Words() == 2 {
			c.layout.Set2(c.dst, i, yes, 0)
		}
		return nil
	case v.name == "bool_and" && no == 0, v.name == "bool_or" && yes != 0:
		return c.set(i, 1)
	}
	return c.set(i, 0)
}

// bitValue is bit_and, bit_or and bit_xor.
type bitValue struct {
	of   *countBits
	name string
}

func (v *bitValue) show(c *group, i int) error {
	p := c.acc[v.of.off:][:1+v.of.width]
	if p[0] == 0 {
		return c.null(i)
	}
	var w [2]uint64
	for j, n := range p[1:] {
		var set bool
		switch v.name {
		case "bit_and":
			set = n == p[0]
		case "bit_or":
			set = n != 0
		default:
			set = n&1 != 0
		}
		if set {
			w[j>>6] |= 1 << (j & 63)
		}
	}
	if v.of.width == 128 {
		c.layout.Set2(c.dst, i, w[0], w[1])
		return nil
	}
	if k := v.of.kind.Kind; k >= row.Int8 && k <= row.Int64 {
		s := uint(64 - v.of.width)
		w[0] = uint64(int64(w[0]<<s) >> s)
	}
	return c.set(i, w[0])
}

var errSum = errors.New("Out of Range Error: Overflow in HUGEINT addition")

// sumValue is sum and avg of integers, decimals and times.
type sumValue struct {
	at      *place
	wide    bool
	average bool
	type_   row.Type
	result  row.Type
	scale   float64
}

func (v *sumValue) show(c *group, i int) error {
	p := c.acc[v.at.off:]
	n, lo, hi := int64(p[0]), p[1], p[2]
	if n == 0 {
		return c.null(i)
	}
	if v.wide && p[3] != uint64(int64(hi)>>63) {
		return errSum
	}
	if !v.average {
		c.layout.Set2(c.dst, i, lo, hi)
		return nil
	}
	if v.result.Kind != row.Double { // times, in whole units
		return c.set(i, divide(lo, hi, uint64(n)))
	}
	if v.type_.Kind == row.Int128 {
		return c.float(i, quotient(lo, hi, n))
	}
	if v.type_.Kind == row.Int16 || v.type_.Kind == row.Int8 || v.type_.Kind == row.Decimal && v.type_.Width <= 4 {
		return c.float(i, float64(int64(lo))/(float64(n)*v.scale))
	}
	return c.float(i, averageOf(lo, hi, n, v.scale))
}

// quotient is a number of 128 bits by a count, rounded once: what DuckDB makes of HUGEINT (300 random averages).
func quotient(lo, hi uint64, n int64) float64 {
	x := new(big.Int).SetInt64(int64(hi))
	x.Lsh(x, 64).Or(x, new(big.Int).SetUint64(lo))
	f, _ := new(big.Rat).SetFrac(x, big.NewInt(n)).Float64()
	return f
}

// divide is a number of 128 bits by a count; the quotient has 64. It is rounded as DuckDB does: towards zero, but up when what
// is left is more than half the count, rounded down, and positive.
func divide(lo, hi, n uint64) uint64 {
	negative := int64(hi) < 0
	if negative {
		var borrow uint64
		lo, borrow = bits.Sub64(0, lo, 0)
		hi, _ = bits.Sub64(0, hi, borrow)
	}
	q, rest := bits.Div64(hi%n, lo, n)
	switch {
	case negative:
		return -q
	case rest > n/2:
		return q + 1
	}
	return q
}

// floatValue is sum and avg of floats.
type floatValue struct {
	of      *sumFloats
	average bool
}

func (v *floatValue) show(c *group, i int) error {
	p := c.acc[v.of.off:]
	n := int64(p[0])
	if n == 0 {
		return c.null(i)
	}
	x := floatSum(p[1:1+floatWords], v.of.wideOf(c.key, c.keys, false))
	if v.average {
		x /= float64(n)
	}
	return c.float(i, x)
}

// varianceValue is the variances and standard deviations.
type varianceValue struct {
	of   *sumFloats
	name string
}

var outOfRange = map[string]error{
	"var_pop":     errors.New("Out of Range Error: VARPOP is out of range!"),
	"var_samp":    errors.New("Out of Range Error: VARSAMP is out of range!"),
	"stddev_pop":  errors.New("Out of Range Error: STDDEV_POP is out of range!"),
	"stddev_samp": errors.New("Out of Range Error: STDDEV_SAMP is out of range!"),
}

func (v *varianceValue) show(c *group, i int) error {
	p := c.acc[v.of.off:]
	n, less := int64(p[0]), int64(0)
	if strings.HasSuffix(v.name, "_samp") {
		less = 1
	}
	if n <= less {
		return c.null(i)
	}
	x, ok := variance(p[1:1+2*floatWords], v.of.wideOf(c.key, c.keys, false), n, less)
	if !ok {
		return outOfRange[v.name]
	}
	if strings.HasPrefix(v.name, "stddev") {
		x = math.Sqrt(x)
	}
	return c.float(i, x)
}

// endValue is a field of the first or last entry: min, max, arg_min, arg_max, first, last, any_value.
type endValue struct {
	m    *multiset
	at   int
	last bool
}

func (v *endValue) show(c *group, i int) error {
	t, ref := v.m.table, v.m.refs[c.slot]
	var e []uint64
	if v.last {
		e, _ = t.Last(ref)
	} else {
		e, _ = t.First(ref)
	}
	if e == nil {
		return c.null(i)
	}
	v.m.entry.field(c.dst, c.layout, i, c.heap, e, v.at, t.Heap())
	return nil
}

// modeValue is the most frequent entry, the least of those.
type modeValue struct {
	m        *multiset
	at       int
	distinct bool
}

func (v *modeValue) show(c *group, i int) error {
	t := v.m.table
	t.Scan(&c.cursor, v.m.refs[c.slot])
	w := v.m.entry.layout.Words
	var best []uint64
	most := int64(0)
	for c.cursor.NextBlock() {
		for j := range c.cursor.N {
			n := int64(1)
			if c.cursor.Weights != nil && !v.distinct {
				n = c.cursor.Weights[j]
			}
			if n > most {
				most, best = n, c.cursor.Rows[j*w:j*w+w]
			}
		}
	}
	if best == nil {
		return c.null(i)
	}
	v.m.entry.field(c.dst, c.layout, i, c.heap, best, v.at, t.Heap())
	return nil
}
