package duck

import (
	"fmt"
	"math/big"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/extensions"

	ddb "github.com/duckdb/duckdb-go-bindings"
)

// ArrowValue makes the i-th cell of an Arrow array an argument, nested cells
// too. It must be bound before arr is released.
func ArrowValue(arr arrow.Array, i int) any { return arrowCell{arr, i} }

type arrowCell struct {
	arr arrow.Array
	i   int
}

// value makes the cell a DuckDB value of the type that an Arrow scan would
// give it. A malformed array makes arrow-go panic; that is the caller's data, so it
// becomes an error.
func (c arrowCell) value() (v ddb.Value, err error) {
	defer func() {
		if p := recover(); p != nil {
			v, err = ddb.Value{}, fmt.Errorf("duck: the Arrow value of type %s is malformed: %v", c.arr.DataType(), p)
		}
	}()
	if c.i < 0 || c.i >= c.arr.Len() {
		return ddb.Value{}, fmt.Errorf("duck: no value %d in an Arrow array of length %d", c.i, c.arr.Len())
	}
	if c.arr.IsNull(c.i) {
		return typedNull(c.arr.DataType()), nil
	}
	return cellValue(c.arr, c.i)
}

func cellValue(arr arrow.Array, i int) (ddb.Value, error) {
	if d, ok := arr.(*array.Dictionary); ok {
		if d.IsNull(i) {
			return ddb.CreateNullValue(), nil
		}
		return cellValue(d.Dictionary(), d.GetValueIndex(i))
	}
	if arr.IsNull(i) {
		return ddb.CreateNullValue(), nil
	}
	switch a := arr.(type) {
	case *array.Null:
		return ddb.CreateNullValue(), nil
	case *array.Boolean:
		return ddb.CreateBool(a.Value(i)), nil
	case *array.Int8:
		return ddb.CreateInt8(a.Value(i)), nil
	case *array.Int16:
		return ddb.CreateInt16(a.Value(i)), nil
	case *array.Int32:
		return ddb.CreateInt32(a.Value(i)), nil
	case *array.Int64:
		return ddb.CreateInt64(a.Value(i)), nil
	case *array.Uint8:
		return ddb.CreateUInt8(a.Value(i)), nil
	case *array.Uint16:
		return ddb.CreateUInt16(a.Value(i)), nil
	case *array.Uint32:
		return ddb.CreateUInt32(a.Value(i)), nil
	case *array.Uint64:
		return ddb.CreateUInt64(a.Value(i)), nil
	case *array.Float16:
		return ddb.CreateFloat(a.Value(i).Float32()), nil
	case *array.Float32:
		return ddb.CreateFloat(a.Value(i)), nil
	case *array.Float64:
		return ddb.CreateDouble(a.Value(i)), nil
	case *array.String:
		return textValue(a.Value(i))
	case *array.LargeString:
		return textValue(a.Value(i))
	case *array.StringView:
		return textValue(a.Value(i))
	case *array.Binary:
		return ddb.CreateBlob(a.Value(i)), nil
	case *array.LargeBinary:
		return ddb.CreateBlob(a.Value(i)), nil
	case *array.BinaryView:
		return ddb.CreateBlob(a.Value(i)), nil
	case *array.FixedSizeBinary:
		return ddb.CreateBlob(a.Value(i)), nil
	case *array.Date32:
		return ddb.CreateDate(ddb.NewDate(int32(a.Value(i)))), nil
	case *array.Date64:
		days := floorDiv(int64(a.Value(i)), 86400e3)
		if days != int64(int32(days)) {
			return ddb.Value{}, fmt.Errorf("the date64 %d is out of range", a.Value(i))
		}
		return ddb.CreateDate(ddb.NewDate(int32(days))), nil
	case *array.Time32:
		us, err := timeOfDay(int64(a.Value(i))*1e6/perSecond(a.DataType().(*arrow.Time32Type).Unit), arrow.Microsecond)
		if err != nil {
			return ddb.Value{}, err
		}
		return ddb.CreateTime(ddb.NewTime(us)), nil
	case *array.Time64:
		unit := a.DataType().(*arrow.Time64Type).Unit
		x, err := timeOfDay(int64(a.Value(i)), unit)
		if err != nil {
			return ddb.Value{}, err
		}
		if unit == arrow.Nanosecond {
			return ddb.CreateTimeNS(ddb.NewTimeNS(x)), nil
		}
		return ddb.CreateTime(ddb.NewTime(x)), nil
	case *array.Timestamp:
		return timestampValue(a, i)
	case *array.Duration:
		return durationValue(a, i)
	case *array.MonthInterval:
		return ddb.CreateInterval(ddb.NewInterval(int32(a.Value(i)), 0, 0)), nil
	case *array.DayTimeInterval:
		x := a.Value(i)
		return ddb.CreateInterval(ddb.NewInterval(0, x.Days, int64(x.Milliseconds)*1000)), nil
	case *array.MonthDayNanoInterval:
		x := a.Value(i)
		return ddb.CreateInterval(ddb.NewInterval(x.Months, x.Days, x.Nanoseconds/1000)), nil
	case *array.Decimal32:
		return decimalValue(big.NewInt(int64(a.Value(i))), a.DataType())
	case *array.Decimal64:
		return decimalValue(big.NewInt(int64(a.Value(i))), a.DataType())
	case *array.Decimal128:
		return decimalValue(a.Value(i).BigInt(), a.DataType())
	case *array.Decimal256:
		return decimalValue(a.Value(i).BigInt(), a.DataType())
	case *extensions.UUIDArray:
		return ddb.CreateUUID(uuidParts(a.Value(i))), nil
	case array.ExtensionArray:
		return cellValue(a.Storage(), i)
	}
	return nestedValue(arr, i)
}

// nestedValue handles the types with children.
func nestedValue(arr arrow.Array, i int) (ddb.Value, error) {
	switch a := arr.(type) {
	case *array.Map:
		from, to := a.ValueOffsets(i)
		return mapValue(a, int(from), int(to))
	case *array.FixedSizeList:
		from, to := a.ValueOffsets(i)
		return listValue(a.ListValues(), int(from), int(to), ddb.CreateArrayValue)
	case array.ListLike: // lists, large lists, list views
		from, to := a.ValueOffsets(i)
		return listValue(a.ListValues(), int(from), int(to), ddb.CreateListValue)
	case *array.Struct:
		return structValue(a, i)
	case *array.SparseUnion:
		return unionValue(a, a.ChildID(i), i)
	case *array.DenseUnion:
		return unionValue(a, a.ChildID(i), int(a.ValueOffset(i)))
	case *array.RunEndEncoded:
		return cellValue(a.Values(), a.GetPhysicalIndex(i))
	}
	return ddb.Value{}, fmt.Errorf("duck: values of the Arrow type %s cannot be bound", arr.DataType())
}

func textValue(s string) (ddb.Value, error) {
	if !utf8.ValidString(s) {
		return ddb.Value{}, fmt.Errorf("duck: the text %q is not valid UTF-8", s)
	}
	return ddb.CreateVarcharLength(s, ddb.IdxT(len(s))), nil
}

func timestampValue(a *array.Timestamp, i int) (ddb.Value, error) {
	t := a.DataType().(*arrow.TimestampType)
	x := int64(a.Value(i))
	if t.TimeZone != "" { // an instant; DuckDB keeps microseconds
		us, err := scaled64(toMicros(t.Unit))(x)
		if err != nil {
			return ddb.Value{}, err
		}
		return ddb.CreateTimestampTZ(ddb.NewTimestamp(us)), nil
	}
	switch t.Unit {
	case arrow.Second:
		return ddb.CreateTimestampS(ddb.NewTimestampS(x)), nil
	case arrow.Millisecond:
		return ddb.CreateTimestampMS(ddb.NewTimestampMS(x)), nil
	case arrow.Nanosecond:
		return ddb.CreateTimestampNS(ddb.NewTimestampNS(x)), nil
	}
	return ddb.CreateTimestamp(ddb.NewTimestamp(x)), nil
}

func durationValue(a *array.Duration, i int) (ddb.Value, error) {
	us, err := scaled64(toMicros(a.DataType().(*arrow.DurationType).Unit))(int64(a.Value(i)))
	if err != nil {
		return ddb.Value{}, err
	}
	return ddb.CreateInterval(ddb.NewInterval(0, 0, us)), nil
}

func decimalValue(unscaled *big.Int, t arrow.DataType) (ddb.Value, error) {
	d := t.(arrow.DecimalType)
	if d.GetPrecision() < 1 || d.GetPrecision() > 38 || d.GetScale() < 0 || d.GetScale() > d.GetPrecision() {
		return ddb.Value{}, fmt.Errorf("duck: DuckDB has no DECIMAL(%d,%d)", d.GetPrecision(), d.GetScale())
	}
	return newValue(Decimal{unscaled, uint8(d.GetPrecision()), uint8(d.GetScale())}, ddb.TypeInvalid)
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// Text says that an argument is a text. DuckDB gives such a one the type that its place in the statement asks for, as it does to a literal.
func Text(arg any) bool {
	c, ok := arg.(arrowCell)
	if !ok {
		_, ok = arg.(string)
		return ok
	}
	t := c.arr.DataType()
	if d, ok := t.(*arrow.DictionaryType); ok {
		t = d.ValueType
	}
	switch t.ID() {
	case arrow.STRING, arrow.LARGE_STRING, arrow.STRING_VIEW:
		return true
	}
	return false
}
