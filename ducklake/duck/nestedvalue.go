package duck

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	ddb "github.com/duckdb/duckdb-go-bindings"
)

// values is a list of DuckDB values that are destroyed together: the nested
// value made of them has copies.
type values []ddb.Value

func (vs values) destroy() {
	for i := range vs {
		ddb.DestroyValue(&vs[i])
	}
}

func (vs *values) add(arr arrow.Array, i int) error {
	v, err := cellValue(arr, i)
	if err == nil {
		*vs = append(*vs, v)
	}
	return err
}

func listValue(elements arrow.Array, from, to int, create func(ddb.LogicalType, []ddb.Value) ddb.Value) (ddb.Value, error) {
	var vs values
	defer func() { vs.destroy() }()
	for j := from; j < to; j++ {
		if err := vs.add(elements, j); err != nil {
			return ddb.Value{}, err
		}
	}
	t, err := logicalType(elements.DataType())
	if err != nil {
		return ddb.Value{}, err
	}
	defer ddb.DestroyLogicalType(&t)
	return checked(create(t, vs), elements.DataType())
}

func mapValue(a *array.Map, from, to int) (ddb.Value, error) {
	var keys, items values
	defer func() { keys.destroy(); items.destroy() }()
	for j := from; j < to; j++ {
		if err := keys.add(a.Keys(), j); err != nil {
			return ddb.Value{}, err
		}
		if err := items.add(a.Items(), j); err != nil {
			return ddb.Value{}, err
		}
	}
	t, err := logicalType(a.DataType())
	if err != nil {
		return ddb.Value{}, err
	}
	defer ddb.DestroyLogicalType(&t)
	return checked(ddb.CreateMapValue(t, keys, items), a.DataType())
}

func structValue(a *array.Struct, i int) (ddb.Value, error) {
	var vs values
	defer func() { vs.destroy() }()
	for j := range a.NumField() {
		if err := vs.add(a.Field(j), i); err != nil {
			return ddb.Value{}, err
		}
	}
	t, err := logicalType(a.DataType())
	if err != nil {
		return ddb.Value{}, err
	}
	defer ddb.DestroyLogicalType(&t)
	return checked(ddb.CreateStructValue(t, vs), a.DataType())
}

func unionValue(a array.Union, child, i int) (ddb.Value, error) {
	var vs values
	defer func() { vs.destroy() }()
	if member := a.Field(child); member.IsNull(i) {
		vs = values{typedNull(member.DataType())} // DuckDB takes no other NULL here
	} else if err := vs.add(member, i); err != nil {
		return ddb.Value{}, err
	}
	t, err := logicalType(a.DataType())
	if err != nil {
		return ddb.Value{}, err
	}
	defer ddb.DestroyLogicalType(&t)
	return checked(ddb.CreateUnionValue(t, ddb.IdxT(child), vs[0]), a.DataType())
}

func checked(v ddb.Value, t arrow.DataType) (ddb.Value, error) {
	if v.Ptr == nil {
		return v, fmt.Errorf("duck: DuckDB cannot make a value of the Arrow type %s", t)
	}
	return v, nil
}

var logicalPlain = map[arrow.Type]ddb.Type{
	arrow.NULL: ddb.TypeSQLNull, arrow.BOOL: ddb.TypeBoolean, arrow.INT8: ddb.TypeTinyInt, arrow.INT16: ddb.TypeSmallInt,
	arrow.INT32: ddb.TypeInteger, arrow.INT64: ddb.TypeBigInt, arrow.UINT8: ddb.TypeUTinyInt, arrow.UINT16: ddb.TypeUSmallInt,
	arrow.UINT32: ddb.TypeUInteger, arrow.UINT64: ddb.TypeUBigInt, arrow.FLOAT16: ddb.TypeFloat, arrow.FLOAT32: ddb.TypeFloat,
	arrow.FLOAT64: ddb.TypeDouble, arrow.STRING: ddb.TypeVarchar, arrow.LARGE_STRING: ddb.TypeVarchar, arrow.STRING_VIEW: ddb.TypeVarchar,
	arrow.BINARY: ddb.TypeBlob, arrow.LARGE_BINARY: ddb.TypeBlob, arrow.BINARY_VIEW: ddb.TypeBlob, arrow.FIXED_SIZE_BINARY: ddb.TypeBlob,
	arrow.DATE32: ddb.TypeDate, arrow.DATE64: ddb.TypeDate, arrow.TIME32: ddb.TypeTime, arrow.DURATION: ddb.TypeInterval,
	arrow.INTERVAL_MONTHS: ddb.TypeInterval, arrow.INTERVAL_DAY_TIME: ddb.TypeInterval, arrow.INTERVAL_MONTH_DAY_NANO: ddb.TypeInterval,
}

// logicalType is the DuckDB type of an Arrow type; the caller destroys it.
func logicalType(t arrow.DataType) (ddb.LogicalType, error) {
	if id, ok := logicalPlain[t.ID()]; ok {
		return ddb.CreateLogicalType(id), nil
	}
	switch t := t.(type) {
	case *arrow.Time64Type:
		if t.Unit == arrow.Nanosecond {
			return ddb.CreateLogicalType(ddb.TypeTimeNS), nil
		}
		return ddb.CreateLogicalType(ddb.TypeTime), nil
	case *arrow.TimestampType:
		if t.TimeZone != "" {
			return ddb.CreateLogicalType(ddb.TypeTimestampTZ), nil
		}
		ids := map[arrow.TimeUnit]ddb.Type{arrow.Second: ddb.TypeTimestampS, arrow.Millisecond: ddb.TypeTimestampMS,
			arrow.Microsecond: ddb.TypeTimestamp, arrow.Nanosecond: ddb.TypeTimestampNS}
		return ddb.CreateLogicalType(ids[t.Unit]), nil
	case arrow.DecimalType:
		if t.GetPrecision() >= 1 && t.GetPrecision() <= 38 && t.GetScale() >= 0 && t.GetScale() <= t.GetPrecision() {
			return ddb.CreateDecimalType(uint8(t.GetPrecision()), uint8(t.GetScale())), nil
		}
	case *arrow.DictionaryType:
		return logicalType(t.ValueType)
	case *arrow.RunEndEncodedType:
		return logicalType(t.Encoded())
	case *arrow.MapType:
		return logicalTypes([]arrow.Field{t.KeyField(), t.ItemField()}, func(ts []ddb.LogicalType, _ []string) ddb.LogicalType {
			return ddb.CreateMapType(ts[0], ts[1])
		})
	case *arrow.FixedSizeListType:
		return logicalTypes([]arrow.Field{t.ElemField()}, func(ts []ddb.LogicalType, _ []string) ddb.LogicalType {
			return ddb.CreateArrayType(ts[0], ddb.IdxT(t.Len()))
		})
	case arrow.ListLikeType:
		return logicalTypes([]arrow.Field{t.ElemField()}, func(ts []ddb.LogicalType, _ []string) ddb.LogicalType {
			return ddb.CreateListType(ts[0])
		})
	case *arrow.StructType:
		return logicalTypes(t.Fields(), ddb.CreateStructType)
	case arrow.UnionType:
		return logicalTypes(t.Fields(), ddb.CreateUnionType)
	case arrow.ExtensionType:
		if t.ExtensionName() == "arrow.uuid" {
			return ddb.CreateLogicalType(ddb.TypeUUID), nil
		}
		return logicalType(t.StorageType())
	}
	return ddb.LogicalType{}, fmt.Errorf("duck: DuckDB has no type for the Arrow type %s", t)
}

func logicalTypes(fields []arrow.Field, make func([]ddb.LogicalType, []string) ddb.LogicalType) (ddb.LogicalType, error) {
	var types []ddb.LogicalType
	var names []string
	defer func() {
		for i := range types {
			ddb.DestroyLogicalType(&types[i])
		}
	}()
	for _, f := range fields {
		t, err := logicalType(f.Type)
		if err != nil {
			return ddb.LogicalType{}, err
		}
		types, names = append(types, t), append(names, f.Name)
	}
	made := make(types, names)
	if made.Ptr == nil {
		return made, fmt.Errorf("duck: DuckDB has no such type: %v", fields)
	}
	return made, nil
}
