package duck

import (
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// Each row of an Arrow column binds with the column's type, NULLs too.
func TestNullsHaveTheirColumnsType(t *testing.T) {
	c := open(t)
	for _, x := range []struct {
		t    arrow.DataType
		want string
	}{
		{arrow.Null, `"NULL"`}, {arrow.PrimitiveTypes.Int64, "BIGINT"}, {arrow.BinaryTypes.String, "VARCHAR"}, {arrow.BinaryTypes.Binary, "BLOB"},
		{&arrow.Decimal128Type{Precision: 9, Scale: 2}, "DECIMAL(9,2)"}, {&arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}, "TIMESTAMP WITH TIME ZONE"},
		{arrow.ListOf(arrow.PrimitiveTypes.Int32), "INTEGER[]"}, {arrow.StructOf(arrow.Field{Name: "a", Type: arrow.PrimitiveTypes.Int8}), "STRUCT(a TINYINT)"},
		{arrow.MapOf(arrow.BinaryTypes.String, arrow.PrimitiveTypes.Float64), "MAP(VARCHAR, DOUBLE)"},
		{&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}, "VARCHAR"},
	} {
		b := array.NewBuilder(memory.DefaultAllocator, x.t)
		b.AppendNull()
		null := b.NewArray()
		r := rows(t, c, "SELECT typeof(x), x IS NULL FROM (SELECT ? AS x)", ArrowValue(null, 0))[0]
		if got := strings.ReplaceAll(r[0].(string), `"a"`, "a"); got != x.want || r[1] != true {
			t.Errorf("NULL of %s: %v, want %s", x.t, r, x.want)
		}
	}
}
