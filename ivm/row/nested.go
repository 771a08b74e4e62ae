package row

import (
	"encoding/binary"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/vegadb/vega-flight/fault"
)

// The codec of nested values. A value is, by its type:
//
//	one or two words   little-endian, 8 or 16 bytes
//	text, blob         uvarint length, bytes
//	LIST, MAP          uvarint length, then that many optional elements; an entry of a MAP is its key and an optional value
//	ARRAY, STRUCT      an optional value for each
//	UNION              number of the member, then its value (which is not NULL: see doc.go)
//
// An optional value is a byte, 0 for NULL or 1, and then the value. Equal values
// have equal bytes, and no value's bytes are the beginning of another's.

// appendArrow appends value i of arr, which is not NULL.
func appendArrow(dst []byte, t Type, arr arrow.Array, i int) ([]byte, error) {
	switch a := arr.(type) {
	case *array.Map:
		if t.Kind != Map {
			break
		}
		from, to := a.ValueOffsets(i)
		dst = binary.AppendUvarint(dst, uint64(to-from))
		for j := int(from); j < int(to); j++ {
			var err error
			if dst, err = appendArrow(dst, t.Children[0], a.Keys(), j); err != nil {
				return dst, err
			}
			if dst, err = appendOptional(dst, t.Children[1], a.Items(), j); err != nil {
				return dst, err
			}
		}
		return dst, nil
	case *array.Struct:
		if t.Kind != Struct || a.NumField() != len(t.Children) {
			break
		}
		for k, c := range t.Children {
			var err error
			if dst, err = appendOptional(dst, c, a.Field(k), i); err != nil {
				return dst, err
			}
		}
		return dst, nil
	case array.Union:
		if t.Kind != Union {
			break
		}
		member, at := a.ChildID(i), i
		if d, ok := arr.(*array.DenseUnion); ok {
			at = int(d.ValueOffset(i))
		}
		if member < 0 || member >= len(t.Children) {
			return dst, fault.InternalError.Newf("a union of %d members has no member %d", len(t.Children), member)
		}
		return appendOptional(append(dst, byte(member)), t.Children[member], a.Field(member), at)
	case array.ListLike:
		from, to := a.ValueOffsets(i)
		switch t.Kind {
		case List:
			dst = binary.AppendUvarint(dst, uint64(to-from))
		case Array:
			if int(to-from) != t.Size {
				return dst, fault.InternalError.Newf("an array of %d elements for %s", to-from, t)
			}
		default:
			return dst, (&column{typ: t}).mismatch(arr)
		}
		for j := int(from); j < int(to); j++ {
			var err error
			if dst, err = appendOptional(dst, t.Children[0], a.ListValues(), j); err != nil {
				return dst, err
			}
		}
		return dst, nil
	}
	if t.Nested() {
		return dst, (&column{typ: t}).mismatch(arr)
	}
	return appendScalar(dst, t, arr, i)
}

func appendOptional(dst []byte, t Type, arr arrow.Array, i int) ([]byte, error) {
	if isNull(t, arr, i) {
		return append(dst, 0), nil
	}
	return appendArrow(append(dst, 1), t, arr, i)
}

// isNull says that a value is NULL; a union is if its first member is chosen and NULL.
func isNull(t Type, arr arrow.Array, i int) bool {
	if u, ok := arr.(array.Union); ok {
		at := i
		if d, ok := arr.(*array.DenseUnion); ok {
			at = int(d.ValueOffset(i))
		}
		return u.ChildID(i) == 0 && isNull(t.Children[0], u.Field(0), at)
	}
	return arr.DataType().ID() == arrow.NULL || arr.IsNull(i)
}

func appendScalar(dst []byte, t Type, arr arrow.Array, i int) ([]byte, error) {
	if t.Var() {
		switch a := arr.(type) {
		case textArray:
			s := a.Value(i)
			return append(binary.AppendUvarint(dst, uint64(len(s))), s...), nil
		case bytesArray:
			b := a.Value(i)
			return append(binary.AppendUvarint(dst, uint64(len(b))), b...), nil
		}
		return dst, (&column{typ: t}).mismatch(arr)
	}
	var w [2]uint64
	n := t.Words()
	one := array.NewSlice(arr, int64(i), int64(i+1))
	defer one.Release()
	c := column{rows: w[:n], step: n, typ: t}
	if err := c.load(nil, one); err != nil {
		return dst, err
	}
	return AppendWords(dst, w[:n]), nil
}

// nested fills a field of a nested type.
func (c *column) nested(h *Heap, arr arrow.Array) error {
	var buf []byte
	for i := range arr.Len() {
		if isNull(c.typ, arr, i) {
			continue
		}
		var err error
		if buf, err = appendArrow(buf[:0], c.typ, arr, i); err != nil {
			return err
		}
		c.put(i, buf, h)
	}
	return nil
}

// nestedColumn makes the Arrow array of a field of a nested type.
func (l *Layout) nestedColumn(at arrow.DataType, words []uint64, n, i int, h *Heap) (arrow.Array, error) {
	b := array.NewBuilder(allocator, at)
	defer b.Release()
	b.Reserve(n)
	t := l.Types[i]
	var buf [Inline]byte
	for k := range n {
		r := words[k*l.Words : k*l.Words+l.Words]
		if l.IsNull(r, i) {
			appendNull(b)
			continue
		}
		rest, err := build(b, t, l.Bytes(r, i, h, buf[:]))
		if err != nil {
			return nil, err
		}
		if len(rest) > 0 {
			return nil, fault.InternalError.Newf("%d bytes are left behind a value of %s", len(rest), t)
		}
	}
	return b.NewArray(), nil
}

// appendNull appends a NULL; a union's is its first member's.
func appendNull(b array.Builder) {
	u, ok := b.(*array.SparseUnionBuilder)
	if !ok {
		b.AppendNull()
		return
	}
	u.Append(0)
	appendNull(u.Child(0))
	for j := 1; j < u.NumChildren(); j++ {
		fillEmpty(u.Child(j))
	}
}

// fillEmpty appends what nobody reads.
func fillEmpty(b array.Builder) { appendNull(b) }

// build appends the value that bytes begin with to a builder, and gives the bytes behind it.
func build(b array.Builder, t Type, p []byte) ([]byte, error) {
	var err error
	switch b := b.(type) {
	case *array.MapBuilder:
		n, k := binary.Uvarint(p)
		if k <= 0 {
			return nil, cut(t)
		}
		b.Append(true)
		for p = p[k:]; n > 0; n-- {
			if p, err = build(b.KeyBuilder(), t.Children[0], p); err != nil {
				return nil, err
			}
			if p, err = buildOptional(b.ItemBuilder(), t.Children[1], p); err != nil {
				return nil, err
			}
		}
		return p, nil
	case *array.ListBuilder:
		n, k := binary.Uvarint(p)
		if k <= 0 {
			return nil, cut(t)
		}
		b.Append(true)
		for p = p[k:]; n > 0; n-- {
			if p, err = buildOptional(b.ValueBuilder(), t.Children[0], p); err != nil {
				return nil, err
			}
		}
		return p, nil
	case *array.FixedSizeListBuilder:
		b.Append(true)
		for range t.Size {
			if p, err = buildOptional(b.ValueBuilder(), t.Children[0], p); err != nil {
				return nil, err
			}
		}
		return p, nil
	case *array.StructBuilder:
		b.Append(true)
		for k, c := range t.Children {
			if p, err = buildOptional(b.FieldBuilder(k), c, p); err != nil {
				return nil, err
			}
		}
		return p, nil
	case *array.SparseUnionBuilder:
		if len(p) == 0 || int(p[0]) >= len(t.Children) {
			return nil, cut(t)
		}
		member := int(p[0])
		b.Append(arrow.UnionTypeCode(member))
		for j := range t.Children {
			if j != member {
				fillEmpty(b.Child(j))
			}
		}
		return buildOptional(b.Child(member), t.Children[member], p[1:])
	}
	return buildScalar(b, t, p)
}

func buildOptional(b array.Builder, t Type, p []byte) ([]byte, error) {
	if len(p) == 0 {
		return nil, cut(t)
	}
	if p[0] == 0 {
		appendNull(b)
		return p[1:], nil
	}
	return build(b, t, p[1:])
}

func cut(t Type) error {
	return fault.InternalError.Newf("the bytes of a value of %s are cut short", t)
}

func buildScalar(b array.Builder, t Type, p []byte) ([]byte, error) {
	if t.Var() {
		n, k := binary.Uvarint(p)
		if k <= 0 || uint64(len(p)-k) < n {
			return nil, cut(t)
		}
		v := p[k : k+int(n)]
		switch b := b.(type) {
		case *array.StringBuilder:
			b.Append(string(v))
		case *array.BinaryBuilder:
			b.Append(v)
		}
		return p[k+int(n):], nil
	}
	var w [2]uint64
	rest := ReadWords(w[:t.Words()], p)
	if len(p) < 8*t.Words() {
		return nil, cut(t)
	}
	switch b := b.(type) {
	case *array.NullBuilder:
		b.AppendNull()
	case *array.BooleanBuilder:
		b.Append(w[0] != 0)
	case *array.Int8Builder:
		b.Append(int8(w[0]))
	case *array.Int16Builder:
		b.Append(int16(w[0]))
	case *array.Int32Builder:
		b.Append(int32(w[0]))
	case *array.Int64Builder:
		b.Append(int64(w[0]))
	case *array.Uint8Builder:
		b.Append(uint8(w[0]))
	case *array.Uint16Builder:
		b.Append(uint16(w[0]))
	case *array.Uint32Builder:
		b.Append(uint32(w[0]))
	case *array.Uint64Builder:
		b.Append(w[0])
	case *array.Float32Builder:
		b.Append(float32Of(w[0]))
	case *array.Float64Builder:
		b.Append(float64Of(w[0]))
	case *array.Date32Builder:
		b.Append(arrow.Date32(w[0]))
	case *array.Time64Builder:
		b.Append(arrow.Time64(w[0]))
	case *array.TimestampBuilder:
		b.Append(arrow.Timestamp(w[0]))
	case *array.MonthDayNanoIntervalBuilder:
		v, err := arrowInterval(w[0], w[1])
		if err != nil {
			return nil, err
		}
		b.Append(v)
	case *array.Decimal128Builder:
		n := decimal128.FromI64(int64(w[0]))
		if t.Words() == 2 {
			n = decimal128.New(int64(w[1]), w[0])
		}
		if t.Kind != Decimal {
			if err := fits38(t, n); err != nil {
				return nil, err
			}
		}
		b.Append(n)
	case *array.StringBuilder:
		if t.Kind == UUID {
			b.Append(string(appendUUID(nil, w[0], w[1])))
		} else {
			b.Append(string(appendTimeTZ(nil, w[0])))
		}
	default:
		return nil, fault.InternalError.Newf("an Arrow builder %T for %s", b, t)
	}
	return rest, nil
}
