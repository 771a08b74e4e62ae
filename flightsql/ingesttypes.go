package flightsql

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/vegadb/vega-flight/ducklake/types"
	"github.com/vegadb/vega-flight/fault"
)

// loadable refuses rows with columns of types that DuckDB does not read, with what to do about each.
func loadable(schema *arrow.Schema) error {
	for _, f := range schema.Fields() {
		if name, _, _ := types.Arrow(f.Type); name != "" {
			continue
		}
		why, todo := unreadable(f.Type)
		return fault.UnstableType.Newf("column %q cannot be loaded: %s", f.Name, why).WithHint("%s", todo)
	}
	return nil
}

// unreadable finds in a type what DuckDB does not read.
func unreadable(t arrow.DataType) (why, todo string) {
	switch t := t.(type) {
	case arrow.DecimalType:
		p, s := t.GetPrecision(), t.GetScale()
		if p > 38 {
			return fmt.Sprintf("DECIMAL(%d,%d) has more than 38 digits", p, s), "cast it to a decimal of at most 38 digits, to a float, or to text"
		}
		return fmt.Sprintf("DECIMAL(%d,%d) has a scale that is not from 0 to its precision", p, s), "cast it to a decimal whose scale is"
	case *arrow.DictionaryType:
		return unreadable(t.ValueType)
	case *arrow.RunEndEncodedType:
		return unreadable(t.Encoded())
	case arrow.ExtensionType:
		return unreadable(t.StorageType())
	case *arrow.FixedSizeListType:
		if t.Len() <= 0 {
			return "it has lists of a fixed length of 0", "leave the column out"
		}
	case *arrow.StructType:
		if t.NumFields() == 0 {
			return "it has a struct without fields", "give the struct a field, or leave it out"
		}
	}
	if nested, ok := t.(arrow.NestedType); ok {
		for _, f := range nested.Fields() {
			if name, _, _ := types.Arrow(f.Type); name == "" {
				return unreadable(f.Type)
			}
		}
	}
	return fmt.Sprintf("DuckDB has no type for Arrow's %s", t), "cast it to another type, or to text"
}
