package duck

import (
	"fmt"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	ddb "github.com/duckdb/duckdb-go-bindings"
)

// bytesColumn collects texts and blobs.
type bytesColumn struct {
	typ     arrow.DataType
	bits    bitmap
	offsets []int32
	data    []byte

	rowsHint, dataHint int
}

func (c *bytesColumn) reserve(n int) {
	if c.offsets == nil {
		c.offsets = append(make([]int32, 0, max(n, c.rowsHint)+1), 0)
		c.data = make([]byte, 0, c.dataHint)
	}
}

func (c *bytesColumn) add(v *vector, from, n int) error {
	c.reserve(n)
	data := c.data
	for i, rows := 0, slice[stringT](v, from, n); i < len(rows); i++ {
		if v.validity == nil || v.valid(from+i) {
			if rows[i].length > longestValue {
				return tooLong(rows[i].length)
			}
			data = append(data, rows[i].bytes()...)
		}
		c.offsets = append(c.offsets, int32(len(data)))
	}
	c.data = data
	c.bits.add(v, from, n)
	return c.check()
}

// longestValue is the longest text or blob that is sent: what carries a batch bears little more, and each step on the way has a copy.
const longestValue = 192 << 20

func tooLong(n uint32) error {
	return newError(fmt.Sprintf("Out of Range Error: a value of %d bytes cannot be sent; results carry %d MiB, so cut it, for example with substring", n, longestValue>>20), "")
}

func (c *bytesColumn) check() error {
	if len(c.data) > math.MaxInt32 {
		return newError("Out of Range Error: a value of 2 GiB or more cannot be sent", "")
	}
	return nil
}

func (c *bytesColumn) size() int { return len(c.data) + 4*len(c.offsets) }

func (c *bytesColumn) take() arrow.ArrayData {
	c.reserve(0) // an empty array has one offset too
	n := len(c.offsets) - 1
	valid, nulls := c.bits.take(n)
	d := array.NewData(c.typ, n, []*memory.Buffer{valid, buffer(c.offsets), memory.NewBufferBytes(c.data)}, nil, nulls, 0)
	c.rowsHint, c.dataHint = max(c.rowsHint, n), min(max(c.dataHint, len(c.data)+len(c.data)/8), 2*batchBytes)
	c.offsets, c.data = nil, nil
	return d
}

// textColumn sends values as DuckDB's text: UUID, ENUM, BIT, BIGNUM, TIMETZ.
type textColumn struct{ bytesColumn }

func (c *textColumn) add(v *vector, from, n int) error {
	c.reserve(n)
	for i := from; i < from+n; i++ {
		if v.valid(i) {
			if v.typ.id == ddb.TypeBit || v.typ.id == ddb.TypeBigNum {
				// Their text is up to eight times as long.
				if long := uint32(len(v.bytesAt(i))); long > longestValue/8 {
					return tooLong(long)
				}
			}
			c.data = append(c.data, v.text(i)...)
		}
		c.offsets = append(c.offsets, int32(len(c.data)))
	}
	c.bits.add(v, from, n)
	return c.check()
}
