package types_test

import (
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/extensions"

	"github.com/vegadb/vega-flight/ducklake/duck"
	"github.com/vegadb/vega-flight/ducklake/types"
)

func TestLake(t *testing.T) {
	for _, x := range []struct {
		typ, want string
		verdict   types.Verdict
	}{
		{"INTEGER", "INTEGER", types.Keep},
		{"DECIMAL(18,3)", "DECIMAL(18,3)", types.Keep},
		{"HUGEINT", "DECIMAL(38,0)", types.Map},
		{"hugeint[]", "DECIMAL(38,0)[]", types.Map},
		{"UHUGEINT[][]", "DECIMAL(38,0)[][]", types.Map},
		{"MAP(HUGEINT, STRUCT(a INTEGER, b HUGEINT[]))", "MAP(DECIMAL(38,0), STRUCT(a INTEGER, b DECIMAL(38,0)[]))", types.Map},
		{`STRUCT("a ""b"", HUGEINT" HUGEINT, "timestamp" TIMESTAMP WITH TIME ZONE)`, `STRUCT("a ""b"", HUGEINT" DECIMAL(38,0), "timestamp" TIMESTAMP WITH TIME ZONE)`, types.Map},
		{"STRUCT(a DECIMAL(38,10), b ENUM('x, y)', 'it''s'))", "STRUCT(a DECIMAL(38,10), b VARCHAR)", types.Map},
		{"FLOAT[768]", "FLOAT[]", types.Map},
		{"INTEGER[3][][2]", "INTEGER[][][]", types.Map},
		{"TIMESTAMP_S", "TIMESTAMP", types.Map},
		{`"NULL"`, "INTEGER", types.Map},
		{"TIMESTAMPTZ", "TIMESTAMPTZ", types.Keep},
		{"TIMETZ", "", types.Refuse},
		{"STRUCT(a INTEGER, b TIME WITH TIME ZONE)", "", types.Refuse},
		{"HUGEINT[]", "DECIMAL(38,0)[]", types.Map},
		{"INTERVAL[]", "", types.Refuse},
		{"UNION(a INTEGER, b VARCHAR)", "", types.Refuse},
		{"STRUCT(INTEGER, VARCHAR)", "", types.Refuse},
		{"STRUCT(TIMESTAMP WITH TIME ZONE)", "", types.Refuse},
		{"VARIANT", "", types.Refuse},
		{"", "", types.Refuse}, {"INTEGER[", "", types.Refuse}, {"MAP(INTEGER)", "", types.Refuse}, {"STRUCT(a", "", types.Refuse}, {"INTEGER)", "", types.Refuse},
		{"DECIMAL(18", "", types.Refuse}, {`STRUCT("a INTEGER)`, "", types.Refuse}, {"INTEGER[0]", "", types.Refuse}, {"mood", "", types.Refuse}, {`"unknown type"`, "", types.Refuse},
	} {
		if mapped, verdict := types.Lake(x.typ); mapped != x.want || verdict != x.verdict {
			t.Errorf("%s: %v %q, want %v %q", x.typ, verdict, mapped, x.verdict, x.want)
		}
		if why, instead := types.Why(x.typ); (why == "") != (x.verdict == types.Keep) || (instead == "") != (why == "") {
			t.Errorf("%s: why %q, instead %q", x.typ, why, instead)
		}
	}
	for _, x := range []struct {
		typ              string
		duckdb, postgres bool
	}{
		{"INTEGER", true, true}, {"DOUBLE", false, true}, {"FLOAT", false, true}, {"VARCHAR[]", true, false}, {"STRUCT(a DOUBLE)", false, false}, {"DECIMAL(4,2)", true, true}, {"?(", false, false},
	} {
		if types.Inlined(x.typ, false) != x.duckdb || types.Inlined(x.typ, true) != x.postgres {
			t.Errorf("%s is inlined: %v, %v", x.typ, types.Inlined(x.typ, false), types.Inlined(x.typ, true))
		}
	}
}

// Arrow types are called what DuckDB calls them when it reads them.
func TestArrow(t *testing.T) {
	db, err := duck.Open("", duck.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	conn, err := db.Connect()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	field := func(name string, t arrow.DataType) arrow.Field {
		return arrow.Field{Name: name, Type: t, Nullable: true}
	}
	i32, text := arrow.PrimitiveTypes.Int32, arrow.BinaryTypes.String
	for _, typ := range []arrow.DataType{
		arrow.Null, arrow.ListOf(arrow.Null), arrow.FixedWidthTypes.Boolean, arrow.PrimitiveTypes.Int8, arrow.PrimitiveTypes.Int16, i32, arrow.PrimitiveTypes.Int64,
		arrow.PrimitiveTypes.Uint8, arrow.PrimitiveTypes.Uint16, arrow.PrimitiveTypes.Uint32, arrow.PrimitiveTypes.Uint64,
		arrow.FixedWidthTypes.Float16, arrow.PrimitiveTypes.Float32, arrow.PrimitiveTypes.Float64,
		text, arrow.BinaryTypes.LargeString, arrow.BinaryTypes.StringView, arrow.BinaryTypes.Binary, arrow.BinaryTypes.LargeBinary, arrow.BinaryTypes.BinaryView,
		&arrow.FixedSizeBinaryType{ByteWidth: 4}, arrow.FixedWidthTypes.Date32, arrow.FixedWidthTypes.Date64, arrow.FixedWidthTypes.Time32s, arrow.FixedWidthTypes.Time32ms,
		arrow.FixedWidthTypes.Time64us, arrow.FixedWidthTypes.Time64ns, &arrow.TimestampType{Unit: arrow.Second}, &arrow.TimestampType{Unit: arrow.Millisecond},
		&arrow.TimestampType{Unit: arrow.Microsecond}, &arrow.TimestampType{Unit: arrow.Nanosecond}, arrow.FixedWidthTypes.Timestamp_ns, arrow.FixedWidthTypes.Duration_s,
		arrow.FixedWidthTypes.MonthInterval, arrow.FixedWidthTypes.DayTimeInterval, arrow.FixedWidthTypes.MonthDayNanoInterval,
		&arrow.Decimal32Type{Precision: 5, Scale: 2}, &arrow.Decimal64Type{Precision: 15}, &arrow.Decimal128Type{Precision: 38, Scale: 38}, &arrow.Decimal256Type{Precision: 20, Scale: 1},
		&arrow.Decimal256Type{Precision: 76}, &arrow.Decimal128Type{Precision: 10, Scale: -1},
		arrow.ListOf(i32), arrow.LargeListOf(text), arrow.ListViewOf(i32), arrow.LargeListViewOf(i32), arrow.FixedSizeListOf(3, i32),
		arrow.ListOf(arrow.FixedSizeListOf(2, arrow.ListOf(text))), arrow.MapOf(text, arrow.ListOf(i32)),
		arrow.StructOf(field("a b", i32), field("q\"q", text)), arrow.StructOf(), arrow.SparseUnionOf([]arrow.Field{field("n!", i32), field("s!", text)}, []arrow.UnionTypeCode{0, 1}),
		&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: text}, arrow.RunEndEncodedOf(i32, text), extensions.NewUUIDType(),
	} {
		want := ""
		schema := arrow.NewSchema([]arrow.Field{field("x", typ)}, nil)
		r, err := array.NewRecordReader(schema, nil)
		if err != nil {
			t.Fatal(err)
		}
		if release, err := conn.RegisterArrow("arrived", r); err == nil {
			rows, err := conn.Rows(t.Context(), "SELECT typeof(x) FROM arrived UNION ALL SELECT column_type FROM (DESCRIBE FROM arrived)")
			if err != nil {
				t.Fatal(err)
			}
			want = rows[0][0].(string)
			release()
		}
		got, mapped, verdict := types.Arrow(typ)
		if got != want {
			t.Errorf("%s is called %q, DuckDB calls it %q", typ, got, want)
		}
		if m, v := types.Lake(got); got != "" && (m != mapped || v != verdict) || got == "" && verdict != types.Refuse {
			t.Errorf("%s: %q, %v", typ, mapped, verdict)
		}
	}
}

func FuzzLake(f *testing.F) {
	for _, s := range []string{"STRUCT(a INTEGER[3], \"b\" MAP(HUGEINT, ENUM('x')))[]", "DECIMAL(4,2)", "UNION(a TIME WITH TIME ZONE)"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		mapped, verdict := types.Lake(s)
		if (mapped == "") != (verdict == types.Refuse) {
			t.Fatalf("%q: %q, %v", s, mapped, verdict)
		}
		if again, v := types.Lake(mapped); verdict != types.Refuse && (v != types.Keep || strings.TrimSpace(again) != strings.TrimSpace(mapped)) {
			t.Fatalf("%q became %q, which becomes %q, %v", s, mapped, again, v)
		}
		types.Why(s)
	})
}
