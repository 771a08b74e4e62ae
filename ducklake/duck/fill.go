package duck

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	ddb "github.com/duckdb/duckdb-go-bindings"
)

// A filler writes rows [from, from+n) of an Arrow array into a DuckDB vector
// from position at on. Values are copied by Go code: DuckDB's own conversion trusts
// the buffers' contents, misreads sliced nested arrays, and ties the memory of
// all columns to the first. What is out of range here panics, and becomes an error.
type filler interface {
	fill(dst *target, at int, arr arrow.Array, from, n int) error
}

// target is a DuckDB vector that is written.
type target struct {
	raw      ddb.Vector
	kind     ddb.Type
	data     unsafe.Pointer
	validity unsafe.Pointer // nil until the first NULL
	children []*target
	width    int // of an ARRAY
	elements int // written into the child of a LIST or MAP
}

// newTarget opens a vector of the type for writing.
func newTarget(raw ddb.Vector, t *sqlType) *target {
	dst := &target{raw: raw, kind: t.id, data: ddb.VectorGetData(raw), width: t.size}
	switch t.id {
	case ddb.TypeArray:
		dst.children = []*target{newTarget(ddb.ArrayVectorGetChild(raw), t.children[0])}
	case ddb.TypeStruct:
		for i, c := range t.children {
			dst.children = append(dst.children, newTarget(ddb.StructVectorGetChild(raw, ddb.IdxT(i)), c))
		}
	case ddb.TypeUnion:
		dst.children = append(dst.children, newTarget(ddb.StructVectorGetChild(raw, 0), unionTag))
		for i, c := range t.children {
			dst.children = append(dst.children, newTarget(ddb.StructVectorGetChild(raw, ddb.IdxT(1+i)), c))
		}
	case ddb.TypeList:
		dst.children = []*target{newTarget(ddb.ListVectorGetChild(raw), t.children[0])}
	case ddb.TypeMap:
		entries := ddb.ListVectorGetChild(raw)
		for i, c := range t.children {
			dst.children = append(dst.children, newTarget(ddb.StructVectorGetChild(entries, ddb.IdxT(i)), c))
		}
	}
	return dst
}

// reload reads the addresses again after a list has grown.
func (dst *target) reload(raw ddb.Vector) {
	dst.raw, dst.data = raw, ddb.VectorGetData(raw)
	if dst.validity != nil {
		dst.validity = ddb.VectorGetValidity(raw)
	}
	switch dst.kind {
	case ddb.TypeArray:
		dst.children[0].reload(ddb.ArrayVectorGetChild(raw))
	case ddb.TypeStruct, ddb.TypeUnion:
		for i, c := range dst.children {
			c.reload(ddb.StructVectorGetChild(raw, ddb.IdxT(i)))
		}
	case ddb.TypeList:
		dst.children[0].reload(ddb.ListVectorGetChild(raw))
	case ddb.TypeMap:
		entries := ddb.ListVectorGetChild(raw)
		for i, c := range dst.children {
			c.reload(ddb.StructVectorGetChild(entries, ddb.IdxT(i)))
		}
	}
}

// setNull makes a row NULL, and in structs all its fields, as DuckDB does.
func (dst *target) setNull(i int) {
	if dst.validity == nil {
		ddb.VectorEnsureValidityWritable(dst.raw)
		dst.validity = ddb.VectorGetValidity(dst.raw)
	}
	*(*uint64)(unsafe.Add(dst.validity, i/64*8)) &^= 1 << (uint(i) % 64)
	switch dst.kind {
	case ddb.TypeStruct, ddb.TypeUnion:
		for _, c := range dst.children {
			c.setNull(i)
		}
	case ddb.TypeArray:
		for j := range dst.width {
			dst.children[0].setNull(i*dst.width + j)
		}
	case ddb.TypeList, ddb.TypeMap:
		*cell[listEntry](dst, i) = listEntry{}
	}
}

// setNulls makes the rows NULL that are NULL in arr.
func (dst *target) setNulls(at int, arr arrow.Array, from, n int) {
	if arr.NullN() == 0 {
		return
	}
	for i := range n {
		if arr.IsNull(from + i) {
			dst.setNull(at + i)
		}
	}
}

// cells are n of the vector's values from the i-th on.
func cells[T any](dst *target, i, n int) []T {
	return unsafe.Slice(cell[T](dst, i), n)
}

func cell[T any](dst *target, i int) *T {
	var t T
	return (*T)(unsafe.Add(dst.data, i*int(unsafe.Sizeof(t))))
}

// setText writes a text.
func (dst *target) setText(i int, s string) {
	dst.setBytes(i, unsafe.Slice(unsafe.StringData(s), len(s)))
}

// setBytes writes a text or blob.
func (dst *target) setBytes(i int, b []byte) {
	if len(b) > inlined {
		ddb.UnsafeVectorAssignStringElementLen(dst.raw, ddb.IdxT(i), b)
		return
	}
	s := cell[[16]byte](dst, i)
	*s = [16]byte{byte(len(b))}
	copy(s[4:], b)
}

// maxElements bounds the elements of the lists of one vector. DuckDB's answer to what it cannot allocate is an exception, which nothing
// between here and the end of the process catches.
const maxElements = 1 << 27

// extend makes room for n more elements of a list and gives the position of the first.
func (dst *target) extend(n int) (int, error) {
	first := dst.elements
	if n < 0 || n > maxElements-first {
		return 0, fmt.Errorf("the lists of %d rows have more than %d elements", ddb.VectorSize(), maxElements)
	}
	dst.elements += n
	size := ddb.IdxT(dst.elements)
	if ddb.ListVectorReserve(dst.raw, size) == ddb.StateError || ddb.ListVectorSetSize(dst.raw, size) == ddb.StateError {
		return 0, errors.New("DuckDB has no room for the elements of a list")
	}
	dst.reload(dst.raw)
	return first, nil
}

// copied fills values whose layout is the same on both sides.
type copied[T any] struct{}

func (copied[T]) fill(dst *target, at int, arr arrow.Array, from, n int) error {
	copy(cells[T](dst, at, n), arrowValues[T](arr, from, n))
	dst.setNulls(at, arr, from, n)
	return nil
}

// arrowValues are n fixed-width values of an array; too short a buffer panics.
func arrowValues[T any](arr arrow.Array, from, n int) []T {
	if n == 0 {
		return nil
	}
	var t T
	size := int(unsafe.Sizeof(t))
	from += arr.Data().Offset()
	b := arr.Data().Buffers()[1].Bytes()[from*size : (from+n)*size]
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), n)
}

// converted fills values one by one.
type converted[S, T any] struct {
	convert func(S) (T, error)
}

func (c converted[S, T]) fill(dst *target, at int, arr arrow.Array, from, n int) error {
	out := cells[T](dst, at, n)
	for i, s := range arrowValues[S](arr, from, n) {
		var err error
		if out[i], err = c.convert(s); err != nil && arr.IsValid(from+i) {
			return err
		}
	}
	dst.setNulls(at, arr, from, n)
	return nil
}

type boolFiller struct{}

func (boolFiller) fill(dst *target, at int, arr arrow.Array, from, n int) error {
	out, bits := cells[bool](dst, at, n), arr.(*array.Boolean)
	for i := range out {
		out[i] = bits.Value(from + i)
	}
	dst.setNulls(at, arr, from, n)
	return nil
}

type nullFiller struct{}

func (nullFiller) fill(dst *target, at int, _ arrow.Array, _, n int) error {
	for i := range n {
		dst.setNull(at + i)
	}
	return nil
}
