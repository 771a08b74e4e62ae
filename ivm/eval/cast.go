package eval

import (
	"math"

	"github.com/vegadb/vega-flight/ivm/row"
)

// converter converts the values of n rows, and marks those that it cannot.
type converter = func(dst, a *vec, n int, esc *mask)

// castOf is the path of a cast; nil where there is none.
func castOf(from, to row.Type) converter {
	signedTo, highTo, whole := wholeLimits(to.Kind)
	switch {
	case from.Kind == to.Kind && from.Kind != row.Decimal && !from.Nested() && from.Kind != row.Enum:
		return sameWords
	case (from.Kind == row.Enum || from.Kind == row.JSON) && to.Kind == row.Varchar:
		return sameWords // rows have the text
	case isWhole(from.Kind) && whole:
		return intToInt(from.Kind, to.Kind, signedTo, highTo)
	case isWhole(from.Kind) && to.Kind == row.Double:
		return intToDouble(from.Kind)
	case isWhole(from.Kind) && to.Kind == row.Float && from.Kind != row.Uint64:
		return each(func(x uint64) (uint64, bool) { return uint64(math.Float32bits(float32(int64(x)))), true })
	case isWhole(from.Kind) && to.Kind == row.Decimal:
		return intToDecimal(from.Kind, to)
	case isWhole(from.Kind) && to.Kind == row.Int128:
		return intToHuge(from.Kind)
	case isWhole(from.Kind) && to.Kind == row.Bool:
		return toBool(func(x uint64) (bool, bool) { return x != 0, true })
	case from.Kind == row.Bool && (whole || to.Kind == row.Double || to.Kind == row.Float || to.Kind == row.Int128):
		return boolToNumber(to.Kind)
	case from.Kind == row.Float && to.Kind == row.Double:
		return each(func(x uint64) (uint64, bool) {
			return math.Float64bits(float64(math.Float32frombits(uint32(x)))), true
		})
	case from.Kind == row.Double && to.Kind == row.Float:
		return each(func(x uint64) (uint64, bool) {
			f := math.Float64frombits(x)
			g := float32(f)
			return uint64(math.Float32bits(g)), !math.IsInf(float64(g), 0) && g == g
		})
	case from.Kind == row.Double && whole:
		return doubleToInt(signedTo, highTo)
	case from.Kind == row.Decimal && to.Kind == row.Decimal:
		return decimalToDecimal(from, to)
	case from.Kind == row.Decimal && from.Words() == 1 && whole:
		return decimalToInt(from, signedTo, highTo)
	case from.Kind == row.Decimal && from.Words() == 1 && to.Kind == row.Double:
		return decimalToDouble(from)
	case from.Kind == row.Date && to.Kind == row.Timestamp:
		return each(dateToTimestamp)
	case from.Kind == row.Timestamp && to.Kind == row.Date:
		return each(timestampToDate)
	case from.Kind == row.Varchar && whole && to.Kind != row.Uint64:
		return textToInt(signedTo, highTo)
	}
	return nil
}

// each converts word by word.
func each(f func(x uint64) (uint64, bool)) converter {
	return func(dst, a *vec, n int, esc *mask) {
		d, x := dst.lo[:n], a.lo[:n]
		for i := range d {
			r, ok := f(x[i])
			if !ok {
				esc.set(i)
			}
			d[i] = r
		}
	}
}

// toBool makes bits of words.
func toBool(f func(x uint64) (is, ok bool)) converter {
	return func(dst, a *vec, n int, esc *mask) {
		clear(dst.bits[:words(n)])
		for i, x := range a.lo[:n] {
			is, ok := f(x)
			if !ok {
				esc.set(i)
			}
			if is {
				dst.bits.set(i)
			}
		}
	}
}

func sameWords(dst, a *vec, n int, _ *mask) {
	dst.bits, dst.heap = a.bits, a.heap
	copy(dst.lo, a.lo[:min(n, len(a.lo))])
	copy(dst.hi, a.hi[:min(n, len(a.hi))])
}

// isWhole are the integers of one word.
func isWhole(k row.Kind) bool { return k >= row.Int8 && k <= row.Uint64 }

// wholeLimits are the ends of an integer type of one word.
func wholeLimits(k row.Kind) (low int64, high uint64, ok bool) {
	switch k {
	case row.Int64:
		return math.MinInt64, math.MaxInt64, true
	case row.Uint64:
		return 0, math.MaxUint64, true
	}
	l, h, ok := limits(k)
	return l, uint64(h), ok
}

// fits says that a signed number is within the ends.
func fits(x, low int64, high uint64) bool { return x >= low && (x < 0 || uint64(x) <= high) }

func intToInt(from, to row.Kind, low int64, high uint64) converter {
	if fromLow, fromHigh, _ := wholeLimits(from); fromLow >= low && fromHigh <= high {
		return sameWords
	}
	if from == row.Uint64 {
		return each(func(x uint64) (uint64, bool) { return x, x <= high })
	}
	return each(func(x uint64) (uint64, bool) { return x, fits(int64(x), low, high) })
}

func intToDouble(from row.Kind) converter {
	if from == row.Uint64 {
		return each(func(x uint64) (uint64, bool) { return math.Float64bits(float64(x)), x < 1<<53 })
	}
	return func(dst, a *vec, n int, _ *mask) {
		d, x := dst.lo[:n], a.lo[:n]
		for i := range d {
			d[i] = math.Float64bits(float64(int64(x[i])))
		}
	}
}

func intToHuge(from row.Kind) converter {
	return func(dst, a *vec, n int, _ *mask) {
		for i, x := range a.lo[:n] {
			dst.lo[i], dst.hi[i] = x, uint64(int64(x)>>63)
			if from == row.Uint64 {
				dst.hi[i] = 0
			}
		}
	}
}

func boolToNumber(to row.Kind) converter {
	one := uint64(1)
	switch to {
	case row.Double:
		one = math.Float64bits(1)
	case row.Float:
		one = uint64(math.Float32bits(1))
	}
	return func(dst, a *vec, n int, _ *mask) {
		for i := range n {
			dst.lo[i] = one * (a.bits[i>>6] >> (uint(i) & 63) & 1)
			if dst.hi != nil {
				dst.hi[i] = 0
			}
		}
	}
}

func doubleToInt(low int64, high uint64) converter {
	return each(func(x uint64) (uint64, bool) {
		f := math.RoundToEven(math.Float64frombits(x))
		if !(f > -1<<53 && f < 1<<53) {
			return 0, false
		}
		i := int64(f)
		return uint64(i), fits(i, low, high)
	})
}

// intToDecimal multiplies by the scale's power.
func intToDecimal(from row.Kind, to row.Type) converter {
	if to.Scale > 18 {
		return nil
	}
	factor := uint64(powers[to.Scale])
	end := uint64(math.MaxInt64) // of the number before
	if d := int(to.Width) - int(to.Scale); d <= 18 {
		end = uint64(powers[d])
	}
	return func(dst, a *vec, n int, esc *mask) {
		for i, x := range a.lo[:n] {
			if m := int64(x); from == row.Uint64 && m < 0 || m >= 0 && uint64(m) >= end || m < 0 && uint64(-m) >= end {
				esc.set(i)
				dst.lo[i] = 0
				continue
			}
			hi, lo := mulSigned(x, factor)
			dst.lo[i] = lo
			if dst.hi != nil {
				dst.hi[i] = hi
			}
		}
	}
}

// decimalToDecimal changes scale and width. A number of two words is known here when it fits one.
func decimalToDecimal(from, to row.Type) converter {
	up := int(to.Scale) - int(from.Scale)
	if up > 18 || up < -18 {
		return nil
	}
	factor := powers[max(up, -up)]
	end := int64(0) // of the result; 0 when any that fits a word does
	if to.Width <= 18 {
		end = powers[to.Width]
	}
	return func(dst, a *vec, n int, esc *mask) {
		for i, x := range a.lo[:n] {
			if a.hi != nil && a.hi[i] != uint64(int64(x)>>63) {
				esc.set(i)
				continue
			}
			lo, hi := x, uint64(int64(x)>>63)
			switch {
			case up > 0:
				hi, lo = mulSigned(x, uint64(factor))
			case up < 0:
				lo = uint64(halfAway(int64(x), factor))
				hi = uint64(int64(lo) >> 63)
			}
			if end != 0 && (hi != uint64(int64(lo)>>63) || int64(lo) >= end || int64(lo) <= -end) {
				esc.set(i)
			}
			// Up to 18 digits more in two words always fit where the type says so; else DuckDB decides.
			if end == 0 && up > 0 && int(to.Width)-up < 19 && int64(x) != 0 && !within(x, int(to.Width)-up) {
				esc.set(i)
			}
			dst.lo[i] = lo
			if dst.hi != nil {
				dst.hi[i] = hi
			}
		}
	}
}

// within says that a signed number has at most that many digits.
func within(x uint64, digits int) bool {
	if digits < 0 {
		return false
	}
	end := powers[min(digits, 18)]
	return int64(x) < end && int64(x) > -end
}

// halfAway divides, rounding halves away from zero.
func halfAway(x, by int64) int64 {
	q, r := x/by, x%by
	if r < 0 {
		r = -r
	}
	if r >= by-r {
		if x < 0 {
			return q - 1
		}
		return q + 1
	}
	return q
}

func decimalToInt(from row.Type, low int64, high uint64) converter {
	factor := powers[from.Scale]
	return each(func(x uint64) (uint64, bool) {
		i := halfAway(int64(x), factor)
		return uint64(i), fits(i, low, high)
	})
}

// decimalToDouble divides; beyond 53 bits DuckDB goes another way.
func decimalToDouble(from row.Type) converter {
	factor := float64(powers[from.Scale])
	return each(func(x uint64) (uint64, bool) {
		i := int64(x)
		return math.Float64bits(float64(i) / factor), i <= 1<<53 && i >= -1<<53
	})
}

const (
	dayMicros   = 86400_000_000
	farDays     = 106_751_990 // days that a TIMESTAMP has
	lastDate    = math.MaxInt32
	farInstants = math.MaxInt64 - 2*dayMicros
)

func dateToTimestamp(x uint64) (uint64, bool) {
	d := int64(x)
	return uint64(d * dayMicros), d < farDays && d > -farDays
}

func timestampToDate(x uint64) (uint64, bool) {
	t := int64(x)
	return uint64(floorDiv(t, dayMicros)), t < farInstants && t > -farInstants
}

func floorDiv(x, by int64) int64 {
	q := x / by
	if x%by < 0 {
		q--
	}
	return q
}

// textToInt reads what is nothing but digits behind at most one minus sign.
func textToInt(low int64, high uint64) converter {
	return func(dst, a *vec, n int, esc *mask) {
		var buf [row.Inline]byte
		for i := range n {
			dst.lo[i] = 0
			k := uint32(a.lo[i])
			if k > row.Inline || k == 0 {
				esc.set(i)
				continue
			}
			b := row.VarBytes(a.lo[i], a.hi[i], nil, buf[:])
			minus := b[0] == '-'
			if minus {
				b = b[1:]
			}
			var x int64
			ok := len(b) > 0
			for _, c := range b {
				ok = ok && c >= '0' && c <= '9'
				x = 10*x + int64(c) - '0'
			}
			if minus {
				x = -x
			}
			if !ok || !fits(x, low, high) {
				esc.set(i)
			}
			dst.lo[i] = uint64(x)
		}
	}
}
