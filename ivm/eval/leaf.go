package eval

import (
	"encoding/binary"
	"encoding/hex"
	"math"
	"math/big"
	"strings"

	"github.com/vegadb/vega-flight/ivm/plan"
	"github.com/vegadb/vega-flight/ivm/row"
)

// column reads a field, once a chunk.
type column struct {
	vec
	field int
	kind  row.Kind
	off   int
	wide  bool
	turn  uint64
}

func (c *column) eval(m *machine, _ *mask) *vec {
	if c.turn == m.turn {
		return &c.vec
	}
	c.turn = m.turn
	c.heap = m.heap
	stride, ws, n := m.in.Words, m.words, m.n
	word, bit := c.field>>6, uint(c.field)&63
	clear(c.null[:m.w])
	var any uint64
	if m.pick == nil {
		at := m.base*stride + word
		for i := range n {
			b := ws[at] >> bit & 1
			c.null[i>>6] |= b << (uint(i) & 63)
			any |= b
			at += stride
		}
	} else {
		for i, r := range m.pick[:n] {
			b := ws[int(r)*stride+word] >> bit & 1
			c.null[i>>6] |= b << (uint(i) & 63)
			any |= b
		}
	}
	c.nulls = any != 0
	switch {
	case c.kind == row.Bool:
		clear(c.bits[:m.w])
		for i := range n {
			c.bits[i>>6] |= ws[m.row(i)*stride+c.off] << (uint(i) & 63)
		}
	case m.pick == nil:
		at := m.base*stride + c.off
		lo := c.lo[:n]
		for i := range lo {
			lo[i] = ws[at]
			at += stride
		}
		if c.wide {
			at = m.base*stride + c.off + 1
			hi := c.hi[:n]
			for i := range hi {
				hi[i] = ws[at]
				at += stride
			}
		}
	default:
		for i, r := range m.pick[:n] {
			at := int(r)*stride + c.off
			c.lo[i] = ws[at]
			if c.wide {
				c.hi[i] = ws[at+1]
			}
		}
	}
	return &c.vec
}

// row is the batch's row that the chunk has in place i.
func (m *machine) row(i int) int {
	if m.pick != nil {
		return int(m.pick[i])
	}
	return m.base + i
}

// constant is the same value for every row.
type constant struct {
	vec
	isNull bool
	word   uint64
	wide   uint64
	bytes  []byte
}

func (c *constant) eval(*machine, *mask) *vec { return &c.vec }

// newConstant fills a vector; false for a value that is not known here.
func newConstant(t row.Type, value any) (*constant, bool) {
	c := &constant{vec: *newVec(t)}
	if value == nil {
		c.isNull, c.nulls = true, true
		c.null.first(chunk)
		return c, !t.Nested()
	}
	lo, hi, bytes, ok := constantWords(t, value)
	if !ok {
		return nil, false
	}
	c.bytes = bytes
	if t.Var() {
		c.heap = new(row.Heap)
		lo, hi = row.PutVar(bytes, c.heap)
	}
	c.word, c.wide = lo, hi
	if t.Kind == row.Bool {
		if lo != 0 {
			c.bits.first(chunk)
		}
		return c, true
	}
	for i := range c.lo {
		c.lo[i] = lo
	}
	for i := range c.hi {
		c.hi[i] = hi
	}
	return c, true
}

// constantWords are the words of a constant's value, or the bytes of a text.
func constantWords(t row.Type, value any) (lo, hi uint64, bytes []byte, ok bool) {
	switch v := value.(type) {
	case bool:
		if v {
			lo = 1
		}
		return lo, 0, nil, true
	case int64:
		return uint64(v), 0, nil, true
	case uint64:
		return v, 0, nil, true
	case *big.Int:
		x := new(big.Int).And(v, all128)
		return new(big.Int).And(x, all64).Uint64(), new(big.Int).Rsh(x, 64).Uint64(), nil, true
	case float64:
		if t.Kind == row.Float {
			return uint64(math.Float32bits(float32(v))), 0, nil, true
		}
		return math.Float64bits(v), 0, nil, true
	case string:
		if t.Kind == row.UUID {
			b, err := hex.DecodeString(strings.ReplaceAll(v, "-", ""))
			if err != nil || len(b) != 16 {
				return 0, 0, nil, false
			}
			return binary.BigEndian.Uint64(b[8:]), binary.BigEndian.Uint64(b), nil, true
		}
		return 0, 0, []byte(v), t.Var() && !t.Nested()
	case []byte:
		return 0, 0, v, true
	case plan.Interval:
		return uint64(uint32(v.Months))<<32 | uint64(uint32(v.Days)), uint64(v.Micros), nil, true
	}
	return 0, 0, nil, false
}

var (
	all64  = new(big.Int).SetUint64(math.MaxUint64)
	all128 = new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 128), big.NewInt(1))
)

// clock is the logical clock.
type clock struct {
	vec
	turn uint64
}

func (c *clock) eval(m *machine, _ *mask) *vec {
	if c.turn != m.turn {
		c.turn = m.turn
		for i := range m.n {
			c.lo[i] = m.clock
		}
	}
	return &c.vec
}
