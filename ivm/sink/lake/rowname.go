package lake

import (
	"crypto/sha256"
	"encoding/binary"
	"math"

	"github.com/vegadb/vega-flight/ivm/row"
	"github.com/vegadb/vega-flight/ivm/zset"
)

// rowName stands for a row's content: 128 bits of a hash that nobody can find two rows for.
type rowName [2]uint64

// namer names the rows of one view.
type namer struct {
	layout *row.Layout
	secret [16]byte
	floats []int // fields that are FLOAT or DOUBLE
	nested []int // fields with such inside

	bytes []byte
	words []uint64
	value []byte
	heap  row.Heap
}

func newNamer(l *row.Layout, uuid string) *namer {
	n := &namer{layout: l, words: make([]uint64, l.Words)}
	sum := sha256.Sum256([]byte("rows of the result of " + uuid))
	copy(n.secret[:], sum[:])
	for i, t := range l.Types {
		switch {
		case t.Kind == row.Float || t.Kind == row.Double:
			n.floats = append(n.floats, i)
		case t.Nested() && hasFloat(t):
			n.nested = append(n.nested, i)
		}
	}
	return n
}

func hasFloat(t row.Type) bool {
	if t.Kind == row.Float || t.Kind == row.Double {
		return true
	}
	for _, c := range t.Children {
		if hasFloat(c) {
			return true
		}
	}
	return false
}

// shared says that different rows may have one name: those that differ in NaNs or the sign of a zero.
func (n *namer) shared() bool { return len(n.floats)+len(n.nested) > 0 }

// exact says that the lake gives all rows of the batch back as they are, whatever rows lie beside them: a file may have another zero in the
// place of one, and who takes a row back takes any that has its name.
func (n *namer) exact(b *zset.Batch) bool {
	if len(n.nested) > 0 {
		return b.Len() == 0
	}
	for _, f := range n.floats {
		at, kind := n.layout.Off[f], n.layout.Types[f].Kind
		for i := range b.Weights {
			r := b.Row(i)
			if n.layout.IsNull(r, f) {
				continue
			}
			if v := number(kind, r[at]); v == 0 || math.IsNaN(v) {
				return false
			}
		}
	}
	return true
}

func number(k row.Kind, w uint64) float64 {
	if k == row.Float {
		return float64(math.Float32frombits(uint32(w)))
	}
	return math.Float64frombits(w)
}

// name names a row.
func (n *namer) name(r []uint64, h *row.Heap) rowName {
	if n.shared() {
		r, h = n.plainFloats(r, h)
	}
	n.bytes = n.layout.AppendBytes(append(n.bytes[:0], n.secret[:]...), r, h)
	sum := sha256.Sum256(n.bytes)
	return rowName{binary.LittleEndian.Uint64(sum[:]), binary.LittleEndian.Uint64(sum[8:])}
}

const (
	doubleNaN = 0x7ff8000000000000
	floatNaN  = 0x7fc00000
)

// plainFloats gives the row with one NaN and one zero: a PostgreSQL catalog keeps no sign and no payload of a NaN, and a file that has both zeros
// has one of them in place of the other. Most rows stay as they are.
func (n *namer) plainFloats(r []uint64, h *row.Heap) ([]uint64, *row.Heap) {
	copied := false
	own := func() {
		if !copied {
			n.heap.Reset()
			n.layout.Copy(n.words, &n.heap, r, h)
			copied = true
		}
	}
	for _, i := range n.floats {
		at := n.layout.Off[i]
		if w, odd := plainFloat(n.layout.Types[i].Kind, r[at]); odd {
			own()
			n.words[at] = w
		}
	}
	for _, i := range n.nested {
		if n.layout.IsNull(r, i) {
			continue
		}
		n.value = append(n.value[:0], n.layout.Bytes(r, i, h, n.value[:0])...)
		odd := false
		plainInside(n.layout.Types[i], n.value, &odd)
		if odd {
			own()
			n.layout.SetBytes(n.words, i, n.value, &n.heap)
		}
	}
	if copied {
		return n.words, &n.heap
	}
	return r, h
}

// plainFloat gives what stands for a number that the lake may give back as another one.
func plainFloat(k row.Kind, w uint64) (plain uint64, odd bool) {
	switch k {
	case row.Double:
		if w == 1<<63 {
			return 0, true
		}
		if w != doubleNaN && math.IsNaN(math.Float64frombits(w)) {
			return doubleNaN, true
		}
	case row.Float:
		if uint32(w) == 1<<31 {
			return 0, true
		}
		if uint32(w) != floatNaN && math.IsNaN(float64(math.Float32frombits(uint32(w)))) {
			return floatNaN, true
		}
	}
	return w, false
}

// plainInside makes the numbers in a nested value's bytes plain, in place, and gives what is behind the value.
func plainInside(t row.Type, b []byte, odd *bool) []byte {
	optional := func(t row.Type) {
		there := b[0] == 1
		b = b[1:]
		if there {
			b = plainInside(t, b, odd)
		}
	}
	switch t.Kind {
	case row.List, row.Map:
		n, k := binary.Uvarint(b)
		b = b[k:]
		for range n {
			if t.Kind == row.Map {
				b = plainInside(t.Children[0], b, odd)
				optional(t.Children[1])
			} else {
				optional(t.Children[0])
			}
		}
		return b
	case row.Array:
		for range t.Size {
			optional(t.Children[0])
		}
		return b
	case row.Struct:
		for _, c := range t.Children {
			optional(c)
		}
		return b
	}
	if t.Var() {
		n, k := binary.Uvarint(b)
		return b[k+int(n):]
	}
	if w, is := plainFloat(t.Kind, binary.LittleEndian.Uint64(b)); is {
		*odd = true
		binary.LittleEndian.PutUint64(b, w)
	}
	return b[8*t.Words():]
}
