package duck

import (
	"github.com/apache/arrow-go/v18/arrow"

	ddb "github.com/duckdb/duckdb-go-bindings"
)

// typedNull is the NULL of the type that other values of an Arrow column have,
// so that a statement gives the same types for each of a column's rows. The C API makes
// no such value by itself, but a list's elements get the list's element type.
func typedNull(t arrow.DataType) ddb.Value {
	if d, ok := t.(*arrow.DictionaryType); ok {
		t = d.ValueType
	}
	element, err := logicalType(t)
	if err != nil {
		return ddb.CreateNullValue()
	}
	defer ddb.DestroyLogicalType(&element)
	null := ddb.CreateNullValue()
	defer ddb.DestroyValue(&null)
	list := ddb.CreateListValue(element, []ddb.Value{null})
	if list.Ptr == nil {
		return ddb.CreateNullValue()
	}
	defer ddb.DestroyValue(&list)
	return ddb.GetListChild(list, 0)
}
