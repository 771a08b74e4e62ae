package ivm

import (
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// kind is the type of a result's column, in SQL and in Arrow.
type kind struct {
	sql   string
	arrow arrow.DataType
}

var (
	text    = kind{"VARCHAR", arrow.BinaryTypes.String}
	integer = kind{"BIGINT", arrow.PrimitiveTypes.Int64}
	boolean = kind{"BOOLEAN", arrow.FixedWidthTypes.Boolean}
	double  = kind{"DOUBLE", arrow.PrimitiveTypes.Float64}
	instant = kind{"TIMESTAMP WITH TIME ZONE", &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}}
	texts   = kind{"VARCHAR[]", arrow.ListOfField(arrow.Field{Name: "item", Type: arrow.BinaryTypes.String, Nullable: true})}
)

// column is one column of a result whose rows are made from values of T. The
// value is a string, int64, bool, float64, time.Time, []string, or nil for NULL; a zero time is NULL too.
type column[T any] struct {
	name     string
	kind     kind
	required bool // never NULL
	value    func(T) any
	doc      string // one sentence for the reference
}

// table is a fixed list of columns.
type table[T any] []column[T]

// schema is the table's Arrow schema.
func (t table[T]) schema() *arrow.Schema {
	fields := make([]arrow.Field, len(t))
	for i, c := range t {
		fields[i] = arrow.Field{Name: c.name, Type: c.kind.arrow, Nullable: !c.required}
	}
	return arrow.NewSchema(fields, nil)
}

// ddl is CREATE TABLE for the table.
func (t table[T]) ddl(name string) string {
	parts := make([]string, len(t))
	for i, c := range t {
		parts[i] = c.name + " " + c.kind.sql
		if c.required {
			parts[i] += " NOT NULL"
		}
	}
	return "CREATE TABLE " + name + " (" + strings.Join(parts, ", ") + ")"
}

// result makes the table's rows.
func (t table[T]) result(rows ...T) Result {
	schema := t.schema()
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer b.Release()
	b.Reserve(len(rows))
	for _, r := range rows {
		for i, c := range t {
			put(b.Field(i), c.value(r))
		}
	}
	return Result{Schema: schema, Records: b.NewRecordBatch()}
}

func put(to array.Builder, v any) {
	switch v := v.(type) {
	case string:
		to.(*array.StringBuilder).Append(v)
	case int64:
		to.(*array.Int64Builder).Append(v)
	case bool:
		to.(*array.BooleanBuilder).Append(v)
	case float64:
		to.(*array.Float64Builder).Append(v)
	case time.Time:
		if v.IsZero() {
			to.AppendNull()
			return
		}
		to.(*array.TimestampBuilder).Append(arrow.Timestamp(v.UnixMicro()))
	case []string:
		list := to.(*array.ListBuilder)
		list.Append(true)
		for _, s := range v {
			list.ValueBuilder().(*array.StringBuilder).Append(s)
		}
	default:
		to.AppendNull()
	}
}

// orNull is NULL for an empty text.
func orNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}
