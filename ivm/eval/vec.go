package eval

import (
	"github.com/vegadb/vega-flight/ivm/row"
)

// chunk is how many rows are evaluated at once: the vectors of an expression stay in the cache.
const chunk = 1024

const maskWords = chunk / 64

// mask is a bit for each row of a chunk.
type mask [maskWords]uint64

func (m *mask) set(i int)      { m[i>>6] |= 1 << (uint(i) & 63) }
func (m *mask) has(i int) bool { return m[i>>6]>>(uint(i)&63)&1 != 0 }

// first marks the first n rows.
func (m *mask) first(n int) {
	*m = mask{}
	for i := range n >> 6 {
		m[i] = ^uint64(0)
	}
	if n&63 != 0 {
		m[n>>6] = 1<<(uint(n)&63) - 1
	}
}

func (m *mask) any(w int) bool {
	var x uint64
	for _, w := range m[:w] {
		x |= w
	}
	return x != 0
}

// words are how many mask words n rows have.
func words(n int) int { return (n + 63) >> 6 }

// vec is the values of one expression for a chunk. A BOOLEAN's are bits; others are words as in a row. Where a value is NULL
// its words are anything.
type vec struct {
	lo, hi []uint64
	bits   mask
	null   mask
	nulls  bool      // some value may be NULL
	heap   *row.Heap // of long values
}

// newVec makes room for a chunk of values.
func newVec(t row.Type) *vec {
	v := new(vec)
	if t.Kind == row.Bool {
		return v
	}
	v.lo = make([]uint64, chunk)
	if t.Words() == 2 {
		v.hi = make([]uint64, chunk)
	}
	return v
}

// nullFrom makes NULL what is NULL in any of the arguments.
func (v *vec) nullFrom(w int, args ...*vec) {
	v.nulls = false
	for _, a := range args {
		if !a.nulls {
			continue
		}
		if !v.nulls {
			v.null, v.nulls = a.null, true
			continue
		}
		for i := range w {
			v.null[i] |= a.null[i]
		}
	}
}

// setNull makes one more value NULL.
func (v *vec) setNull(w, i int) {
	if !v.nulls {
		clear(v.null[:w])
		v.nulls = true
	}
	v.null.set(i)
}

// machine is what the nodes of a program share while they evaluate a chunk.
type machine struct {
	in     *row.Layout
	words  []uint64
	heap   *row.Heap
	pick   []int32 // rows of the chunk; nil when they are the n from base on
	base   int
	n      int
	w      int      // mask words of n
	turn   uint64   // counts chunks, for what is read once a chunk
	escape mask     // rows that this program cannot decide: DuckDB does
	clock  uint64   // the logical clock
	texts  row.Heap // long values made on the way
}

// begin takes the next chunk.
func (m *machine) begin(base, n int, pick []int32) {
	m.base, m.n, m.w, m.pick = base, n, words(n), pick
	m.turn++
	clear(m.escape[:m.w])
	if m.texts.Size() > 0 {
		m.texts.Reset()
	}
}

// blame marks the rows of bits that are asked for and not NULL.
func (m *machine) blame(bits, null, act *mask, nulls bool) {
	for i := range m.w {
		b := bits[i] & act[i]
		if nulls {
			b &^= null[i]
		}
		m.escape[i] |= b
	}
}

// A node computes one expression. The rows of act matter; it may compute others too, but only those may escape.
type node interface {
	eval(m *machine, act *mask) *vec
}

// A picker finds the rows of act for which a condition is true, and may skip parts of it for rows that are decided.
type picker interface {
	pick(m *machine, act, out *mask)
}

// pickTrue finds the rows for which n is true; out may be act.
func pickTrue(n node, m *machine, act, out *mask) {
	if p, ok := n.(picker); ok {
		p.pick(m, act, out)
		return
	}
	v := n.eval(m, act)
	for i := range m.w {
		b := v.bits[i] & act[i]
		if v.nulls {
			b &^= v.null[i]
		}
		out[i] = b
	}
}
