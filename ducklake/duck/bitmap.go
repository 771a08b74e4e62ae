package duck

import (
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// bitmap collects validity bits. It is empty until the first NULL is seen.
type bitmap struct {
	bits  []byte
	rows  int
	nulls int
}

func (b *bitmap) add(v *vector, from, n int) {
	if v.validity == nil {
		b.addValid(n)
		return
	}
	words := (from + n + 63) / 64 // DuckDB's masks are whole words
	src := unsafe.Slice((*byte)(v.validity), words*8)
	set := bitutil.CountSetBits(src, from, n)
	if set == n {
		b.addValid(n)
		return
	}
	b.grow(n)
	bitutil.CopyBitmap(src, from, n, b.bits, b.rows)
	b.rows += n
	b.nulls += n - set
}

func (b *bitmap) addValid(n int) {
	if b.bits != nil {
		b.grow(n)
		bitutil.SetBitsTo(b.bits, int64(b.rows), int64(n), true)
	}
	b.rows += n
}

// grow makes room for n more bits, and marks the rows so far valid when the bits begin.
func (b *bitmap) grow(n int) {
	began := b.bits != nil
	need := int(bitutil.BytesForBits(int64(b.rows + n)))
	if need > len(b.bits) {
		b.bits = append(b.bits, make([]byte, need-len(b.bits))...)
	}
	if !began {
		bitutil.SetBitsTo(b.bits, 0, int64(b.rows), true)
	}
}

// take gives the bits of n rows, nil when none is NULL, and starts anew.
func (b *bitmap) take(n int) (*memory.Buffer, int) {
	bits, nulls := b.bits, b.nulls
	*b = bitmap{}
	if nulls == 0 {
		return nil, 0
	}
	return memory.NewBufferBytes(bits[:bitutil.BytesForBits(int64(n))]), nulls
}

type nullColumn struct{ rows int }

func (c *nullColumn) add(_ *vector, _, n int) error { c.rows += n; return nil }
func (c *nullColumn) size() int                     { return 0 }

func (c *nullColumn) take() arrow.ArrayData {
	d := array.NewData(arrow.Null, c.rows, []*memory.Buffer{nil}, nil, c.rows, 0)
	c.rows = 0
	return d
}

// boolColumn packs DuckDB's byte a value into bits.
type boolColumn struct {
	bits   bitmap
	values []byte
	rows   int
}

func (c *boolColumn) add(v *vector, from, n int) error {
	if need := int(bitutil.BytesForBits(int64(c.rows + n))); need > len(c.values) {
		c.values = append(c.values, make([]byte, need-len(c.values))...)
	}
	for i, x := range slice[uint8](v, from, n) {
		if x != 0 && v.valid(from+i) {
			bitutil.SetBit(c.values, c.rows+i)
		}
	}
	c.rows += n
	c.bits.add(v, from, n)
	return nil
}

func (c *boolColumn) size() int { return len(c.values) }

func (c *boolColumn) take() arrow.ArrayData {
	valid, nulls := c.bits.take(c.rows)
	d := array.NewData(arrow.FixedWidthTypes.Boolean, c.rows, []*memory.Buffer{valid, memory.NewBufferBytes(c.values)}, nil, nulls, 0)
	c.rows, c.values = 0, nil
	return d
}
