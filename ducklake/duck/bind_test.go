package duck

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/extensions"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/google/uuid"
)

func TestArguments(t *testing.T) {
	c := open(t)
	exec(t, c, "SET TimeZone = 'Asia/Tokyo'")
	at := time.Date(2024, 2, 29, 12, 30, 0, 123456000, time.UTC)
	big38, _ := new(big.Int).SetString("99999999999999999999999999999999999999", 10)
	for _, x := range []struct {
		arg  any
		want string // typeof and value
	}{
		{nil, `"NULL" <nil>`}, {true, "BOOLEAN true"}, {7, "BIGINT 7"}, {int8(-7), "TINYINT -7"}, {int16(7), "SMALLINT 7"}, {int32(7), "INTEGER 7"},
		{uint8(7), "UTINYINT 7"}, {uint16(7), "USMALLINT 7"}, {uint32(7), "UINTEGER 7"}, {uint64(1<<64 - 1), "UBIGINT 18446744073709551615"}, {uint(7), "UBIGINT 7"},
		{float32(1.5), "FLOAT 1.5"}, {1.5, "DOUBLE 1.5"}, {"it's; $1 🦆", "VARCHAR it's; $1 🦆"}, {"nul\x00byte", "VARCHAR nul\x00byte"},
		{[]byte{0, 255}, `BLOB \x00\xFF`}, {[]byte(nil), `"NULL" <nil>`}, {at, "TIMESTAMP WITH TIME ZONE 2024-02-29 21:30:00.123456+09"},
		{90 * time.Minute, "INTERVAL 01:30:00"}, {Interval{14, -3, 1}, "INTERVAL 1 year 2 months -3 days 00:00:00.000001"},
		{big.NewInt(-5), "HUGEINT -5"}, {new(big.Int).Lsh(big.NewInt(-1), 127), "HUGEINT -170141183460469231731687303715884105728"},
		{Decimal{big.NewInt(-12345), 10, 2}, "DECIMAL(10,2) -123.45"}, {Decimal{big38, 38, 0}, "DECIMAL(38,0) " + big38.String()},
		{uuid.MustParse("0123abcd-4567-89ab-cdef-0123456789ab"), "UUID 0123abcd-4567-89ab-cdef-0123456789ab"},
	} {
		r := rows(t, c, "SELECT typeof(x), x::VARCHAR FROM (SELECT ? AS x)", x.arg)[0]
		if got := fmt.Sprintf("%v %v", r[0], r[1]); got != x.want {
			t.Errorf("%T: %s, want %s", x.arg, got, x.want)
		}
	}
	// An instant keeps its UTC reading where a TIMESTAMP is expected.
	exec(t, c, "CREATE TABLE t(ts TIMESTAMP, tz TIMESTAMPTZ, d DATE)")
	exec(t, c, "INSERT INTO t VALUES (?, ?, ?)", at, at, at)
	if r := rows(t, c, "SELECT ts, tz, d FROM t")[0]; r[0] != at || r[1] != at || r[2] != time.Date(2024, 2, 29, 0, 0, 0, 0, time.UTC) {
		t.Fatal(r)
	}
	for _, bad := range []any{struct{}{}, new(big.Int).Lsh(big.NewInt(1), 127), Decimal{big.NewInt(100), 2, 0}, Decimal{big.NewInt(1), 39, 0}} {
		if _, err := c.Exec(context.Background(), "SELECT ?", bad); err == nil {
			t.Errorf("%T was bound", bad)
		}
	}
	if _, err := c.Exec(context.Background(), "SELECT ?, ?", 1); err == nil || !strings.Contains(err.Error(), "2 parameters, 1 values") {
		t.Fatal(err)
	}
	if got := one(t, c, "SELECT $b || $a || $b", "x", "y"); got != "xyx" {
		t.Fatal(got) // named parameters in the order they appear
	}
	// NULL of unknown type goes anywhere.
	exec(t, c, "CREATE TABLE n(i INT, s STRUCT(a INT), l VARCHAR[])")
	exec(t, c, "INSERT INTO n VALUES (?, ?, ?)", nil, nil, nil)
}

func TestPreparedDescribesItself(t *testing.T) {
	c := open(t)
	exec(t, c, "CREATE TABLE t(a INT, b VARCHAR)")
	s, err := c.Prepare(context.Background(), "INSERT INTO t VALUES ($n, $s)")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if fmt.Sprint(s.NumParams(), s.Params(), s.Kind(), s.Columns()) != "2 [{n INTEGER} {s VARCHAR}] INSERT [{Count BIGINT}]" {
		t.Fatal(s.NumParams(), s.Params(), s.Kind(), s.Columns())
	}
	for i := range 100 { // executemany
		if n, err := s.Exec(context.Background(), i, fmt.Sprint(i)); n != 1 || err != nil {
			t.Fatal(n, err)
		}
	}
	if n := exec(t, c, "CREATE TABLE u AS FROM t"); n != 100 {
		t.Fatal(n)
	}
	u, err := c.Prepare(context.Background(), "SELECT a, ? FROM t")
	if err != nil {
		t.Fatal(err)
	}
	defer u.Close()
	if _, err := u.Schema(); !errors.Is(err, ErrUnresolved) || u.Columns() != nil || u.Params()[0].Type != "" {
		t.Fatal(err, u.Columns(), u.Params())
	}
	r, err := u.Query(context.Background(), 1.5)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if got := r.Schema().Field(1).Type; got != arrow.PrimitiveTypes.Float64 || r.Schema().NumFields() != 2 {
		t.Fatal(r.Schema())
	}
	if _, err := c.Prepare(context.Background(), "SELECT 1"); err != ErrBusy {
		t.Fatal(err)
	}
}

// arrowCases are arrays of every Arrow type with DuckDB's reading of their values.
func arrowCases(t testing.TB) map[string]struct {
	arr  arrow.Array
	want []string
} {
	from := func(typ arrow.DataType, json string) arrow.Array {
		a, _, err := array.FromJSON(memory.DefaultAllocator, typ, strings.NewReader(json))
		if err != nil {
			t.Fatalf("%s: %v", typ, err)
		}
		return a
	}
	type c = struct {
		arr  arrow.Array
		want []string
	}
	cases := map[string]c{}
	add := func(typ arrow.DataType, json string, want ...string) {
		cases[fmt.Sprint(typ)] = c{from(typ, json), want}
	}
	add(arrow.Null, `[null, null]`, "NULL", "NULL")
	add(arrow.FixedWidthTypes.Boolean, `[true, null, false]`, "true", "NULL", "false")
	for _, typ := range []arrow.DataType{arrow.PrimitiveTypes.Int8, arrow.PrimitiveTypes.Int16, arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Int64} {
		add(typ, `[1, null, -3]`, "1", "NULL", "-3")
	}
	for _, typ := range []arrow.DataType{arrow.PrimitiveTypes.Uint8, arrow.PrimitiveTypes.Uint16, arrow.PrimitiveTypes.Uint32, arrow.PrimitiveTypes.Uint64} {
		add(typ, `[1, null, 200]`, "1", "NULL", "200")
	}
	for _, typ := range []arrow.DataType{arrow.FixedWidthTypes.Float16, arrow.PrimitiveTypes.Float32, arrow.PrimitiveTypes.Float64} {
		add(typ, `[1.5, null, -3]`, "1.5", "NULL", "-3.0")
	}
	for _, typ := range []arrow.DataType{arrow.BinaryTypes.String, arrow.BinaryTypes.LargeString, arrow.BinaryTypes.StringView} {
		add(typ, `["", null, "twelve bytes", "thirteen byte", "🦆"]`, "", "NULL", "twelve bytes", "thirteen byte", "🦆")
	}
	for _, typ := range []arrow.DataType{arrow.BinaryTypes.Binary, arrow.BinaryTypes.LargeBinary, arrow.BinaryTypes.BinaryView, &arrow.FixedSizeBinaryType{ByteWidth: 2}} {
		add(typ, `["AAE=", null]`, `\x00\x01`, "NULL")
	}
	add(arrow.FixedWidthTypes.Date32, `["2024-02-29", null]`, "2024-02-29", "NULL")
	add(arrow.FixedWidthTypes.Date64, `["1969-12-31", null]`, "1969-12-31", "NULL")
	add(arrow.FixedWidthTypes.Time32s, `["01:02:03", null]`, "01:02:03", "NULL")
	add(arrow.FixedWidthTypes.Time32ms, `["01:02:03.004", null]`, "01:02:03.004", "NULL")
	add(arrow.FixedWidthTypes.Time64us, `["01:02:03.000004", null]`, "01:02:03.000004", "NULL")
	add(arrow.FixedWidthTypes.Time64ns, `["01:02:03.000000004", null]`, "01:02:03.000000004", "NULL")
	for unit, text := range map[arrow.TimeUnit]string{arrow.Second: "", arrow.Millisecond: ".004", arrow.Microsecond: ".000004", arrow.Nanosecond: ".000000004"} {
		add(&arrow.TimestampType{Unit: unit}, `["2024-02-29 01:02:03`+text+`", null]`, "2024-02-29 01:02:03"+text, "NULL")
		if unit == arrow.Nanosecond {
			text = "" // an instant has microseconds
		}
		add(&arrow.TimestampType{Unit: unit, TimeZone: "UTC"}, `["2024-02-29 01:02:03`+text+`Z", null]`, "2024-02-29 01:02:03"+text+"+00", "NULL")
		add(&arrow.DurationType{Unit: unit}, `[3000000000, null]`, map[arrow.TimeUnit]string{arrow.Second: "833333:20:00", arrow.Millisecond: "833:20:00", arrow.Microsecond: "00:50:00", arrow.Nanosecond: "00:00:03"}[unit], "NULL")
	}
	add(arrow.FixedWidthTypes.MonthInterval, `[{"months": 14}, null]`, "1 year 2 months", "NULL")
	add(arrow.FixedWidthTypes.DayTimeInterval, `[{"days": -1, "milliseconds": 1500}, null]`, "-1 day 00:00:01.5", "NULL")
	add(arrow.FixedWidthTypes.MonthDayNanoInterval, `[{"months": 1, "days": 2, "nanoseconds": 3000}, null]`, "1 month 2 days 00:00:00.000003", "NULL")
	for _, typ := range []arrow.DataType{&arrow.Decimal32Type{Precision: 4, Scale: 2}, &arrow.Decimal32Type{Precision: 9, Scale: 2}, &arrow.Decimal64Type{Precision: 18, Scale: 2},
		&arrow.Decimal128Type{Precision: 4, Scale: 2}, &arrow.Decimal128Type{Precision: 18, Scale: 2}, &arrow.Decimal128Type{Precision: 38, Scale: 2}, &arrow.Decimal256Type{Precision: 38, Scale: 2}} {
		add(typ, `["-1.25", null, "99.99"]`, "-1.25", "NULL", "99.99")
	}
	list := `[[1, null, 3], null, [], [4]]`
	for _, typ := range []arrow.DataType{arrow.ListOf(arrow.PrimitiveTypes.Int32), arrow.LargeListOf(arrow.PrimitiveTypes.Int32), arrow.ListViewOf(arrow.PrimitiveTypes.Int32), arrow.LargeListViewOf(arrow.PrimitiveTypes.Int32)} {
		add(typ, list, "[1, NULL, 3]", "NULL", "[]", "[4]")
	}
	add(arrow.ListOf(arrow.ListOf(arrow.BinaryTypes.String)), `[[["a"], null, []], [["b", null]]]`, "[[a], NULL, []]", "[[b, NULL]]")
	add(arrow.FixedSizeListOf(2, arrow.PrimitiveTypes.Int32), `[[1, 2], null, [3, null]]`, "[1, 2]", "NULL", "[3, NULL]")
	add(arrow.StructOf(arrow.Field{Name: "a", Type: arrow.PrimitiveTypes.Int32, Nullable: true}, arrow.Field{Name: "b", Type: arrow.ListOf(arrow.BinaryTypes.String), Nullable: true}),
		`[{"a": 1, "b": ["x"]}, null, {"a": null, "b": null}]`, "{'a': 1, 'b': [x]}", "NULL", "{'a': NULL, 'b': NULL}")
	add(arrow.MapOf(arrow.BinaryTypes.String, arrow.PrimitiveTypes.Int32), `[[{"key": "k", "value": 1}, {"key": "l", "value": null}], null, []]`, "{k=1, l=NULL}", "NULL", "{}")
	add(&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}, `["a", null, "a", "b"]`, "a", "NULL", "a", "b")
	members := []arrow.Field{{Name: "n", Type: arrow.PrimitiveTypes.Int32, Nullable: true}, {Name: "s", Type: arrow.BinaryTypes.String, Nullable: true}}
	add(arrow.SparseUnionOf(members, []arrow.UnionTypeCode{3, 5}), `[[3, 1], [5, "x"], [5, null]]`, "1", "x", "NULL")
	add(arrow.DenseUnionOf(members, []arrow.UnionTypeCode{3, 5}), `[[3, 1], [5, "x"], [5, null]]`, "1", "x", "NULL")
	runs := array.NewRunEndEncodedBuilder(memory.DefaultAllocator, arrow.PrimitiveTypes.Int32, arrow.BinaryTypes.String)
	for _, run := range []string{"a", "", "b"} {
		if run == "" {
			runs.AppendNull()
			continue
		}
		runs.Append(2)
		runs.ValueBuilder().(*array.StringBuilder).Append(run)
	}
	cases["run-end encoded"] = c{runs.NewArray(), []string{"a", "a", "NULL", "b", "b"}}
	ids := extensions.NewUUIDBuilder(memory.DefaultAllocator)
	ids.Append(uuid.MustParse("0123abcd-4567-89ab-cdef-0123456789ab"))
	ids.AppendNull()
	cases["uuid"] = c{ids.NewArray(), []string{"0123abcd-4567-89ab-cdef-0123456789ab", "NULL"}}
	return cases
}

func TestArrowCellsAsArguments(t *testing.T) {
	c := open(t)
	exec(t, c, "SET TimeZone = 'UTC'")
	for name, x := range arrowCases(t) {
		for i, want := range x.want {
			r, err := c.Rows(context.Background(), "SELECT coalesce(?::VARCHAR, 'NULL')", ArrowValue(x.arr, i))
			if err != nil {
				t.Errorf("%s: %v", name, err)
			} else if r[0][0] != want {
				t.Errorf("%s, cell %d: %v, want %s", name, i, r[0][0], want)
			}
		}
	}
	if _, err := c.Exec(context.Background(), "SELECT ?", ArrowValue(array.NewNull(1), 1)); err == nil {
		t.Error("a cell outside of its array was bound")
	}
}

// Every Arrow type is scanned, whole and as slices that begin anywhere.
func TestArrowTypesAsTable(t *testing.T) {
	c := open(t)
	exec(t, c, "SET TimeZone = 'UTC'")
	for name, x := range arrowCases(t) {
		whole := make([]arrow.Array, 1000) // several vectors long
		var want []any
		for i := range whole {
			whole[i] = x.arr
			for _, w := range x.want {
				want = append(want, w)
			}
		}
		long, err := array.Concatenate(whole, memory.DefaultAllocator)
		if err != nil {
			long, want = x.arr, want[:x.arr.Len()]
		}
		for _, cut := range []int{0, 1} {
			arr := array.NewSlice(long, int64(cut), int64(long.Len()))
			schema := arrow.NewSchema([]arrow.Field{{Name: "x", Type: arr.DataType(), Nullable: true}}, nil)
			r, err := array.NewRecordReader(schema, []arrow.RecordBatch{array.NewRecordBatch(schema, []arrow.Array{arr}, int64(arr.Len()))})
			if err != nil {
				t.Fatal(err)
			}
			release, err := c.RegisterArrow("s", r)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			got, err := c.Rows(context.Background(), "SELECT coalesce(x::VARCHAR, 'NULL') FROM s")
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if err == nil && len(got) != len(want)-cut {
				t.Errorf("%s: %d rows, want %d", name, len(got), len(want)-cut)
			}
			for i := range got {
				if got[i][0] != want[cut+i] {
					t.Errorf("%s, row %d of the slice from %d: %v, want %s", name, i, cut, got[i][0], want[cut+i])
					break
				}
			}
			release()
		}
	}
}
