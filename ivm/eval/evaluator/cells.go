package evaluator

import (
	"fmt"
	"math/bits"
	"unsafe"

	"github.com/vegadb/vega-flight/ducklake/duck"
	"github.com/vegadb/vega-flight/ivm/eval"
	"github.com/vegadb/vega-flight/ivm/row"
)

// A writer copies one field of rows into a vector; what is NULL may be written as anything. A reader copies a vector into one
// field, whose words are zero and stay so where the vector has NULL. starts are the rows' first words.
type writer interface {
	write(c *duck.CellWriter, in *eval.Rows, starts []int, off int) error
}

type reader interface {
	read(c *duck.Cells, out *eval.Rows, starts []int, field int)
}

// cells are n values of a vector.
func cells[T any](data unsafe.Pointer, n int) []T { return unsafe.Slice((*T)(data), n) }

type number interface {
	~int8 | ~int16 | ~int32 | ~int64 | ~uint8 | ~uint16 | ~uint32 | ~uint64
}

// fixed is a value of one word, of which DuckDB has T.
type fixed[T number] struct{}

func (fixed[T]) write(c *duck.CellWriter, in *eval.Rows, starts []int, off int) error {
	dst, words := cells[T](c.Data(), len(starts)), in.Words
	for i, at := range starts {
		dst[i] = T(words[at+off])
	}
	return nil
}

func (fixed[T]) read(c *duck.Cells, out *eval.Rows, starts []int, field int) {
	off := out.Layout.Off[field]
	src, words := cells[T](c.Data(), len(starts)), out.Words
	if c.Validity() == nil {
		for i, at := range starts {
			words[at+off] = uint64(src[i])
		}
		return
	}
	valid := cells[uint64](c.Validity(), (len(starts)+63)/64)
	for i, at := range starts {
		if valid[i>>6]>>(uint(i)&63)&1 != 0 {
			words[at+off] = uint64(src[i])
		}
	}
}

// pair is a value of two words, low and high; flip is what differs in the high one.
type pair struct{ flip uint64 }

func (p pair) write(c *duck.CellWriter, in *eval.Rows, starts []int, off int) error {
	dst, words := cells[[2]uint64](c.Data(), len(starts)), in.Words
	for i, at := range starts {
		dst[i] = [2]uint64{words[at+off], words[at+off+1] ^ p.flip}
	}
	return nil
}

func (p pair) read(c *duck.Cells, out *eval.Rows, starts []int, field int) {
	off := out.Layout.Off[field]
	src, words := cells[[2]uint64](c.Data(), len(starts)), out.Words
	for i, at := range starts {
		if c.Valid(i) {
			words[at+off], words[at+off+1] = src[i][0], src[i][1]^p.flip
		}
	}
}

// interval is DuckDB's months, days and microseconds.
type interval struct{}

func (interval) write(c *duck.CellWriter, in *eval.Rows, starts []int, off int) error {
	dst, words := cells[[2]uint64](c.Data(), len(starts)), in.Words
	for i, at := range starts {
		dst[i] = [2]uint64{bits.RotateLeft64(words[at+off], 32), words[at+off+1]}
	}
	return nil
}

func (interval) read(c *duck.Cells, out *eval.Rows, starts []int, field int) {
	off := out.Layout.Off[field]
	src, words := cells[[2]uint64](c.Data(), len(starts)), out.Words
	for i, at := range starts {
		if c.Valid(i) {
			words[at+off], words[at+off+1] = bits.RotateLeft64(src[i][0], 32), src[i][1]
		}
	}
}

// text is a VARCHAR, BLOB or their like. DuckDB's short strings are our words but for the order of their bytes.
type text struct{}

func (text) write(c *duck.CellWriter, in *eval.Rows, starts []int, off int) error {
	dst, words := cells[[2]uint64](c.Data(), len(starts)), in.Words
	for i, at := range starts {
		w0, w1 := words[at+off], words[at+off+1]
		if n := uint32(w0); n > row.Inline {
			c.SetBytes(i, in.Heap.Get(w1, int(n)))
		} else {
			dst[i] = [2]uint64{w0&0xffffffff | uint64(bits.ReverseBytes32(uint32(w0>>32)))<<32, bits.ReverseBytes64(w1)}
		}
	}
	return nil
}

func (text) read(c *duck.Cells, out *eval.Rows, starts []int, field int) {
	off := out.Layout.Off[field]
	src, words := cells[[2]uint64](c.Data(), len(starts)), out.Words
	for i, at := range starts {
		if !c.Valid(i) {
			continue
		}
		w0, w1 := src[i][0], src[i][1]
		words[at+off] = w0&0xffffffff | uint64(bits.ReverseBytes32(uint32(w0>>32)))<<32
		if uint32(w0) > row.Inline {
			words[at+off+1] = out.Heap.Put(c.Bytes(i))
		} else {
			words[at+off+1] = bits.ReverseBytes64(w1)
		}
	}
}

type cell interface {
	writer
	reader
}

func cellOf(t row.Type) (cell, error) {
	switch t.Kind {
	case row.Bool, row.Uint8:
		return fixed[uint8]{}, nil
	case row.Int8:
		return fixed[int8]{}, nil
	case row.Int16:
		return fixed[int16]{}, nil
	case row.Uint16:
		return fixed[uint16]{}, nil
	case row.Int32, row.Date:
		return fixed[int32]{}, nil
	case row.Uint32, row.Float:
		return fixed[uint32]{}, nil
	case row.Int64, row.Uint64, row.Double, row.Time, row.TimeNS, row.TimeTZ,
		row.Timestamp, row.TimestampS, row.TimestampMS, row.TimestampNS, row.TimestampTZ:
		return fixed[int64]{}, nil
	case row.Decimal:
		switch {
		case t.Width <= 4:
			return fixed[int16]{}, nil
		case t.Width <= 9:
			return fixed[int32]{}, nil
		case t.Width <= 18:
			return fixed[int64]{}, nil
		}
		return pair{}, nil
	case row.Int128, row.Uint128:
		return pair{}, nil
	case row.UUID:
		return pair{flip: 1 << 63}, nil
	case row.Interval:
		return interval{}, nil
	case row.Varchar, row.JSON, row.Blob, row.Geometry:
		return text{}, nil
	}
	return nil, fmt.Errorf("evaluator: values of the type %s cannot be handed over", t)
}

func newWriter(t row.Type) (writer, error) {
	if t.Nested() {
		return newNested(t)
	}
	return cellOf(t)
}

func newReader(t row.Type) (reader, error) {
	if t.Nested() {
		return newNested(t)
	}
	return cellOf(t)
}
