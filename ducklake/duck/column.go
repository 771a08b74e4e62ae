package duck

import (
	"fmt"
	"math/big"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"
	ddb "github.com/duckdb/duckdb-go-bindings"
)

// column collects one result column from chunks and makes it an Arrow array.
// Values are copied once, from DuckDB's vectors into the array's buffers; the
// alternative, DuckDB's conversion of each chunk and a concatenation, copies
// twice, loses the offset of TIMETZ and lets HUGEINT overflow silently.
type column interface {
	// add appends n rows of v from the given one on.
	add(v *vector, from, n int) error
	// size is the number of bytes collected.
	size() int
	// take gives what was collected and starts anew.
	take() arrow.ArrayData
}

// newColumn makes a column for t; at is t's Arrow type.
func newColumn(t *sqlType, at arrow.DataType) column {
	switch t.id {
	case ddb.TypeSQLNull:
		return &nullColumn{}
	case ddb.TypeBoolean:
		return &boolColumn{}
	case ddb.TypeTinyInt, ddb.TypeUTinyInt:
		return &fixed[uint8]{typ: at}
	case ddb.TypeSmallInt, ddb.TypeUSmallInt:
		return &fixed[uint16]{typ: at}
	case ddb.TypeInteger, ddb.TypeUInteger, ddb.TypeFloat, ddb.TypeDate:
		return &fixed[uint32]{typ: at}
	case ddb.TypeBigInt, ddb.TypeUBigInt, ddb.TypeDouble, ddb.TypeTime, ddb.TypeTimeNS, ddb.TypeTimestamp,
		ddb.TypeTimestampTZ, ddb.TypeTimestampS, ddb.TypeTimestampMS, ddb.TypeTimestampNS:
		return &fixed[uint64]{typ: at}
	case ddb.TypeDecimal:
		switch t.stored {
		case ddb.TypeSmallInt:
			return &mapped[int16, decimal128.Num]{fixed: fixed[decimal128.Num]{typ: at}, convert: widen[int16]}
		case ddb.TypeInteger:
			return &mapped[int32, decimal128.Num]{fixed: fixed[decimal128.Num]{typ: at}, convert: widen[int32]}
		case ddb.TypeBigInt:
			return &mapped[int64, decimal128.Num]{fixed: fixed[decimal128.Num]{typ: at}, convert: widen[int64]}
		}
		return &fixed[int128]{typ: at}
	case ddb.TypeHugeInt:
		return &mapped[int128, decimal128.Num]{fixed: fixed[decimal128.Num]{typ: at}, convert: fromHuge}
	case ddb.TypeUHugeInt:
		return &mapped[int128, decimal128.Num]{fixed: fixed[decimal128.Num]{typ: at}, convert: fromUHuge}
	case ddb.TypeInterval:
		return &mapped[interval, arrow.MonthDayNanoInterval]{fixed: fixed[arrow.MonthDayNanoInterval]{typ: at}, convert: fromInterval}
	case ddb.TypeVarchar, ddb.TypeBlob, ddb.TypeGeometry:
		return &bytesColumn{typ: at}
	case ddb.TypeList, ddb.TypeMap:
		return newListColumn(t, at)
	case ddb.TypeArray:
		return &arrayColumn{typ: at, elements: newColumn(t.children[0], at.(*arrow.FixedSizeListType).Elem()), width: t.size}
	case ddb.TypeStruct:
		return &structColumn{typ: at, fields: newColumns(t.children, at.(*arrow.StructType).Fields())}
	case ddb.TypeUnion:
		return &unionColumn{typ: at, members: newColumns(t.children, at.(arrow.UnionType).Fields())}
	}
	return &textColumn{bytesColumn{typ: at}}
}

func newColumns(types []*sqlType, fields []arrow.Field) []column {
	cs := make([]column, len(types))
	for i, t := range types {
		cs[i] = newColumn(t, fields[i].Type)
	}
	return cs
}

// fixed is a column whose Arrow values have DuckDB's own layout.
type fixed[T any] struct {
	typ    arrow.DataType
	bits   bitmap
	values []T
	hint   int
}

func (c *fixed[T]) add(v *vector, from, n int) error {
	c.reserve(n)
	at := len(c.values)
	c.values = append(c.values, slice[T](v, from, n)...)
	c.bits.add(v, from, n)
	c.clear(v, from, n, at)
	return nil
}

// reserve makes room as the last batch needed it.
func (c *fixed[T]) reserve(n int) {
	if c.values == nil {
		c.values = make([]T, 0, max(n, c.hint))
	}
}

// clear zeroes the values of NULLs: DuckDB's memory there is not initialised.
func (c *fixed[T]) clear(v *vector, from, n, at int) {
	if v.validity == nil {
		return
	}
	var zero T
	for i := range n {
		if !v.valid(from + i) {
			c.values[at+i] = zero
		}
	}
}

func (c *fixed[T]) size() int {
	var t T
	return len(c.values) * int(unsafe.Sizeof(t))
}

func (c *fixed[T]) take() arrow.ArrayData {
	n := len(c.values)
	valid, nulls := c.bits.take(n)
	d := array.NewData(c.typ, n, []*memory.Buffer{valid, buffer(c.values)}, nil, nulls, 0)
	c.hint, c.values = max(c.hint, n), nil
	return d
}

// buffer is the memory of values; the values must not be changed any more.
func buffer[T any](values []T) *memory.Buffer {
	var t T
	return memory.NewBufferBytes(unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(values))), len(values)*int(unsafe.Sizeof(t))))
}

// mapped is a column whose values are converted one by one.
type mapped[S, T any] struct {
	fixed[T]
	convert func(S) (T, error)
}

func (c *mapped[S, T]) add(v *vector, from, n int) error {
	c.reserve(n)
	for i, s := range slice[S](v, from, n) {
		var t T
		if v.valid(from + i) {
			var err error
			if t, err = c.convert(s); err != nil {
				return err
			}
		}
		c.values = append(c.values, t)
	}
	c.bits.add(v, from, n)
	return nil
}

func widen[S int16 | int32 | int64](s S) (decimal128.Num, error) {
	return decimal128.FromI64(int64(s)), nil
}

// 10^38, the first number that decimal(38,0) does not have.
var tooBig = decimal128.New(0x4b3b4ca85a86c47a, 0x098a224000000000)

func fromHuge(h int128) (decimal128.Num, error) {
	n := decimal128.New(int64(h.upper), h.lower)
	if !n.Less(tooBig) || !tooBig.Negate().Less(n) {
		return n, overflow(h.big(), "HUGEINT")
	}
	return n, nil
}

func fromUHuge(h int128) (decimal128.Num, error) {
	n := decimal128.New(int64(h.upper), h.lower)
	if n.Sign() < 0 || !n.Less(tooBig) {
		return n, overflow(h.unsigned(), "UHUGEINT")
	}
	return n, nil
}

func overflow(b *big.Int, typ string) error {
	return newError(fmt.Sprintf("Conversion Error: the %s value %s has 39 digits; results carry 38, as DECIMAL(38,0). Cast it, for example to VARCHAR or DOUBLE", typ, b), "")
}

func fromInterval(v interval) (arrow.MonthDayNanoInterval, error) {
	const most = 1<<63 - 1
	if v.micros > most/1000 || v.micros < -most/1000 {
		return arrow.MonthDayNanoInterval{}, newError("Conversion Error: the INTERVAL "+intervalText(v)+" does not fit a result, which counts nanoseconds in 64 bits", "")
	}
	return arrow.MonthDayNanoInterval{Months: v.months, Days: v.days, Nanoseconds: v.micros * 1000}, nil
}
