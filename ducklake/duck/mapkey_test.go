package duck

import (
	"context"
	"strconv"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// DuckDB makes maps with NULL keys by some casts; Arrow has none.
func TestNullMapKeys(t *testing.T) {
	c := open(t)
	r, err := c.Query(context.Background(), "SELECT TRY_CAST(MAP {'a': 1} AS MAP(INTEGER, INTEGER)) AS m")
	if err != nil {
		t.Fatal(err)
	}
	if r.Next() {
		t.Error("a map with a NULL key is given")
	}
	if err := r.Err(); err == nil || !strings.Contains(err.Error(), "Map keys can not be NULL") {
		t.Errorf("the error is %v", err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if got := one(t, c, "SELECT 1"); got != int64(1) && got != int32(1) {
		t.Errorf("afterwards the connection gives %v", got)
	}
}

// Arrow's maps may have a key twice, DuckDB's not; different maps have the same keys.
func TestMapKeysTwice(t *testing.T) {
	for name, c := range map[string]struct {
		keys  arrow.DataType
		maps  [][]string
		twice string
	}{
		"text":          {arrow.BinaryTypes.String, [][]string{{"a", "b"}, {"b", "a"}, {"x", "y", "x"}}, `the key x twice`},
		"many":          {arrow.BinaryTypes.String, [][]string{{"0", "1", "2", "3", "4", "5", "6", "7", "8", "0"}}, `the key 0 twice`},
		"numbers":       {arrow.PrimitiveTypes.Int64, [][]string{{"1", "2"}, {}, {"2", "2"}}, `the key 2 twice`},
		"text, right":   {arrow.BinaryTypes.String, [][]string{{"a", "b"}, {"a"}, {}, {"a", "b"}}, ""},
		"number, right": {arrow.PrimitiveTypes.Int64, [][]string{{"1", "2"}, {"1"}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			b := array.NewMapBuilder(memory.DefaultAllocator, c.keys, arrow.PrimitiveTypes.Int32, false)
			for _, m := range c.maps {
				b.Append(true)
				for i, key := range m {
					if err := b.KeyBuilder().AppendValueFromString(key); err != nil {
						t.Fatal(err)
					}
					if err := b.ItemBuilder().AppendValueFromString(strconv.Itoa(i)); err != nil {
						t.Fatal(err)
					}
				}
			}
			column := b.NewArray()
			schema := arrow.NewSchema([]arrow.Field{{Name: "m", Type: column.DataType(), Nullable: true}}, nil)
			batch := array.NewRecordBatch(schema, []arrow.Array{column}, int64(len(c.maps)))
			rows, err := array.NewRecordReader(schema, []arrow.RecordBatch{batch})
			if err != nil {
				t.Fatal(err)
			}
			con := open(t)
			release, err := con.RegisterArrow("rows", rows)
			if err != nil {
				t.Fatal(err)
			}
			defer release()
			n, err := con.Exec(context.Background(), "CREATE TEMP TABLE got AS SELECT m FROM rows")
			switch {
			case c.twice == "" && (err != nil || n != int64(len(c.maps))):
				t.Errorf("%d rows, %v", n, err)
			case c.twice != "" && (err == nil || !strings.Contains(err.Error(), c.twice)):
				t.Errorf("the error is %v", err)
			}
		})
	}
}

// A map's entries may be a part of longer ones: their keys are the part's.
func TestMapKeysOfAPart(t *testing.T) {
	b := array.NewMapBuilder(memory.DefaultAllocator, arrow.BinaryTypes.String, arrow.PrimitiveTypes.Int32, false)
	b.Append(true)
	for i, key := range []string{"x", "x", "y"} {
		b.KeyBuilder().(*array.StringBuilder).Append(key)
		b.ItemBuilder().(*array.Int32Builder).Append(int32(i))
	}
	whole := b.NewMapArray()
	part := array.NewSliceData(whole.ListValues().Data(), 1, 3)
	column := array.NewMapData(array.NewData(whole.DataType(), 1, []*memory.Buffer{nil, memory.NewBufferBytes(arrow.Int32Traits.CastToBytes([]int32{0, 2}))}, []arrow.ArrayData{part}, 0, 0))
	schema := arrow.NewSchema([]arrow.Field{{Name: "m", Type: column.DataType(), Nullable: true}}, nil)
	rows, err := array.NewRecordReader(schema, []arrow.RecordBatch{array.NewRecordBatch(schema, []arrow.Array{column}, 1)})
	if err != nil {
		t.Fatal(err)
	}
	con := open(t)
	release, err := con.RegisterArrow("rows", rows)
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	if got := one(t, con, "SELECT m::VARCHAR FROM rows"); got != "{x=1, y=2}" {
		t.Errorf("the map is %v", got)
	}
}
