package duck

import (
	"unsafe"

	ddb "github.com/duckdb/duckdb-go-bindings"
)

// vector is a flat DuckDB vector with the parts of its type that reading needs.
// Its memory belongs to the chunk it came from.
type vector struct {
	raw      ddb.Vector
	logical  ddb.LogicalType
	id       ddb.Type
	data     unsafe.Pointer
	validity unsafe.Pointer // *uint64; nil when no value is NULL
	children []*vector      // list and array: the elements; struct and union: the fields; map: one struct
}

func newVector(raw ddb.Vector) *vector {
	v := &vector{raw: raw, logical: ddb.VectorGetColumnType(raw)}
	v.id = ddb.GetTypeId(v.logical)
	v.data = ddb.VectorGetData(raw)
	v.validity = ddb.VectorGetValidity(raw)
	switch v.id {
	case ddb.TypeList, ddb.TypeMap:
		v.children = []*vector{newVector(ddb.ListVectorGetChild(raw))}
	case ddb.TypeArray:
		v.children = []*vector{newVector(ddb.ArrayVectorGetChild(raw))}
	case ddb.TypeStruct:
		for i := range ddb.StructTypeChildCount(v.logical) {
			v.children = append(v.children, newVector(ddb.StructVectorGetChild(raw, i)))
		}
	case ddb.TypeUnion: // a struct of the tag and the members
		for i := range ddb.UnionTypeMemberCount(v.logical) + 1 {
			v.children = append(v.children, newVector(ddb.StructVectorGetChild(raw, i)))
		}
	}
	return v
}

func (v *vector) destroy() {
	for _, c := range v.children {
		c.destroy()
	}
	ddb.DestroyLogicalType(&v.logical)
}

func (v *vector) valid(i int) bool {
	if v.validity == nil {
		return true
	}
	word := *(*uint64)(unsafe.Add(v.validity, i/64*8))
	return word>>(uint(i)%64)&1 == 1
}

// at reads the i-th fixed-width value.
func at[T any](v *vector, i int) T {
	var t T
	return *(*T)(unsafe.Add(v.data, i*int(unsafe.Sizeof(t))))
}

// stringT is DuckDB's 16-byte string: up to 12 bytes in place, longer ones by pointer.
type stringT struct {
	length uint32
	prefix [4]byte
	rest   [8]byte
}

// bytesAt gives the i-th string without copying it.
func (v *vector) bytesAt(i int) []byte {
	s := (*stringT)(unsafe.Add(v.data, i*16))
	if s.length <= 12 {
		return unsafe.Slice(&s.prefix[0], int(s.length))
	}
	return unsafe.Slice(*(**byte)(unsafe.Pointer(&s.rest)), int(s.length))
}

func (v *vector) stringAt(i int) string { return string(v.bytesAt(i)) }

// listEntry is where one list lies in its child vector.
type listEntry struct{ offset, length uint64 }
