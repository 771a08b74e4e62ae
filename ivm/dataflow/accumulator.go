package dataflow

import (
	"math/bits"

	"github.com/vegadb/vega-flight/ivm/row"
	"github.com/vegadb/vega-flight/ivm/state"
	"github.com/vegadb/vega-flight/ivm/zset"
)

// Accumulators are the states of aggregate functions that are sums over rows:
//
//	acc(A + dA) = acc(A) + Σ w(r) · f(r)   for r in dA
//
// so that order and batching do not matter and what came in goes out again without a trace.
//
// The words of all accumulators of a group lie side by side in its payload. During a step those of the touched groups are
// gathered in one slice, and each accumulator goes over the whole batch at once.

// changes is what an accumulator adds up: rows, the group of each, and weights, which are 0 for rows that do not count.
type changes struct {
	words   []uint64
	stride  int
	weights []int64
	slots   []uint32
	heap    *row.Heap
	acc     []uint64 // of group s: acc[s*size : (s+1)*size]
	size    int
	keys    *zset.Batch // of the groups
}

func (c *changes) of(b *zset.Batch) {
	c.words, c.stride, c.weights, c.heap = b.Words, b.Layout.Words, b.Weights, b.Heap
}

type accumulator interface {
	// words is how many words the state takes; at tells where it lies.
	words() int
	at(off int)
	add(c *changes)
}

// place is where an accumulator's words lie in a group's.
type place struct{ off int }

func (p *place) at(off int) { p.off = off }

// cell is where a field lies in a row.
type cell struct {
	src, null int
	bit       uint
	kind      row.Type
}

func cellOf(l *row.Layout, f int) cell {
	return cell{src: l.Off[f], null: f >> 6, bit: uint(f) & 63, kind: l.Types[f]}
}

// countRows is count(*): one word.
type countRows struct{ place }

func (*countRows) words() int { return 1 }

func (a *countRows) add(c *changes) {
	acc, size, off := c.acc, c.size, a.off
	weights := c.weights[:len(c.slots)]
	for i, s := range c.slots {
		acc[int(s)*size+off] += uint64(weights[i])
	}
}

// countValues is count(x): one word.
type countValues struct {
	place
	cell
}

func (*countValues) words() int { return 1 }

func (a *countValues) add(c *changes) {
	at := a.null
	weights := c.weights[:len(c.slots)]
	for i, s := range c.slots {
		if c.words[at]>>a.bit&1 == 0 {
			c.acc[int(s)*c.size+a.off] += uint64(weights[i])
		}
		at += c.stride
	}
}

// countTrue counts what is true and what is false: two words.
type countTrue struct {
	place
	cell
}

func (*countTrue) words() int { return 2 }

func (a *countTrue) add(c *changes) {
	for i, s := range c.slots {
		r := c.words[i*c.stride:]
		if r[a.null]>>a.bit&1 == 0 {
			c.acc[int(s)*c.size+a.off+int(1-r[a.src]&1)] += uint64(c.weights[i])
		}
	}
}

// sumWords is the sum of integers of a word: count, low, high.
type sumWords struct {
	place
	cell
	unsigned bool
}

func (*sumWords) words() int { return 3 }

func (a *sumWords) add(c *changes) {
	words, stride := c.words, c.stride
	weights := c.weights[:len(c.slots)]
	acc, size, off := c.acc, c.size, a.off
	src, null, bit := a.src, a.null, a.bit
	signs := ^uint64(0)
	if a.unsigned {
		signs = 0
	}
	base := 0
	for i, s := range c.slots {
		r := words[base : base+stride : base+stride]
		base += stride
		if r[null]>>(bit&63)&1 != 0 {
			continue
		}
		v, w := r[src], weights[i]
		hi, lo := bits.Mul64(v, uint64(w))
		hi -= uint64(int64(v)>>63)&uint64(w)&signs + uint64(w>>63)&v
		at := int(s)*size + off
		p := acc[at : at+3 : at+3]
		p[0] += uint64(w)
		var carry uint64
		p[1], carry = bits.Add64(p[1], lo, 0)
		p[2], _ = bits.Add64(p[2], hi, carry)
	}
}

// sumWide is the sum of integers of two words: count, and three words, so that only the final value can be out of range.
type sumWide struct {
	place
	cell
}

func (*sumWide) words() int { return 4 }

func (a *sumWide) add(c *changes) {
	for i, s := range c.slots {
		r := c.words[i*c.stride:]
		if r[a.null]>>a.bit&1 != 0 {
			continue
		}
		lo, hi, w := r[a.src], r[a.src+1], c.weights[i]
		m1, m0 := bits.Mul64(lo, uint64(w)) // unsigned times signed
		m1 -= uint64(w>>63) & lo
		n1, n0 := bits.Mul64(hi, uint64(w)) // signed times signed
		n1 -= uint64(int64(hi)>>63)&uint64(w) + uint64(w>>63)&hi
		t1, carry := bits.Add64(m1, n0, 0)
		t2, _ := bits.Add64(uint64(int64(m1)>>63), n1, carry)
		p := c.acc[int(s)*c.size+a.off:][:4]
		p[0] += uint64(w)
		p[1], carry = bits.Add64(p[1], m0, 0)
		p[2], carry = bits.Add64(p[2], t1, carry)
		p[3], _ = bits.Add64(p[3], t2, carry)
	}
}

// countBits counts, for each bit of an integer, how often it is set: count, then a word a bit.
type countBits struct {
	place
	cell
	width int
}

func (a *countBits) words() int { return 1 + a.width }

func (a *countBits) add(c *changes) {
	for i, s := range c.slots {
		r := c.words[i*c.stride:]
		if r[a.null]>>a.bit&1 != 0 {
			continue
		}
		w := uint64(c.weights[i])
		p := c.acc[int(s)*c.size+a.off:][:1+a.width]
		p[0] += w
		for j := 0; j < a.width; j += 64 {
			v := r[a.src+j/64]
			if a.width < 64 {
				v &= 1<<a.width - 1
			}
			for ; v != 0; v &= v - 1 {
				p[1+j+bits.TrailingZeros64(v)] += w
			}
		}
	}
}

// sumFloats is the exact sum of floats (floatsum.go): count, then the sum.
type sumFloats struct {
	place
	cell
	squares bool         // also the sum of squares
	wide    *state.Table // of the groups whose sum is wide
}

// wideOf is a group's wide state; nil if it has none and it is not to be made.
func (a *sumFloats) wideOf(key []uint64, h *row.Heap, make bool) []uint64 {
	if make {
		ref, _ := a.wide.Upsert(key, h)
		return a.wide.Payload(ref)
	}
	if a.wide.Keys() == 0 {
		return nil
	}
	ref, ok := a.wide.Find(key, h)
	if !ok {
		return nil
	}
	return a.wide.Peek(ref)
}

// forget drops the state of a group that is gone.
func (a *sumFloats) forget(key []uint64, h *row.Heap) {
	if a.wide.Keys() > 0 {
		if ref, ok := a.wide.Find(key, h); ok {
			a.wide.Remove(ref)
		}
	}
}

func (a *sumFloats) words() int {
	if a.squares {
		return 1 + 2*floatWords
	}
	return 1 + floatWords
}

func (a *sumFloats) add(c *changes) {
	for i, s := range c.slots {
		r := c.words[i*c.stride:]
		if w := c.weights[i]; w != 0 && r[a.null]>>a.bit&1 == 0 {
			p := c.acc[int(s)*c.size+a.off:][:a.words()]
			p[0] += uint64(w)
			x := numberOf(a.kind, r[a.src])
			if !floatAdd(p[1:1+floatWords], x, w) {
				floatAddWide(p[1:1+floatWords], a.wideOf(c.keys.Row(int(s)), c.keys.Heap, true), x, w)
			}
			if a.squares && !squareAdd(p[1+floatWords:], x, w) {
				squareAddWide(p[1+floatWords:], a.wideOf(c.keys.Row(int(s)), c.keys.Heap, true), x, w)
			}
		}
	}
}
