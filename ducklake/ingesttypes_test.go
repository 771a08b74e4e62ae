package ducklake_test

import (
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/vegadb/vega-flight/ducklake"
	"github.com/vegadb/vega-flight/ducklake/laketest"
	"github.com/vegadb/vega-flight/fault"
)

// Every Arrow type that clients send is kept as some lake type, with its values; the others are refused by name.
func TestIngestTypes(t *testing.T) {
	c := connect(t, laketest.New(t, laketest.DuckDB))
	list := func(of arrow.DataType) arrow.DataType { return arrow.ListOf(of) }
	for i, test := range []struct {
		typ    arrow.DataType
		json   string // the values
		stored string // its type in the lake, "" when it is refused
		want   string // the values as text, | between
	}{
		{arrow.FixedWidthTypes.Boolean, `[true, null]`, "BOOLEAN", "true|NULL"},
		{arrow.PrimitiveTypes.Int8, `[-128, 127]`, "TINYINT", "-128|127"},
		{arrow.PrimitiveTypes.Uint8, `[255]`, "UTINYINT", "255"},
		{arrow.PrimitiveTypes.Uint64, `[18446744073709551615]`, "UBIGINT", "18446744073709551615"},
		{arrow.PrimitiveTypes.Float32, `[1.5]`, "FLOAT", "1.5"},
		{arrow.BinaryTypes.String, `["a", "", null]`, "VARCHAR", "a||NULL"},
		{arrow.BinaryTypes.LargeString, `["a"]`, "VARCHAR", "a"},
		{arrow.BinaryTypes.StringView, `["a view of more than twelve bytes"]`, "VARCHAR", "a view of more than twelve bytes"},
		{arrow.BinaryTypes.Binary, `["AP8="]`, "BLOB", `\x00\xFF`},
		{arrow.BinaryTypes.LargeBinary, `["AP8="]`, "BLOB", `\x00\xFF`},
		{&arrow.FixedSizeBinaryType{ByteWidth: 2}, `["AP8="]`, "BLOB", `\x00\xFF`},
		{&arrow.Decimal128Type{Precision: 38, Scale: 2}, `["123456789012345678901234567890123456.78"]`, "DECIMAL(38,2)", "123456789012345678901234567890123456.78"},
		{arrow.FixedWidthTypes.Date32, `["2026-02-28"]`, "DATE", "2026-02-28"},
		{arrow.FixedWidthTypes.Date64, `["2026-02-28"]`, "DATE", "2026-02-28"},
		{arrow.FixedWidthTypes.Time64us, `["12:34:56.789012"]`, "TIME", "12:34:56.789012"},
		{&arrow.TimestampType{Unit: arrow.Microsecond}, `["2026-02-28 12:34:56.789012"]`, "TIMESTAMP", "2026-02-28 12:34:56.789012"},
		{&arrow.TimestampType{Unit: arrow.Nanosecond}, `["2026-02-28 12:34:56.789012345"]`, "TIMESTAMP_NS", "2026-02-28 12:34:56.789012345"},
		{&arrow.TimestampType{Unit: arrow.Second}, `["2026-02-28 12:34:56"]`, "TIMESTAMP", "2026-02-28 12:34:56"},
		{&arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}, `["2026-02-28T12:34:56Z"]`, "TIMESTAMP WITH TIME ZONE", "2026-02-28 12:34:56+00"},
		{list(arrow.PrimitiveTypes.Int32), `[[1, null], [], null]`, "INTEGER[]", "[1, NULL]|[]|NULL"},
		{arrow.LargeListOf(arrow.BinaryTypes.String), `[["a"]]`, "VARCHAR[]", "[a]"},
		{arrow.FixedSizeListOf(2, arrow.PrimitiveTypes.Int32), `[[1, 2]]`, "INTEGER[]", "[1, 2]"},
		{list(list(arrow.FixedWidthTypes.Boolean)), `[[[true], []]]`, "BOOLEAN[][]", "[[true], []]"},
		{arrow.StructOf(arrow.Field{Name: "a b", Type: arrow.PrimitiveTypes.Int64, Nullable: true}, arrow.Field{Name: "c", Type: list(arrow.BinaryTypes.String), Nullable: true}),
			`[{"a b": 1, "c": ["x"]}]`, `STRUCT("a b" BIGINT, c VARCHAR[])`, "{'a b': 1, 'c': [x]}"},
		{arrow.MapOf(arrow.BinaryTypes.String, arrow.PrimitiveTypes.Int32), `[[{"key": "k", "value": 7}]]`, "MAP(VARCHAR, INTEGER)", "{k=7}"},
		{&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}, `["x", "y", "x"]`, "VARCHAR", "x|y|x"},
	} {
		t.Run(test.typ.String(), func(t *testing.T) {
			arr, _, err := array.FromJSON(memory.DefaultAllocator, test.typ, strings.NewReader(test.json))
			if err != nil {
				t.Fatal(err)
			}
			schema := arrow.NewSchema([]arrow.Field{{Name: "v", Type: test.typ, Nullable: true}}, nil)
			r, err := array.NewRecordReader(schema, []arrow.RecordBatch{array.NewRecordBatch(schema, []arrow.Array{arr}, int64(arr.Len()))})
			if err != nil {
				t.Fatal(err)
			}
			table := "t" + string(rune('a'+i))
			_, err = c.Ingest(ctx, ducklake.IngestSpec{Table: `"` + table}, r)
			if err != nil {
				t.Fatal(err)
			}
			name := `"""` + table + `"`
			rows := c.rows(`SELECT coalesce(v::VARCHAR, 'NULL') FROM ` + name)
			if got := strings.Join(rows, "|"); got != test.want {
				t.Errorf("kept as %q, want %q", got, test.want)
			}
			c.want(`SELECT typeof(v) FROM `+name+` LIMIT 1`, test.stored)
			// A fixed snapshot of what is inlined is what it is after it was written to Parquet.
			conn, release, err := c.Lake().Acquire(ctx, ducklake.ConnSettings{})
			if err != nil {
				t.Fatal(err)
			}
			_, err = conn.Exec(ctx, `CALL ducklake_flush_inlined_data('lake')`)
			release()
			if err != nil {
				t.Fatal(err)
			}
			if again := c.rows(`SELECT coalesce(v::VARCHAR, 'NULL') FROM ` + name); strings.Join(again, "|") != test.want {
				t.Errorf("flushed as %q, want %q", again, test.want)
			}
		})
	}
}

// What the lake would change is refused before anything is made.
func TestIngestRefusesTypes(t *testing.T) {
	c := connect(t, laketest.New(t, laketest.DuckDB))
	for _, typ := range []arrow.DataType{arrow.FixedWidthTypes.MonthDayNanoInterval, arrow.FixedWidthTypes.Duration_us, arrow.FixedWidthTypes.Time64ns} {
		schema := arrow.NewSchema([]arrow.Field{{Name: "v", Type: typ, Nullable: true}}, nil)
		r, err := array.NewRecordReader(schema, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.Ingest(ctx, ducklake.IngestSpec{Table: "refused"}, r)
		fails(t, err, fault.UnstableType)
	}
	c.want(`SELECT count(*) FROM information_schema.tables WHERE table_name = 'refused'`, "0")
}
