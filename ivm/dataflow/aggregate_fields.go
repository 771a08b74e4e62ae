package dataflow

import (
	"math"

	"github.com/vegadb/vega-flight/ivm/row"
	"github.com/vegadb/vega-flight/ivm/zset"
)

// A transform makes the words of a value such that their unsigned order is the value's order, and back.
type transform uint8

const (
	asIs       transform = iota
	signed               // flip the sign bit
	floating             // DOUBLE: −Inf … −0.0, 0.0 … Inf, NaN; every NaN is one
	floating4            // FLOAT
	sameFloat            // floating, with −0.0 as 0.0: DuckDB's equality
	sameFloat4           // floating4, so too
	wide                 // two words, high first
	signedWide
)

// orderOf says how values of a type are ordered by their words; ok is false where they cannot be (intervals, collated
// text, enums, nested values), so that the caller must be given fields that can.
func orderOf(t row.Type) (op transform, ok bool) {
	switch t.Kind {
	case row.Bool, row.Uint8, row.Uint16, row.Uint32, row.Uint64:
		return asIs, true
	case row.Int8, row.Int16, row.Int32, row.Int64, row.Date, row.Time, row.TimeNS, row.Timestamp, row.TimestampS,
		row.TimestampMS, row.TimestampNS, row.TimestampTZ:
		return signed, true
	case row.Decimal:
		if t.Words() == 2 {
			return signedWide, true
		}
		return signed, true
	case row.Int128:
		return signedWide, true
	case row.Uint128, row.UUID:
		return wide, true
	case row.Float:
		return floating4, true
	case row.Double:
		return floating, true
	case row.Varchar:
		return asIs, t.Collation == ""
	case row.Blob:
		return asIs, true
	}
	return asIs, false
}

// equalityOf is a transform that makes words equal where values are.
func equalityOf(t row.Type) (op transform, ok bool) {
	switch op, ok = orderOf(t); op {
	case floating:
		op = sameFloat
	case floating4:
		op = sameFloat4
	}
	if t.Kind == row.Enum || t.Kind == row.Bit || t.Kind == row.JSON {
		return asIs, true
	}
	return op, ok
}

// orderType is a type whose values have the transformed words.
func orderType(t row.Type, op transform) row.Type {
	switch op {
	case asIs:
		return t
	case wide, signedWide:
		return row.Type{Kind: row.Uint128}
	}
	return row.Type{Kind: row.Uint64}
}

const (
	signBit = 1 << 63
	oneNaN  = 0x7ff8000000000000
	oneNaN4 = 0x7fc00000
)

func (op transform) word(v uint64) uint64 {
	switch op {
	case signed:
		return v ^ signBit
	case floating:
		if v&^signBit > 0x7ff0000000000000 {
			v = oneNaN
		}
		return v ^ (uint64(int64(v)>>63) | signBit)
	case sameFloat:
		if v == signBit {
			v = 0
		}
		return floating.word(v)
	case sameFloat4:
		if uint32(v) == 1<<31 {
			v = 0
		}
		return floating4.word(v)
	case floating4:
		x := uint32(v)
		if x&^(1<<31) > 0x7f800000 {
			x = oneNaN4
		}
		return uint64(x ^ (uint32(int32(x)>>31) | 1<<31))
	}
	return v
}

func (op transform) back(v uint64) uint64 {
	switch op {
	case signed:
		return v ^ signBit
	case floating, sameFloat:
		return v ^ (^uint64(int64(v)>>63) | signBit)
	case floating4, sameFloat4:
		x := uint32(v)
		return uint64(x ^ (^uint32(int32(x)>>31) | 1<<31))
	}
	return v
}

// A projection makes rows of some fields of other rows. It copies words only: long values stay in the heap they are in.
type projection struct {
	layout *row.Layout
	from   *row.Layout
	moves  []move
	single bool // one word and the only null bit
}

type move struct {
	op       transform
	two      bool
	src, dst int // words
	sn, dn   int // null words
	sb, db   uint
}

// project takes fields as they are; a further field whose order counts is added by ordered.
func project(from *row.Layout, fields ...int) *projection {
	ops := make([]transform, len(fields))
	return projectOrdered(from, fields, ops)
}

// placed makes a projection of fields of from to some fields of rows of another layout.
func placed(to, from *row.Layout, at, fields []int) *projection {
	p := &projection{layout: to, from: from}
	for k, f := range fields {
		i := at[k]
		p.moves = append(p.moves, move{two: from.Types[f].Words() == 2, src: from.Off[f], dst: to.Off[i],
			sn: f >> 6, sb: uint(f) & 63, dn: i >> 6, db: uint(i) & 63})
	}
	return p
}

func projectOrdered(from *row.Layout, fields []int, ops []transform) *projection {
	types := make([]row.Type, len(fields))
	for i, f := range fields {
		types[i] = orderType(from.Types[f], ops[i])
	}
	p := &projection{layout: row.NewLayout(types...), from: from}
	for i, f := range fields {
		p.moves = append(p.moves, move{op: ops[i], two: types[i].Words() == 2, src: from.Off[f], dst: p.layout.Off[i],
			sn: f >> 6, sb: uint(f) & 63, dn: i >> 6, db: uint(i) & 63})
	}
	p.single = len(fields) == 1 && !p.moves[0].two && p.moves[0].op == asIs
	return p
}

// row writes the projection of src to dst.
func (p *projection) row(dst, src []uint64) {
	for i := range p.layout.Nulls {
		dst[i] = 0
	}
	p.onto(dst, src)
}

// onto writes the fields to a row that has no NULL there.
func (p *projection) onto(dst, src []uint64) {
	for i := range p.moves {
		m := &p.moves[i]
		if src[m.sn]>>m.sb&1 != 0 {
			dst[m.dn] |= 1 << m.db
			dst[m.dst] = 0
			if m.two {
				dst[m.dst+1] = 0
			}
			continue
		}
		if !m.two {
			dst[m.dst] = m.op.word(src[m.src])
			continue
		}
		lo, hi := src[m.src], src[m.src+1]
		switch m.op {
		case wide:
			lo, hi = hi, lo
		case signedWide:
			lo, hi = hi^signBit, lo
		}
		dst[m.dst], dst[m.dst+1] = lo, hi
	}
}

// all makes dst the projection of every row of b. dst borrows b's heap.
func (p *projection) all(dst, b *zset.Batch) {
	n, w := b.Len(), p.layout.Words
	dst.Layout, dst.Heap, dst.Weights = p.layout, b.Heap, b.Weights
	if cap(dst.Words) < n*w {
		dst.Words = make([]uint64, n*w, n*w+n*w/4)
	}
	dst.Words = dst.Words[:n*w]
	stride := p.from.Words
	if p.single {
		m := p.moves[0]
		words := b.Words
		for i := range n {
			r := words[:stride]
			words = words[stride:]
			dst.Words[2*i] = r[m.sn] >> m.sb & 1
			dst.Words[2*i+1] = r[m.src]
		}
		return
	}
	for i := range n {
		p.row(dst.Words[i*w:i*w+w], b.Words[i*stride:i*stride+stride])
	}
}

// field gives field i of a projected row back as field j of dst.
func (p *projection) field(dst []uint64, l *row.Layout, j int, hd *row.Heap, src []uint64, i int, hs *row.Heap) {
	m := &p.moves[i]
	if m.op == asIs {
		l.CopyField(dst, j, hd, p.layout, src, i, hs)
		return
	}
	if p.layout.IsNull(src, i) {
		l.SetNull(dst, j)
		return
	}
	o := p.layout.Off[i]
	switch m.op {
	case wide:
		l.Set2(dst, j, src[o+1], src[o])
	case signedWide:
		l.Set2(dst, j, src[o+1], src[o]^signBit)
	default:
		l.Set(dst, j, m.op.back(src[o]))
	}
}

// numberOf is a word as a DOUBLE.
func numberOf(t row.Type, w uint64) float64 {
	if t.Kind == row.Float {
		return float64(math.Float32frombits(uint32(w)))
	}
	return math.Float64frombits(w)
}

// compareEntries is the order of a table's entries: fields by words or bytes, null bits last.
func compareEntries(l *row.Layout, a []uint64, ha *row.Heap, b []uint64, hb *row.Heap) int {
	at := l.Nulls
	for _, i := range l.Vars {
		o := l.Off[i]
		if c := row.CompareWords(a[at:o], b[at:o]); c != 0 {
			return c
		}
		if c := row.CompareVar(a[o], a[o+1], ha, b[o], b[o+1], hb); c != 0 {
			return c
		}
		at = o + 2
	}
	if c := row.CompareWords(a[at:l.Words], b[at:l.Words]); c != 0 {
		return c
	}
	return row.CompareWords(a[:l.Nulls], b[:l.Nulls])
}
