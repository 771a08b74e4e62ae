package eval

import (
	"math"
	"math/big"
	"math/bits"

	"github.com/vegadb/vega-flight/ivm/row"
)

// A kernel computes the values of n rows; it marks in esc those that it cannot, because they are errors or beyond what it knows
// exactly. The NULLs of the arguments are in dst already.
type kernel func(dst, a, b *vec, n int, esc *mask)

// dyadic is a function of two values that is NULL when one of them is.
type dyadic struct {
	vec
	a, b node
	f    kernel
	esc  mask
}

func (x *dyadic) eval(m *machine, act *mask) *vec {
	a := x.a.eval(m, act)
	b := x.b.eval(m, act)
	x.nullFrom(m.w, a, b)
	clear(x.esc[:m.w])
	x.f(&x.vec, a, b, m.n, &x.esc)
	m.blame(&x.esc, &x.null, act, x.nulls)
	return &x.vec
}

// monadic is a function of one value that is NULL when it is.
type monadic struct {
	vec
	a   node
	f   converter
	esc mask
}

func (x *monadic) eval(m *machine, act *mask) *vec {
	a := x.a.eval(m, act)
	x.nullFrom(m.w, a)
	clear(x.esc[:m.w])
	x.f(&x.vec, a, m.n, &x.esc)
	m.blame(&x.esc, &x.null, act, x.nulls)
	return &x.vec
}

// limits are the ends of an integer type that is narrower than a word.
func limits(k row.Kind) (low, high int64, ok bool) {
	switch k {
	case row.Int8:
		return math.MinInt8, math.MaxInt8, true
	case row.Int16:
		return math.MinInt16, math.MaxInt16, true
	case row.Int32:
		return math.MinInt32, math.MaxInt32, true
	case row.Uint8:
		return 0, math.MaxUint8, true
	case row.Uint16:
		return 0, math.MaxUint16, true
	case row.Uint32:
		return 0, math.MaxUint32, true
	}
	return 0, 0, false
}

// powers are those of ten that a word holds.
var powers = func() (p [19]int64) {
	p[0] = 1
	for i := 1; i < len(p); i++ {
		p[i] = 10 * p[i-1]
	}
	return
}()

// arithmetic is +, - or * over a type; nil where there is no path.
func arithmetic(op byte, t row.Type) kernel {
	if low, high, ok := limits(t.Kind); ok {
		return narrow(op, low, high)
	}
	switch t.Kind {
	case row.Int64:
		return signed(op)
	case row.Uint64:
		return unsigned(op)
	case row.Double:
		return double(op)
	case row.Float:
		return single(op)
	case row.Int128:
		return wide(op, 127, 0, 0)
	case row.Decimal:
		if t.Width <= 18 {
			return small(op, powers[t.Width])
		}
		p := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(t.Width)), nil)
		return wide(op, 0, new(big.Int).And(p, all64).Uint64(), new(big.Int).Rsh(p, 64).Uint64())
	}
	return nil
}

// narrow is over integers whose sums and products fit a word.
func narrow(op byte, low, high int64) kernel {
	return func(dst, a, b *vec, n int, esc *mask) {
		d, x, y := dst.lo[:n], a.lo[:n], b.lo[:n]
		switch op {
		case '+':
			for i := range d {
				d[i] = x[i] + y[i]
			}
		case '-':
			for i := range d {
				d[i] = x[i] - y[i]
			}
		case '*':
			for i := range d {
				d[i] = x[i] * y[i]
			}
			if high == math.MaxUint32 { // the square of 2^32 - 1 is negative in a word
				for i := range d {
					if d[i]>>32 != 0 {
						esc.set(i)
					}
				}
				return
			}
		}
		for i := range d {
			if r := int64(d[i]); r < low || r > high {
				esc.set(i)
			}
		}
	}
}

func signed(op byte) kernel {
	switch op {
	case '+':
		return func(dst, a, b *vec, n int, esc *mask) {
			d, x, y := dst.lo[:n], a.lo[:n], b.lo[:n]
			for i := range d {
				s := x[i] + y[i]
				if (x[i]^s)&(y[i]^s)>>63 != 0 {
					esc.set(i)
				}
				d[i] = s
			}
		}
	case '-':
		return func(dst, a, b *vec, n int, esc *mask) {
			d, x, y := dst.lo[:n], a.lo[:n], b.lo[:n]
			for i := range d {
				s := x[i] - y[i]
				if (x[i]^y[i])&(x[i]^s)>>63 != 0 {
					esc.set(i)
				}
				d[i] = s
			}
		}
	}
	return func(dst, a, b *vec, n int, esc *mask) {
		d, x, y := dst.lo[:n], a.lo[:n], b.lo[:n]
		for i := range d {
			hi, lo := mulSigned(x[i], y[i])
			if hi != uint64(int64(lo)>>63) {
				esc.set(i)
			}
			d[i] = lo
		}
	}
}

// mulSigned is the product of two signed words.
func mulSigned(x, y uint64) (hi, lo uint64) {
	hi, lo = bits.Mul64(x, y)
	hi -= uint64(int64(x)>>63)&y + uint64(int64(y)>>63)&x
	return hi, lo
}

func unsigned(op byte) kernel {
	return func(dst, a, b *vec, n int, esc *mask) {
		d, x, y := dst.lo[:n], a.lo[:n], b.lo[:n]
		for i := range d {
			var over uint64
			switch op {
			case '+':
				d[i], over = bits.Add64(x[i], y[i], 0)
			case '-':
				d[i], over = bits.Sub64(x[i], y[i], 0)
			case '*':
				over, d[i] = bits.Mul64(x[i], y[i])
			}
			if over != 0 {
				esc.set(i)
			}
		}
	}
}

// small is over decimals of one word: below end.
func small(op byte, end int64) kernel {
	f := signed(op)
	return func(dst, a, b *vec, n int, esc *mask) {
		f(dst, a, b, n, esc)
		for i, r := range dst.lo[:n] {
			if int64(r) >= end || int64(r) <= -end {
				esc.set(i)
			}
		}
	}
}

// wide is over two words; the magnitude must be below the end, or below the power of two.
func wide(op byte, power uint, endLo, endHi uint64) kernel {
	return func(dst, a, b *vec, n int, esc *mask) {
		for i := range n {
			al, ah, bl, bh := a.lo[i], a.hi[i], b.lo[i], b.hi[i]
			var lo, hi, c uint64
			switch op {
			case '+':
				lo, c = bits.Add64(al, bl, 0)
				hi, _ = bits.Add64(ah, bh, c)
				c = (ah ^ hi) & (bh ^ hi) >> 63
			case '-':
				lo, c = bits.Sub64(al, bl, 0)
				hi, _ = bits.Sub64(ah, bh, c)
				c = (ah ^ bh) & (ah ^ hi) >> 63
			case '*':
				if ah != uint64(int64(al)>>63) || bh != uint64(int64(bl)>>63) {
					c = 1 // beyond what is multiplied here
				} else {
					hi, lo = mulSigned(al, bl)
				}
			}
			dst.lo[i], dst.hi[i] = lo, hi
			if c != 0 || power == 0 && !below(lo, hi, endLo, endHi) || power != 0 && lo == 0 && hi == 1<<63 {
				esc.set(i)
			}
		}
	}
}

// below says that the magnitude of a signed number is less than an unsigned one.
func below(lo, hi, endLo, endHi uint64) bool {
	if int64(hi) < 0 {
		var c uint64
		lo, c = bits.Sub64(0, lo, 0)
		hi, _ = bits.Sub64(0, hi, c)
	}
	return hi < endHi || hi == endHi && lo < endLo
}

func double(op byte) kernel {
	return func(dst, a, b *vec, n int, _ *mask) {
		d, x, y := dst.lo[:n], a.lo[:n], b.lo[:n]
		switch op {
		case '+':
			for i := range d {
				d[i] = math.Float64bits(math.Float64frombits(x[i]) + math.Float64frombits(y[i]))
			}
		case '-':
			for i := range d {
				d[i] = math.Float64bits(math.Float64frombits(x[i]) - math.Float64frombits(y[i]))
			}
		case '*':
			for i := range d {
				d[i] = math.Float64bits(math.Float64frombits(x[i]) * math.Float64frombits(y[i]))
			}
		case '/':
			for i := range d {
				d[i] = math.Float64bits(math.Float64frombits(x[i]) / math.Float64frombits(y[i]))
			}
		}
	}
}

func single(op byte) kernel {
	return func(dst, a, b *vec, n int, _ *mask) {
		for i := range n {
			x, y := math.Float32frombits(uint32(a.lo[i])), math.Float32frombits(uint32(b.lo[i]))
			switch op {
			case '+':
				x = float32(x + y)
			case '-':
				x = float32(x - y)
			case '*':
				x = float32(x * y)
			case '/':
				x = float32(x / y)
			}
			dst.lo[i] = uint64(math.Float32bits(x))
		}
	}
}

// division is // and %: NULL when the divisor is 0.
func division(t row.Type, rest bool) kernel {
	low, _, isNarrow := limits(t.Kind)
	sign := isNarrow && low < 0 || t.Kind == row.Int64
	if !isNarrow && t.Kind != row.Int64 && t.Kind != row.Uint64 {
		return nil
	}
	return func(dst, a, b *vec, n int, esc *mask) {
		for i := range n {
			x, y := a.lo[i], b.lo[i]
			switch {
			case y == 0:
				dst.setNull(words(n), i)
				dst.lo[i] = 0
			case sign && int64(y) == -1: // the lowest number has no counterpart
				esc.set(i)
			case sign && rest:
				dst.lo[i] = uint64(int64(x) % int64(y))
			case sign:
				dst.lo[i] = uint64(int64(x) / int64(y))
			case rest:
				dst.lo[i] = x % y
			default:
				dst.lo[i] = x / y
			}
		}
	}
}

// bitwise is &, | and xor.
func bitwise(op string) kernel {
	return func(dst, a, b *vec, n int, _ *mask) {
		for i := range n {
			switch op {
			case "&":
				dst.lo[i] = a.lo[i] & b.lo[i]
			case "|":
				dst.lo[i] = a.lo[i] | b.lo[i]
			case "xor":
				dst.lo[i] = a.lo[i] ^ b.lo[i]
			}
		}
	}
}

// magnitude is abs, and negation when that is asked for.
func magnitude(t row.Type, negate bool) func(dst, a *vec, n int, esc *mask) {
	switch t.Kind {
	case row.Double, row.Float:
		sign := uint64(1) << 63
		if t.Kind == row.Float {
			sign = 1 << 31
		}
		return func(dst, a *vec, n int, _ *mask) {
			for i := range n {
				if negate {
					dst.lo[i] = a.lo[i] ^ sign
				} else {
					dst.lo[i] = a.lo[i] &^ sign
				}
			}
		}
	case row.Int8, row.Int16, row.Int32, row.Int64, row.Decimal:
		if t.Words() == 2 {
			return nil
		}
		low, _, ok := limits(t.Kind)
		if !ok {
			low = math.MinInt64
		}
		return func(dst, a *vec, n int, esc *mask) {
			for i := range n {
				x := int64(a.lo[i])
				if x == low {
					esc.set(i)
				}
				if negate || x < 0 {
					x = -x
				}
				dst.lo[i] = uint64(x)
			}
		}
	}
	return nil
}
