package dataflow

import (
	"math"
	"math/big"
	"math/bits"
)

// Sums of floats are exact: fixed-point numbers wide enough for every bit that came, so that they do not depend on order,
// and a value that is taken back leaves nothing behind. The sum is rounded once, when it is shown (to nearest, ties to even).
//
// Nearly all groups are content with a narrow window of 320 bits: a header word (0: empty, else 1 + base + floatBias, where
// 2^base is the worth of the lowest bit; or floatWide) and five words, two's complement. The base is chosen by the first value;
// a value that does not fit moves the sum to the group's wide state, which covers all floats, their squares, and counts of
// NaN, +Inf and −Inf. A sum that comes back to 0 chooses its base anew.
//
// In a window, a term is below 2^254 units of the lowest bit and its weight below 2^63, and so is the sum of all weights: it cannot overflow.

const (
	floatWords = 6
	floatWide  = ^uint64(0)
	floatBias  = 4096
	floatRoom  = 254 // bits of a term in a window

	wideBase  = -2148                    // 2^-1074 squared
	wideSum   = 68                       // words of a wide sum: to 2^2048 with weights
	wideWords = 2*wideSum + floatSpecial // sum, sum of squares, specials
	// of the specials
	floatSpecial = 3
	countNaN     = 0
	countInf     = 1
	countNegInf  = 2
)

// split is |x| = m · 2^e.
func split(x float64) (m uint64, e int) {
	b := math.Float64bits(x)
	m, e = b&(1<<52-1), int(b>>52&0x7ff)
	if e == 0 {
		return m, -1074
	}
	return m | 1<<52, e - 1075
}

// floatAdd adds w·x to a window; it says false if x does not fit.
func floatAdd(p []uint64, x float64, w int64) bool {
	if x == 0 {
		return true
	}
	if p[0] == floatWide || x-x != 0 {
		return false
	}
	m, e := split(x)
	at, ok := windowAt(p, e, 53, 100)
	if !ok {
		return false
	}
	hi, lo := bits.Mul64(m, magnitude(w))
	addAt(p[1:floatWords], at, [3]uint64{lo, hi}, (w < 0) != math.Signbit(x))
	settle(p)
	return true
}

// squareAdd adds w·x².
func squareAdd(p []uint64, x float64, w int64) bool {
	if x == 0 {
		return true
	}
	if p[0] == floatWide || x-x != 0 {
		return false
	}
	m, e := split(x)
	at, ok := windowAt(p, 2*e, 106, 74)
	if !ok {
		return false
	}
	addAt(p[1:floatWords], at, squared(m, magnitude(w)), w < 0)
	settle(p)
	return true
}

func magnitude(w int64) uint64 {
	if w < 0 {
		return -uint64(w)
	}
	return uint64(w)
}

// squared is m² · w.
func squared(m, w uint64) [3]uint64 {
	hi, lo := bits.Mul64(m, m)
	a1, a0 := bits.Mul64(lo, w)
	b1, b0 := bits.Mul64(hi, w)
	a1, carry := bits.Add64(a1, b0, 0)
	return [3]uint64{a0, a1, b1 + carry}
}

// windowAt is the place of 2^e in a window, whose base it chooses if there is none.
func windowAt(p []uint64, e, n, below int) (int, bool) {
	if p[0] == 0 {
		p[0] = uint64(e - below + 1 + floatBias)
		return below, true
	}
	at := e - (int(p[0]) - 1 - floatBias)
	return at, at >= 0 && at+n <= floatRoom
}

// settle gives an empty window its base back.
func settle(p []uint64) {
	if p[1]|p[2]|p[3]|p[4]|p[5] == 0 {
		p[0] = 0
	}
}

// addAt adds or subtracts m · 2^at.
func addAt(p []uint64, at int, m [3]uint64, negative bool) {
	k, s := at>>6, uint(at&63)
	t := [4]uint64{m[0] << s, m[1]<<s | m[0]>>1>>(63-s), m[2]<<s | m[1]>>1>>(63-s), m[2] >> 1 >> (63 - s)}
	var c uint64
	if negative {
		for i, x := range t {
			if k+i == len(p) {
				return // the rest is 0
			}
			p[k+i], c = bits.Sub64(p[k+i], x, c)
		}
		for i := k + 4; c != 0 && i < len(p); i++ {
			p[i], c = bits.Sub64(p[i], 0, c)
		}
		return
	}
	for i, x := range t {
		if k+i == len(p) {
			return
		}
		p[k+i], c = bits.Add64(p[k+i], x, c)
	}
	for i := k + 4; c != 0 && i < len(p); i++ {
		p[i], c = bits.Add64(p[i], 0, c)
	}
}

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

func negate(p []uint64) {
	carry := uint64(1)
	for i := range p {
		p[i], carry = bits.Add64(^p[i], 0, carry)
	}
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

// floatSum is the sum, rounded.
func floatSum(p, wide []uint64) float64 {
	if p[0] != floatWide {
		if p[0] == 0 {
			return 0
		}
		var words [floatWords - 1]uint64
		copy(words[:], p[1:floatWords])
		return roundWords(words[:], int(p[0])-1-floatBias)
	}
	special := wide[2*wideSum:]
	switch {
	case special[countNaN] != 0 || special[countInf] != 0 && special[countNegInf] != 0:
		return math.NaN()
	case special[countInf] != 0:
		return math.Inf(1)
	case special[countNegInf] != 0:
		return math.Inf(-1)
	}
	var words [wideSum]uint64
	copy(words[:], wide)
	return roundWords(words[:], wideBase)
}

// roundWords is a two's complement number times 2^base as the nearest float. It changes words.
func roundWords(words []uint64, base int) float64 {
	negative := int64(words[len(words)-1]) < 0
	if negative {
		negate(words)
	}
	top := len(words) - 1
	for top >= 0 && words[top] == 0 {
		top--
	}
	if top < 0 {
		return 0
	}
	n := uint(bits.LeadingZeros64(words[top]))
	m := words[top] << n
	sticky := uint64(0)
	if top > 0 {
		m |= words[top-1] >> 1 >> (63 - n)
		sticky = words[top-1] << n
		for _, x := range words[:top-1] {
			sticky |= x
		}
	}
	x := roundMantissa(m, sticky != 0, base+64*top-int(n))
	if negative {
		return -x
	}
	return x
}

// roundMantissa is m · 2^e, m with its highest bit set, as the nearest float; more says that there is something below m.
func roundMantissa(m uint64, more bool, e int) float64 {
	drop := uint(11)
	if low := -1074 - e; low > 11 { // subnormal
		if low > 64 {
			return 0
		}
		drop = uint(low)
	}
	var kept, half, rest uint64
	if drop == 64 {
		kept, half, rest = 0, m>>63, m<<1
	} else {
		kept, half, rest = m>>drop, m>>(drop-1)&1, m&(1<<(drop-1)-1)
	}
	if half != 0 && (rest != 0 || more || kept&1 != 0) {
		kept++
	}
	return math.Ldexp(float64(kept), e+int(drop))
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
