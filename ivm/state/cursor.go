package state

import (
	"unsafe"

	"github.com/vegadb/vega-flight/ivm/row"
)

// Cursor walks the entries of a key in order. The zero Cursor is ready; it is
// reused by the next Scan, Seek or SeekAt, and dies with the next change of the table.
type Cursor struct {
	Rows    []uint64 // of the block that NextBlock went to: N rows
	Weights []int64  // theirs; nil if all are 1
	N       int

	t     *Table
	r     []uint64
	i     int // entry in the block; N is behind it
	base  int // place of the block's first entry
	total int
	deep  int
	path  [12]step
	one   int64
}

type step struct {
	in []uint64
	i  int
}

// Scan puts c before the first entry.
func (t *Table) Scan(c *Cursor, ref Ref) { t.SeekAt(c, ref, 0) }

// SeekAt puts c before entry i, 0 <= i <= Len.
func (t *Table) SeekAt(c *Cursor, ref Ref, i int) {
	height := c.open(t, ref)
	if height <= 1 {
		c.i = i - 1
		return
	}
	c.base = 0
	in := t.node(uint32(c.r[t.meta+metaArea]))
	for c.deep = 0; ; c.deep++ {
		k := 0
		for ; k+1 < int(in[0]); k++ {
			n := int(uint32(slotOf(in, k)[slotCount]))
			if c.base+n > i {
				break
			}
			c.base += n
		}
		c.path[c.deep] = step{in, k}
		s := slotOf(in, k)
		if height--; height == 1 {
			c.leaf(s)
			break
		}
		in = t.node(uint32(s[slotRef]))
	}
	c.i = i - c.base - 1
}

// Seek puts c before the first entry that is not less than e.
func (t *Table) Seek(c *Cursor, ref Ref, e []uint64, h *row.Heap) {
	height := c.open(t, ref)
	if height > 1 {
		in := t.node(uint32(c.r[t.meta+metaArea]))
		for c.deep = 0; ; c.deep++ {
			k := t.child(in, height, e, h)
			for j := range k {
				c.base += int(uint32(slotOf(in, j)[slotCount]))
			}
			c.path[c.deep] = step{in, k}
			s := slotOf(in, k)
			if height--; height == 1 {
				c.leaf(s)
				break
			}
			in = t.node(uint32(s[slotRef]))
		}
	}
	pos, _ := t.search(c.Rows, c.N, e, h, false)
	c.i = pos - 1
}

// open readies c for a key; a key without a tree has its only block then.
func (c *Cursor) open(t *Table, ref Ref) (height int) {
	c.t, c.r = t, t.here(ref)
	c.deep, c.base, c.i = -1, 0, -1
	m := c.r[t.meta:]
	n := int(m[metaCount] & countMask)
	c.total = n
	height = int(m[metaCount] >> heightShift)
	if height > 1 {
		return height
	}
	c.N, c.Weights = n, nil
	if height == 0 {
		c.Rows = m[metaArea : metaArea+t.ew*n]
		if c.one = int64(m[metaTotal]); c.one != 1 && n > 0 {
			c.Weights = unsafe.Slice(&c.one, 1)
		}
		return height
	}
	c.show(m[metaArea])
	return height
}

func (c *Cursor) leaf(s []uint64) {
	ref := c.t.resident(c.r, s)
	c.N = int(uint32(s[slotCount]))
	c.show(ref)
}

func (c *Cursor) show(ref uint64) {
	c.Rows = c.t.block(ref)[:c.N*c.t.ew]
	c.Weights = nil
	if ws := c.t.weights(ref); ws != nil {
		c.Weights = unsafe.Slice((*int64)(unsafe.Pointer(unsafe.SliceData(ws))), c.N)
	}
}

// Next goes to the next entry.
func (c *Cursor) Next() bool {
	if c.i++; c.i < c.N {
		return true
	}
	if c.deep >= 0 && c.over(1) {
		c.i = 0
		return c.N > 0
	}
	c.i = c.N
	return false
}

// Prev goes to the entry before.
func (c *Cursor) Prev() bool {
	if c.i > 0 {
		c.i--
		return true
	}
	if c.deep >= 0 && c.over(-1) {
		c.i = c.N - 1
		return true
	}
	c.i = -1
	return false
}

// NextBlock goes to the next entry and, from there, to the end of its block:
// Rows, Weights and N are what is left of it.
func (c *Cursor) NextBlock() bool {
	if !c.Next() {
		c.N = 0
		return false
	}
	if c.i > 0 {
		c.Rows = c.Rows[c.i*c.t.ew:]
		if c.Weights != nil {
			c.Weights = c.Weights[c.i:]
		}
		c.base += c.i
		c.N -= c.i
	}
	c.i = c.N - 1
	return true
}

// over goes to the leaf before or after.
func (c *Cursor) over(dir int) bool {
	d := c.deep
	for ; ; d-- {
		if d < 0 {
			return false
		}
		if k := c.path[d].i + dir; k >= 0 && k < int(c.path[d].in[0]) {
			break
		}
	}
	if dir > 0 {
		c.base += c.N
	}
	c.path[d].i += dir
	for d < c.deep {
		in := c.t.node(uint32(slotOf(c.path[d].in, c.path[d].i)[slotRef]))
		d++
		k := 0
		if dir < 0 {
			k = int(in[0]) - 1
		}
		c.path[d] = step{in, k}
	}
	c.leaf(slotOf(c.path[d].in, c.path[d].i))
	if dir < 0 {
		c.base -= c.N
	}
	return true
}

// Row is the entry that c is at.
func (c *Cursor) Row() []uint64 {
	o := c.i * c.t.ew
	return c.Rows[o : o+c.t.ew : o+c.t.ew]
}

// Weight is its weight.
func (c *Cursor) Weight() int64 {
	if c.Weights == nil {
		return 1
	}
	return c.Weights[c.i]
}

// Index is its place among the key's distinct entries.
func (c *Cursor) Index() int { return c.base + c.i }

// First is the least entry of a key and its weight; nil if there is none.
func (t *Table) First(ref Ref) ([]uint64, int64) { return t.At(ref, 0) }

// Last is the greatest entry of a key and its weight; nil if there is none.
func (t *Table) Last(ref Ref) ([]uint64, int64) { return t.At(ref, t.Len(ref)-1) }

// At is entry i of a key and its weight; nil if there is none.
func (t *Table) At(ref Ref, i int) ([]uint64, int64) {
	r := t.here(ref)
	m := r[t.meta:]
	n := int(m[metaCount] & countMask)
	if uint(i) >= uint(n) {
		return nil, 0
	}
	height := int(m[metaCount] >> heightShift)
	if height == 0 {
		return m[metaArea : metaArea+t.ew : metaArea+t.ew], int64(m[metaTotal])
	}
	leaf := m[metaArea]
	for ; height > 1; height-- {
		in := t.node(uint32(leaf))
		var s []uint64
		if k := int(in[0]); i == n-1 { // the last is asked for most, after the first
			s = slotOf(in, k-1)
			n = int(uint32(s[slotCount]))
			i = n - 1
		} else {
			for k = 0; ; k++ {
				s = slotOf(in, k)
				if n = int(uint32(s[slotCount])); i < n {
					break
				}
				i -= n
			}
		}
		if leaf = s[slotRef]; height == 2 {
			leaf = t.resident(r, s)
		}
	}
	o := i * t.ew
	e := t.block(leaf)[o : o+t.ew : o+t.ew]
	if ws := t.weights(leaf); ws != nil {
		return e, int64(ws[i])
	}
	return e, 1
}

// Rank is how many of a key's entries are less than e.
func (t *Table) Rank(ref Ref, e []uint64, h *row.Heap) int {
	r := t.here(ref)
	m := r[t.meta:]
	leaf, n, rank := m[metaArea], int(m[metaCount]&countMask), 0
	height := int(m[metaCount] >> heightShift)
	if height == 0 {
		if n == 1 && t.cmp(m[metaArea:], e, h) < 0 {
			return 1
		}
		return 0
	}
	for ; height > 1; height-- {
		in := t.node(uint32(leaf))
		k := t.child(in, height, e, h)
		for j := range k {
			rank += int(uint32(slotOf(in, j)[slotCount]))
		}
		s := slotOf(in, k)
		n = int(uint32(s[slotCount]))
		if leaf = s[slotRef]; height == 2 {
			leaf = t.resident(r, s)
		}
	}
	pos, _ := t.search(t.block(leaf), n, e, h, false)
	return rank + pos
}
