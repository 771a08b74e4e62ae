package dataflow

import (
	"math"
	"math/bits"
)

// extended is a number of the x87 format, whose significand has 64 bits: m · 2^e, the highest bit of m set, or 0. DuckDB
// divides sums of integers by their count in this format (C++ long double on x86-64), and the result differs from that of a
// division of float64s in the last bit often enough.
type extended struct {
	m        uint64
	e        int
	negative bool
}

// extend rounds a number of 128 bits, without sign.
func extend(hi, lo uint64, negative bool) extended {
	if hi == 0 {
		if lo == 0 {
			return extended{}
		}
		n := bits.LeadingZeros64(lo)
		return extended{lo << n, -n, negative}
	}
	n := uint(bits.LeadingZeros64(hi))
	m, rest := hi<<n|lo>>1>>(63-n), lo<<n
	x := extended{m, 64 - int(n), negative}
	x.round(rest > 1<<63, rest == 1<<63)
	return x
}

// round goes up if more than half a unit is left, or half and the significand is odd.
func (x *extended) round(more, half bool) {
	if more || half && x.m&1 != 0 {
		if x.m++; x.m == 0 {
			x.m = 1 << 63
			x.e++
		}
	}
}

func (x extended) times(y extended) extended {
	if x.m == 0 || y.m == 0 {
		return extended{}
	}
	hi, lo := bits.Mul64(x.m, y.m)
	z := extend(hi, lo, x.negative != y.negative)
	z.e += x.e + y.e
	return z
}

func (x extended) over(y extended) extended {
	if x.m == 0 {
		return x
	}
	z := extended{negative: x.negative != y.negative}
	var rest uint64
	if x.m < y.m {
		z.m, rest = bits.Div64(x.m, 0, y.m)
		z.e = x.e - y.e - 64
	} else {
		z.m, rest = bits.Div64(x.m>>1, x.m<<63, y.m)
		z.e = x.e - y.e - 63
	}
	twice, carry := bits.Add64(rest, rest, 0)
	z.round(carry != 0 || twice > y.m, carry == 0 && twice == y.m)
	return z
}

func (x extended) float() float64 {
	if x.m == 0 {
		return 0
	}
	f := roundMantissa(x.m, false, x.e)
	if x.negative {
		return -f
	}
	return f
}

// extendHugeint is DuckDB's cast of a HUGEINT: low + high · (2^64 − 1), rounded after each operation.
func extendHugeint(lo, hi uint64) extended {
	if hi == math.MaxUint64 {
		// −(2^64 − 1 − low) − 1 = low − 2^64
		low := math.MaxUint64 - lo
		sum, carry := bits.Add64(low, 1, 0)
		return extend(carry, sum, true)
	}
	negative := int64(hi) < 0
	high := hi
	if negative {
		high = -high
	}
	if high == 0 {
		return extend(0, lo, false)
	}
	p1, p0 := bits.Mul64(high, math.MaxUint64)
	p := extend(p1, p0, negative)
	// p is a whole number below 2^127
	p1, p0 = 0, 0
	switch {
	case p.e >= 64:
		p1 = p.m << (p.e - 64)
	case p.e >= 0:
		p1, p0 = p.m>>1>>(63-p.e), p.m<<p.e
	default:
		p0 = p.m >> -p.e
	}
	if negative {
		var borrow uint64
		p0, borrow = bits.Sub64(p0, lo, 0)
		p1, _ = bits.Sub64(p1, 0, borrow)
		if int64(p1) < 0 { // cannot be: high >= 2 here
			return extended{}
		}
		return extend(p1, p0, true)
	}
	var carry uint64
	p0, carry = bits.Add64(p0, lo, 0)
	return extend(p1+carry, p0, false)
}

// averageOf is a sum divided by a count, as DuckDB does it for integers and decimals; scale is 10^s.
func averageOf(lo, hi uint64, n int64, scale float64) float64 {
	d := extend(0, uint64(n), false)
	if scale != 1 {
		m, e := split(scale)
		s := extend(0, m, false)
		s.e += e
		d = d.times(s)
	}
	return extendHugeint(lo, hi).over(d).float()
}
