package dataflow

import (
	"math"
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

func negate(p []uint64) {
	carry := uint64(1)
	for i := range p {
		p[i], carry = bits.Add64(^p[i], 0, carry)
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
