package duck

import (
	"context"
	"errors"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// Values that DuckDB would believe and cannot hold are refused with an error of the class that is the sender's
// fault, as arguments and in streams; NULLs may have anything beneath.
func TestArrowValuesOutOfRange(t *testing.T) {
	c := open(t)
	integers := func(of arrow.DataType, x int64) arrow.Array {
		if of.(arrow.FixedWidthDataType).BitWidth() == 32 {
			b := array.NewInt32Builder(memory.DefaultAllocator)
			b.AppendValues([]int32{int32(x), int32(x)}, []bool{true, false})
			return retyped(b.NewArray(), of)
		}
		b := array.NewInt64Builder(memory.DefaultAllocator)
		b.AppendValues([]int64{x, x}, []bool{true, false})
		return retyped(b.NewArray(), of)
	}
	for _, x := range []struct {
		of  arrow.DataType
		bad int64
	}{
		{arrow.FixedWidthTypes.Time32s, -1}, {arrow.FixedWidthTypes.Time32s, 86401}, {arrow.FixedWidthTypes.Time32ms, 1<<31 - 1},
		{arrow.FixedWidthTypes.Time64us, -1}, {arrow.FixedWidthTypes.Time64us, 86400e6 + 1}, {arrow.FixedWidthTypes.Time64us, 1<<63 - 1},
		{arrow.FixedWidthTypes.Time64ns, -1}, {arrow.FixedWidthTypes.Time64ns, 86400e9 + 1}, {arrow.FixedWidthTypes.Date64, 1<<63 - 1},
		{arrow.FixedWidthTypes.Duration_s, 1 << 62}, {arrow.FixedWidthTypes.Duration_ms, -1 << 62}, {arrow.FixedWidthTypes.Timestamp_s, 1 << 62},
		{&arrow.TimestampType{Unit: arrow.Millisecond, TimeZone: "UTC"}, 1 << 62},
	} {
		arr := integers(x.of, x.bad)
		if r := rows(t, c, "SELECT ? IS NULL", ArrowValue(arr, 1)); r[0][0] != true {
			t.Errorf("%s: a NULL is %v", x.of, r)
		}
		refused := func(how string, err error) {
			if e := new(Error); !errors.As(err, &e) || e.Type != "Invalid Input" {
				t.Errorf("%s %d, %s: %v", x.of, x.bad, how, err)
			}
		}
		_, err := c.Exec(context.Background(), "SELECT ?", ArrowValue(arr, 0))
		refused("an argument", err)
		schema := arrow.NewSchema([]arrow.Field{{Name: "x", Type: x.of, Nullable: true}}, nil)
		r, err := array.NewRecordReader(schema, []arrow.RecordBatch{array.NewRecordBatch(schema, []arrow.Array{arr}, 2)})
		if err != nil {
			t.Fatal(err)
		}
		release, err := c.RegisterArrow("s", r)
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.Rows(context.Background(), "SELECT count(x) FROM s")
		refused("a stream", err)
		if err := release(); err != nil {
			t.Fatal(err)
		}
	}
}

func retyped(arr arrow.Array, of arrow.DataType) arrow.Array {
	d := arr.Data()
	return array.MakeFromData(array.NewData(of, d.Len(), d.Buffers(), nil, d.NullN(), d.Offset()))
}
