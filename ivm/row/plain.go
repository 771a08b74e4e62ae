package row

import (
	"encoding/binary"
	"math"
)

// Plain makes rows equal that a lake does not keep apart: a PostgreSQL catalog keeps no sign and no payload of a NaN, and a file that has both
// zeros has one of them in place of the other. It is for one goroutine.
type Plain struct {
	layout *Layout
	floats []int // fields that are FLOAT or DOUBLE
	nested []int // fields with such inside

	words []uint64
	value []byte
	heap  Heap
}

// NewPlain makes one for rows of a layout.
func NewPlain(l *Layout) *Plain {
	p := &Plain{layout: l, words: make([]uint64, l.Words)}
	for i, t := range l.Types {
		switch {
		case t.Kind == Float || t.Kind == Double:
			p.floats = append(p.floats, i)
		case t.Nested() && hasFloat(t):
			p.nested = append(p.nested, i)
		}
	}
	return p
}

func hasFloat(t Type) bool {
	if t.Kind == Float || t.Kind == Double {
		return true
	}
	for _, c := range t.Children {
		if hasFloat(c) {
			return true
		}
	}
	return false
}

// Some says that there may be different rows that a lake does not keep apart.
func (p *Plain) Some() bool { return len(p.floats)+len(p.nested) > 0 }

// Exact says that a lake gives all of n rows back as they are, whatever rows lie beside them.
func (p *Plain) Exact(words []uint64, n int) bool {
	if len(p.nested) > 0 {
		return n == 0
	}
	for _, f := range p.floats {
		at, kind := p.layout.Off[f], p.layout.Types[f].Kind
		for i := range n {
			r := words[i*p.layout.Words:]
			if p.layout.IsNull(r, f) {
				continue
			}
			if v := number(kind, r[at]); v == 0 || math.IsNaN(v) {
				return false
			}
		}
	}
	return true
}

func number(k Kind, w uint64) float64 {
	if k == Float {
		return float64(math.Float32frombits(uint32(w)))
	}
	return math.Float64frombits(w)
}

const (
	plainDoubleNaN = 0x7ff8000000000000
	plainFloatNaN  = 0x7fc00000
)

// Of gives the row with one NaN and one zero, valid until the next call. Most rows stay as they are.
func (p *Plain) Of(r []uint64, h *Heap) ([]uint64, *Heap) {
	copied := false
	own := func() {
		if !copied {
			p.heap.Reset()
			p.layout.Copy(p.words, &p.heap, r, h)
			copied = true
		}
	}
	for _, i := range p.floats {
		at := p.layout.Off[i]
		if w, odd := plainFloat(p.layout.Types[i].Kind, r[at]); odd {
			own()
			p.words[at] = w
		}
	}
	for _, i := range p.nested {
		if p.layout.IsNull(r, i) {
			continue
		}
		p.value = append(p.value[:0], p.layout.Bytes(r, i, h, p.value[:0])...)
		odd := false
		plainInside(p.layout.Types[i], p.value, &odd)
		if odd {
			own()
			p.layout.SetBytes(p.words, i, p.value, &p.heap)
		}
	}
	if copied {
		return p.words, &p.heap
	}
	return r, h
}

// plainFloat gives what stands for a number that the lake may give back as another one.
func plainFloat(k Kind, w uint64) (plain uint64, odd bool) {
	switch k {
	case Double:
		if w == 1<<63 {
			return 0, true
		}
		if w != plainDoubleNaN && math.IsNaN(math.Float64frombits(w)) {
			return plainDoubleNaN, true
		}
	case Float:
		if uint32(w) == 1<<31 {
			return 0, true
		}
		if uint32(w) != plainFloatNaN && math.IsNaN(float64(math.Float32frombits(uint32(w)))) {
			return plainFloatNaN, true
		}
	}
	return w, false
}

// plainInside makes the numbers in a nested value's bytes plain, in place, and gives what is behind the value.
func plainInside(t Type, b []byte, odd *bool) []byte {
	optional := func(t Type) {
		there := b[0] == 1
		b = b[1:]
		if there {
			b = plainInside(t, b, odd)
		}
	}
	switch t.Kind {
	case List, Map:
		n, k := binary.Uvarint(b)
		b = b[k:]
		for range n {
			if t.Kind == Map {
				b = plainInside(t.Children[0], b, odd)
				optional(t.Children[1])
			} else {
				optional(t.Children[0])
			}
		}
		return b
	case Array:
		for range t.Size {
			optional(t.Children[0])
		}
		return b
	case Struct:
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
