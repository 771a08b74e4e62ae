package row

import (
	"encoding/binary"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/vegadb/vega-flight/fault"
)

// FromArrow appends the rows of a record batch, whose columns have the layout's
// types in Arrow, to dst; long values go to h.
func (l *Layout) FromArrow(dst []uint64, h *Heap, rec arrow.RecordBatch) ([]uint64, error) {
	if int(rec.NumCols()) != len(l.Types) {
		return dst, fault.InternalError.Newf("a batch of %d columns for rows of %d", rec.NumCols(), len(l.Types))
	}
	dst, at := l.Grow(dst, int(rec.NumRows()))
	for i := range l.Types {
		if err := l.FromColumn(at, i, h, rec.Column(i)); err != nil {
			return dst[:len(dst)-len(at)], err
		}
	}
	return dst, nil
}

// Grow appends n zeroed rows to dst and gives them as well.
func (l *Layout) Grow(dst []uint64, n int) (all, added []uint64) {
	k := len(dst)
	if need := k + n*l.Words; need > cap(dst) {
		grown := make([]uint64, k, max(need, 2*cap(dst)))
		copy(grown, dst)
		dst = grown
	}
	dst = dst[:k+n*l.Words]
	added = dst[k:]
	clear(added)
	return dst, added
}

// FromColumn fills field i of zeroed rows.
func (l *Layout) FromColumn(rows []uint64, i int, h *Heap, arr arrow.Array) error {
	c := column{rows: rows, step: l.Words, off: l.Off[i], typ: l.Types[i]}
	if err := c.load(h, arr); err != nil {
		return err
	}
	union := l.Types[i].Kind == Union // Arrow counts no NULLs of it
	if arr.NullN() == 0 && !union {
		return nil
	}
	word, bit, wide := i>>6, uint64(1)<<(uint(i)&63), int(l.wide[i])
	if arr.DataType().ID() == arrow.NULL {
		for at := 0; at < len(rows); at += l.Words {
			rows[at+word] |= bit
		}
		return nil
	}
	for k, at := 0, 0; at < len(rows); k, at = k+1, at+l.Words {
		if arr.IsNull(k) || union && isNull(l.Types[i], arr, k) {
			rows[at+word] |= bit
			clear(rows[at+c.off : at+c.off+wide])
		}
	}
	return nil
}

// column is a field of rows that is filled from an Arrow array. Where the array
// has a NULL anything may be written.
type column struct {
	rows      []uint64
	step, off int
	typ       Type
}

func (c *column) mismatch(arr arrow.Array) error {
	return fault.InternalError.Newf("an Arrow column of %s for %s", arr.DataType(), c.typ)
}

func (c *column) load(h *Heap, arr arrow.Array) error {
	if arr.Len()*c.step != len(c.rows) {
		return fault.InternalError.Newf("an Arrow column of %d rows for %d", arr.Len(), len(c.rows)/max(c.step, 1))
	}
	if arr.Len() == 0 || arr.DataType().ID() == arrow.NULL {
		return nil
	}
	if c.typ.Nested() {
		return c.nested(h, arr)
	}
	if c.typ.Var() {
		return c.bytes(h, arr)
	}
	switch a := arr.(type) {
	case *array.Boolean:
		if c.typ.Kind != Bool {
			break
		}
		for i, at := 0, c.off; i < a.Len(); i, at = i+1, at+c.step {
			if a.Value(i) {
				c.rows[at] = 1
			}
		}
		return nil
	case *array.Decimal128:
		return c.decimal(a)
	case *array.MonthDayNanoInterval:
		if c.typ.Kind != Interval {
			break
		}
		for i, at := 0, c.off; i < a.Len(); i, at = i+1, at+c.step {
			v := a.Value(i)
			c.rows[at], c.rows[at+1] = uint64(uint32(v.Months))<<32|uint64(uint32(v.Days)), uint64(v.Nanoseconds/1000)
		}
		return nil
	case *array.String:
		return c.parsed(a)
	}
	return c.fixed(arr)
}

func (c *column) fixed(arr arrow.Array) error {
	ids := [...]arrow.Type{Int8: arrow.INT8, Int16: arrow.INT16, Int32: arrow.INT32, Int64: arrow.INT64, Uint8: arrow.UINT8, Uint16: arrow.UINT16,
		Uint32: arrow.UINT32, Uint64: arrow.UINT64, Float: arrow.FLOAT32, Double: arrow.FLOAT64, Date: arrow.DATE32, Time: arrow.TIME64, TimeNS: arrow.TIME64,
		Timestamp: arrow.TIMESTAMP, TimestampS: arrow.TIMESTAMP, TimestampMS: arrow.TIMESTAMP, TimestampNS: arrow.TIMESTAMP, TimestampTZ: arrow.TIMESTAMP}
	id := arr.DataType().ID()
	if int(c.typ.Kind) >= len(ids) || ids[c.typ.Kind] != id || !c.sameUnit(arr.DataType()) {
		return c.mismatch(arr)
	}
	switch id {
	case arrow.INT8:
		spread[int8](c, arr)
	case arrow.INT16:
		spread[int16](c, arr)
	case arrow.INT32, arrow.DATE32:
		spread[int32](c, arr)
	case arrow.UINT8:
		spread[uint8](c, arr)
	case arrow.UINT16:
		spread[uint16](c, arr)
	case arrow.UINT32, arrow.FLOAT32:
		spread[uint32](c, arr)
	default:
		spread[uint64](c, arr)
	}
	return nil
}

func (c *column) sameUnit(at arrow.DataType) bool {
	switch at := at.(type) {
	case *arrow.TimestampType:
		if (at.TimeZone != "") != (c.typ.Kind == TimestampTZ) {
			return false
		}
		want := [...]arrow.TimeUnit{Timestamp: arrow.Microsecond, TimestampS: arrow.Second, TimestampMS: arrow.Millisecond, TimestampNS: arrow.Nanosecond, TimestampTZ: arrow.Microsecond}
		return at.Unit == want[c.typ.Kind]
	case *arrow.Time64Type:
		return (at.Unit == arrow.Nanosecond) == (c.typ.Kind == TimeNS)
	}
	return true
}

// values are the elements of an array of fixed width.
func values[T any](arr arrow.Array) []T {
	var t T
	size := int(unsafe.Sizeof(t))
	from, n := arr.Data().Offset(), arr.Len()
	if n == 0 {
		return nil
	}
	b := arr.Data().Buffers()[1].Bytes()[from*size : (from+n)*size]
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), n)
}

func spread[T int8 | int16 | int32 | uint8 | uint16 | uint32 | uint64](c *column, arr arrow.Array) {
	at, step, rows := c.off, c.step, c.rows
	for _, v := range values[T](arr) {
		rows[at] = uint64(v) // a signed v is sign-extended
		at += step
	}
}

func (c *column) decimal(a *array.Decimal128) error {
	vs := values[decimal128.Num](a)
	at := a.DataType().(*arrow.Decimal128Type)
	switch c.typ.Kind {
	case Int128, Uint128:
		if at.Scale != 0 {
			return c.mismatch(a)
		}
	case Decimal:
		if int(at.Scale) != int(c.typ.Scale) {
			return c.mismatch(a)
		}
		if c.typ.Words() == 1 {
			for i, v := range vs {
				c.rows[c.off+i*c.step] = v.LowBits()
			}
			return nil
		}
	default:
		return c.mismatch(a)
	}
	for i, v := range vs {
		o := c.off + i*c.step
		c.rows[o], c.rows[o+1] = v.LowBits(), uint64(v.HighBits())
	}
	return nil
}

// parsed fills a type that is text in Arrow and words here.
func (c *column) parsed(a *array.String) error {
	if c.typ.Kind != UUID && c.typ.Kind != TimeTZ {
		return c.mismatch(a)
	}
	for i := range a.Len() {
		if a.IsNull(i) {
			continue
		}
		o := c.off + i*c.step
		var err error
		if c.typ.Kind == UUID {
			c.rows[o], c.rows[o+1], err = parseUUID(a.Value(i))
		} else {
			c.rows[o], err = parseTimeTZ(a.Value(i))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

type bytesArray interface {
	Value(int) []byte
}

type textArray interface {
	Value(int) string
}

func (c *column) bytes(h *Heap, arr arrow.Array) error {
	switch a := arr.(type) {
	case *array.String:
		if !c.typ.Text() {
			return c.mismatch(arr)
		}
		c.offsets(h, a, a.ValueOffsets(), a.ValueBytes())
	case *array.Binary:
		if c.typ.Text() {
			return c.mismatch(arr)
		}
		c.offsets(h, a, a.ValueOffsets(), a.ValueBytes())
	case textArray: // large and view layouts
		if !c.typ.Text() {
			return c.mismatch(arr)
		}
		for i := range arr.Len() {
			if s := a.Value(i); arr.IsValid(i) {
				c.put(i, unsafe.Slice(unsafe.StringData(s), len(s)), h)
			}
		}
	case bytesArray:
		if c.typ.Text() {
			return c.mismatch(arr)
		}
		for i := range arr.Len() {
			if arr.IsValid(i) {
				c.put(i, a.Value(i), h)
			}
		}
	default:
		return c.mismatch(arr)
	}
	return nil
}

func (c *column) put(i int, b []byte, h *Heap) {
	o := c.off + i*c.step
	c.rows[o], c.rows[o+1] = PutVar(b, h)
}

// offsets fills from texts that lie one behind the other; data begins with the first's.
func (c *column) offsets(h *Heap, arr arrow.Array, offsets []int32, data []byte) {
	base, nulls := offsets[0], arr.NullN() > 0
	at, rows := c.off, c.rows
	for i := range len(offsets) - 1 {
		if !nulls || arr.IsValid(i) {
			from, to := int(offsets[i]-base), int(offsets[i+1]-base)
			if n := to - from; n <= Inline && from+Inline <= len(data) { // short, and what is behind can be read
				p := data[from : from+Inline]
				keep := ^uint64(0) << (uint(Inline-max(n, 4)) * 8)
				w0, w1 := uint64(binary.BigEndian.Uint32(p)), binary.BigEndian.Uint64(p[4:])&keep
				if n < 4 {
					w0 &= ^uint64(0) << (uint(4-n) * 8)
					w1 = 0
				}
				rows[at], rows[at+1] = w0<<32|uint64(n), w1
			} else {
				rows[at], rows[at+1] = PutVar(data[from:to], h)
			}
		}
		at += c.step
	}
}
