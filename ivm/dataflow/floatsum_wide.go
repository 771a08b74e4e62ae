package dataflow

import (
	"math"
	"math/big"
	"math/bits"
)

// floatAddWide adds w·x to the wide state.
func floatAddWide(p, wide []uint64, x float64, w int64) {
	widen(p, wide[:wideSum])
	switch special := wide[2*wideSum:]; {
	case x != x:
		special[countNaN] += uint64(w)
	case x > math.MaxFloat64:
		special[countInf] += uint64(w)
	case x < -math.MaxFloat64:
		special[countNegInf] += uint64(w)
	default:
		m, e := split(x)
		hi, lo := bits.Mul64(m, magnitude(w))
		addAt(wide[:wideSum], e-wideBase, [3]uint64{lo, hi}, (w < 0) != math.Signbit(x))
	}
}

// squareAddWide adds w·x²; specials are counted with the sum.
func squareAddWide(p, wide []uint64, x float64, w int64) {
	widen(p, wide[wideSum:2*wideSum])
	if x-x == 0 {
		m, e := split(x)
		addAt(wide[wideSum:2*wideSum], 2*e-wideBase, squared(m, magnitude(w)), w < 0)
	}
}

// widen moves a window's sum to a wide one.
func widen(p, wide []uint64) {
	if p[0] == floatWide {
		return
	}
	if p[0] != 0 {
		at := int(p[0]) - 1 - floatBias - wideBase
		negative := int64(p[5]) < 0
		words := p[1:floatWords]
		if negative {
			negate(words)
		}
		if at < 0 { // the window begins below every float: its lowest bits are 0
			shiftRight(words, -at)
			at = 0
		}
		addAt(wide, at, [3]uint64{words[0], words[1], words[2]}, negative)
		if words[3]|words[4] != 0 {
			addAt(wide, at+192, [3]uint64{words[3], words[4]}, negative)
		}
	}
	clear(p)
	p[0] = floatWide
}

func shiftRight(p []uint64, n int) {
	for ; n >= 64; n -= 64 {
		copy(p, p[1:])
		p[len(p)-1] = 0
	}
	for i := range p {
		p[i] >>= uint(n)
		if i+1 < len(p) && n > 0 {
			p[i] |= p[i+1] << uint(64-n)
		}
	}
}

// exactSum is the sum as a number; nil if there is none (NaN, Inf).
func exactSum(p, wide []uint64, part int) *big.Float {
	words, base := p[1:floatWords], int(p[0])-1-floatBias
	switch p[0] {
	case 0:
		return new(big.Float)
	case floatWide:
		words, base = wide[part*wideSum:(part+1)*wideSum], wideBase
	}
	w := append([]uint64(nil), words...)
	negative := int64(w[len(w)-1]) < 0
	if negative {
		negate(w)
	}
	raw := make([]big.Word, len(w))
	for i, x := range w {
		raw[i] = big.Word(x)
	}
	n := new(big.Int).SetBits(raw)
	f := new(big.Float).SetPrec(uint(max(n.BitLen(), 64))).SetInt(n)
	f.SetMantExp(f, base)
	if negative {
		f.Neg(f)
	}
	return f
}

// variance is Σ(x − mean)² / (n − less) of exact sums; ok is false if it is out of range, as with NaN and Inf.
func variance(p, wide []uint64, n int64, less int64) (v float64, ok bool) {
	sum, squares := p[:floatWords], p[floatWords:2*floatWords]
	if sum[0] == floatWide && wide[2*wideSum]|wide[2*wideSum+1]|wide[2*wideSum+2] != 0 {
		return 0, false
	}
	if n == 1 {
		return 0, true
	}
	s, q := exactSum(sum, wide, 0), exactSum(squares, wide, 1)
	const exact = 10000 // bits: more than any of these numbers has
	num := new(big.Float).SetPrec(exact).Mul(q, big.NewFloat(0).SetPrec(64).SetInt64(n))
	s2 := new(big.Float).SetPrec(exact).Mul(s, s)
	num.Sub(num, s2)
	den := new(big.Float).SetPrec(128).Mul(new(big.Float).SetInt64(n), new(big.Float).SetInt64(n-less))
	num.SetPrec(256) // one rounding far below a float's
	v, _ = num.Quo(num, den).Float64()
	return v, !math.IsInf(v, 0)
}
