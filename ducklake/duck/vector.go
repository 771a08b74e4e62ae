package duck

import (
	"unsafe"

	ddb "github.com/duckdb/duckdb-go-bindings"
)

// vector is a flat DuckDB vector. Its memory belongs to the chunk it came from.
type vector struct {
	typ      *sqlType
	data     unsafe.Pointer
	validity unsafe.Pointer // *uint64; nil when no value is NULL
	children []vector       // list, array: the elements; map: keys and values; struct: fields; union: tags, then members
}

// load points v at a chunk's vector.
func (v *vector) load(raw ddb.Vector, t *sqlType) {
	v.typ = t
	v.data = ddb.VectorGetData(raw)
	v.validity = ddb.VectorGetValidity(raw)
	switch t.id {
	case ddb.TypeList:
		v.need(1)[0].load(ddb.ListVectorGetChild(raw), t.children[0])
	case ddb.TypeArray:
		v.need(1)[0].load(ddb.ArrayVectorGetChild(raw), t.children[0])
	case ddb.TypeMap:
		entries := ddb.ListVectorGetChild(raw)
		for i := range v.need(2) {
			v.children[i].load(ddb.StructVectorGetChild(entries, ddb.IdxT(i)), t.children[i])
		}
	case ddb.TypeStruct:
		for i := range v.need(len(t.children)) {
			v.children[i].load(ddb.StructVectorGetChild(raw, ddb.IdxT(i)), t.children[i])
		}
	case ddb.TypeUnion:
		v.need(1 + len(t.children))[0].load(ddb.StructVectorGetChild(raw, 0), unionTag)
		for i, m := range t.children {
			v.children[1+i].load(ddb.StructVectorGetChild(raw, ddb.IdxT(1+i)), m)
		}
	}
}

var unionTag = &sqlType{id: ddb.TypeUTinyInt}

func (v *vector) need(n int) []vector {
	if len(v.children) != n {
		v.children = make([]vector, n)
	}
	return v.children
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

// slice is n fixed-width values from the i-th on.
func slice[T any](v *vector, i, n int) []T {
	if n == 0 {
		return nil
	}
	var t T
	return unsafe.Slice((*T)(unsafe.Add(v.data, i*int(unsafe.Sizeof(t)))), n)
}

// stringT is DuckDB's 16-byte string: up to 12 bytes in place, longer ones by pointer.
type stringT struct {
	length uint32
	prefix [4]byte
	rest   [8]byte
}

const inlined = 12

// bytes is the string without copying it.
func (s *stringT) bytes() []byte {
	if s.length <= inlined {
		return unsafe.Slice(&s.prefix[0], int(s.length))
	}
	return unsafe.Slice(*(**byte)(unsafe.Pointer(&s.rest)), int(s.length))
}

// bytesAt gives the i-th string without copying it.
func (v *vector) bytesAt(i int) []byte {
	return (*stringT)(unsafe.Add(v.data, i*16)).bytes()
}

func (v *vector) stringAt(i int) string { return string(v.bytesAt(i)) }

// listEntry is where one list lies in its child vector.
type listEntry struct{ offset, length uint64 }
