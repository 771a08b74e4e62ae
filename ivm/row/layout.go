package row

import (
	"fmt"
	"slices"
)

// Layout says where the fields of a row lie.
type Layout struct {
	Types []Type
	Words int     // of a row
	Nulls int     // leading words of null bits
	Off   []int   // first word of each field
	Vars  []int   // the fields that are Var
	wide  []uint8 // words of each field
}

// NewLayout lays the fields out in order.
func NewLayout(types ...Type) *Layout {
	l := &Layout{Types: types, Nulls: (len(types) + 63) / 64, Off: make([]int, len(types)), wide: make([]uint8, len(types))}
	l.Words = l.Nulls
	for i, t := range types {
		l.Off[i], l.wide[i] = l.Words, uint8(t.Words())
		l.Words += t.Words()
		if t.Var() {
			l.Vars = append(l.Vars, i)
		}
	}
	return l
}

// ParseLayout is NewLayout over the types' SQL names; it panics on a wrong one.
func ParseLayout(types ...string) *Layout { return NewLayout(MustTypes(types...)...) }

// Same says that rows of both are laid out alike and mean the same.
func (l *Layout) Same(m *Layout) bool {
	if l == m {
		return true
	}
	if len(l.Types) != len(m.Types) {
		return false
	}
	for i := range l.Types {
		if !l.Types[i].Equal(m.Types[i]) {
			return false
		}
	}
	return true
}

// Alike says that a row of one is a row of the other: the same types, but for what text is compared by.
func (l *Layout) Alike(m *Layout) bool { return slices.EqualFunc(l.Types, m.Types, Type.Alike) }

// Fixed says that no field is Var: rows are their words and no heap is needed.
func (l *Layout) Fixed() bool { return len(l.Vars) == 0 }

// IsNull says that field i is NULL.
func (l *Layout) IsNull(r []uint64, i int) bool { return r[i>>6]>>(uint(i)&63)&1 != 0 }

// SetNull makes field i NULL. A Var value that was there is not freed.
func (l *Layout) SetNull(r []uint64, i int) {
	r[i>>6] |= 1 << (uint(i) & 63)
	r[l.Off[i]] = 0
	if l.wide[i] == 2 {
		r[l.Off[i]+1] = 0
	}
}

// Set makes a field of one word v.
func (l *Layout) Set(r []uint64, i int, v uint64) {
	r[i>>6] &^= 1 << (uint(i) & 63)
	r[l.Off[i]] = v
}

// Set2 makes a field of two words lo, hi.
func (l *Layout) Set2(r []uint64, i int, lo, hi uint64) {
	r[i>>6] &^= 1 << (uint(i) & 63)
	r[l.Off[i]], r[l.Off[i]+1] = lo, hi
}

// SetBytes makes a Var field b, whose tail goes to h.
func (l *Layout) SetBytes(r []uint64, i int, b []byte, h *Heap) {
	r[i>>6] &^= 1 << (uint(i) & 63)
	r[l.Off[i]], r[l.Off[i]+1] = PutVar(b, h)
}

// Bytes are the bytes of a Var field. Those of a short value are written to
// buf[:0]; a long value's are the heap's own.
func (l *Layout) Bytes(r []uint64, i int, h *Heap, buf []byte) []byte {
	return VarBytes(r[l.Off[i]], r[l.Off[i]+1], h, buf)
}

// Equal compares two rows; the words of a long value are its bytes'.
func (l *Layout) Equal(a []uint64, ha *Heap, b []uint64, hb *Heap) bool {
	if len(l.Vars) == 0 {
		return EqualWords(a[:l.Words], b[:l.Words])
	}
	at := 0
	for _, i := range l.Vars {
		o := l.Off[i]
		if !EqualWords(a[at:o], b[at:o]) || a[o] != b[o] {
			return false
		}
		if a[o+1] != b[o+1] || ha != hb {
			if uint32(a[o]) <= Inline {
				if a[o+1] != b[o+1] {
					return false
				}
			} else if !EqualVar(a[o], a[o+1], ha, b[o], b[o+1], hb) {
				return false
			}
		}
		at = o + 2
	}
	return EqualWords(a[at:l.Words], b[at:l.Words])
}

// EqualWords compares words; both are equally many.
func EqualWords(a, b []uint64) bool {
	b = b[:len(a)]
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// Compare is a total order of rows: null bits, then fields, unsigned words and
// Var by its bytes.
func (l *Layout) Compare(a []uint64, ha *Heap, b []uint64, hb *Heap) int {
	at := 0
	for _, i := range l.Vars {
		o := l.Off[i]
		if c := CompareWords(a[at:o], b[at:o]); c != 0 {
			return c
		}
		if c := CompareVar(a[o], a[o+1], ha, b[o], b[o+1], hb); c != 0 {
			return c
		}
		at = o + 2
	}
	return CompareWords(a[at:l.Words], b[at:l.Words])
}

// CompareWords compares words as unsigned numbers, the first first.
func CompareWords(a, b []uint64) int {
	b = b[:len(a)]
	for i, x := range a {
		if y := b[i]; x != y {
			if x < y {
				return -1
			}
			return 1
		}
	}
	return 0
}

// Copy copies a row and the heap bytes it refers to.
func (l *Layout) Copy(dst []uint64, hd *Heap, src []uint64, hs *Heap) {
	copy(dst[:l.Words], src[:l.Words])
	for k, i := range l.Vars {
		o := l.Off[i]
		if n := uint32(src[o]); n > Inline {
			dst[o+1] = hd.putIn(k, hs.Get(src[o+1], int(n)))
		}
	}
}

// CopyField copies a field between rows of any layouts whose types agree there.
func (l *Layout) CopyField(dst []uint64, i int, hd *Heap, from *Layout, src []uint64, j int, hs *Heap) {
	if from.IsNull(src, j) {
		l.SetNull(dst, i)
		return
	}
	dst[i>>6] &^= 1 << (uint(i) & 63)
	o, p := l.Off[i], from.Off[j]
	dst[o] = src[p]
	if l.wide[i] == 2 {
		dst[o+1] = src[p+1]
		if l.Types[i].Var() {
			if n := uint32(src[p]); n > Inline {
				dst[o+1] = hd.Put(hs.Get(src[p+1], int(n)))
			}
		}
	}
}

// Free gives back the heap bytes of a row.
func (l *Layout) Free(r []uint64, h *Heap) {
	for _, i := range l.Vars {
		o := l.Off[i]
		if n := uint32(r[o]); n > Inline {
			h.Free(r[o+1], int(n))
		}
	}
}

func (l *Layout) String() string {
	s := ""
	for i, t := range l.Types {
		if i > 0 {
			s += ", "
		}
		s += t.String()
	}
	return fmt.Sprintf("(%s)", s)
}
