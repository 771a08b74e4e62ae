package row

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/vegadb/vega-flight/fault"
)

// typeNameKey is the field metadata that carries a column's SQL type.
const typeNameKey = "ARROW:FLIGHT:SQL:TYPE_NAME"

var arrowTypes = map[Kind]arrow.DataType{
	Null: arrow.Null, Bool: arrow.FixedWidthTypes.Boolean,
	Int8: arrow.PrimitiveTypes.Int8, Int16: arrow.PrimitiveTypes.Int16, Int32: arrow.PrimitiveTypes.Int32, Int64: arrow.PrimitiveTypes.Int64,
	Uint8: arrow.PrimitiveTypes.Uint8, Uint16: arrow.PrimitiveTypes.Uint16, Uint32: arrow.PrimitiveTypes.Uint32, Uint64: arrow.PrimitiveTypes.Uint64,
	Int128: &arrow.Decimal128Type{Precision: 38}, Uint128: &arrow.Decimal128Type{Precision: 38},
	Float: arrow.PrimitiveTypes.Float32, Double: arrow.PrimitiveTypes.Float64, Date: arrow.FixedWidthTypes.Date32,
	Time: arrow.FixedWidthTypes.Time64us, TimeNS: arrow.FixedWidthTypes.Time64ns, TimeTZ: arrow.BinaryTypes.String,
	Timestamp: &arrow.TimestampType{Unit: arrow.Microsecond}, TimestampS: &arrow.TimestampType{Unit: arrow.Second},
	TimestampMS: &arrow.TimestampType{Unit: arrow.Millisecond}, TimestampNS: &arrow.TimestampType{Unit: arrow.Nanosecond},
	Interval: arrow.FixedWidthTypes.MonthDayNanoInterval, UUID: arrow.BinaryTypes.String,
	Varchar: arrow.BinaryTypes.String, JSON: arrow.BinaryTypes.String, Enum: arrow.BinaryTypes.String,
	Bit: arrow.BinaryTypes.String, BigNum: arrow.BinaryTypes.String,
	Blob: arrow.BinaryTypes.Binary, Geometry: arrow.BinaryTypes.Binary,
}

// Arrow is the Arrow type that values of t have in and out of DuckDB; zone is
// that of instants.
func (t Type) Arrow(zone string) (arrow.DataType, error) {
	if at, ok := arrowTypes[t.Kind]; ok {
		return at, nil
	}
	children := make([]arrow.DataType, len(t.Children))
	for i, c := range t.Children {
		var err error
		if children[i], err = c.Arrow(zone); err != nil {
			return nil, err
		}
	}
	switch t.Kind {
	case Decimal:
		return &arrow.Decimal128Type{Precision: int32(t.Width), Scale: int32(t.Scale)}, nil
	case TimestampTZ:
		return &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: zone}, nil
	case List:
		return arrow.ListOf(children[0]), nil
	case Array:
		return arrow.FixedSizeListOf(int32(t.Size), children[0]), nil
	case Map:
		return arrow.MapOf(children[0], children[1]), nil
	case Struct:
		return arrow.StructOf(t.arrowFields(children)...), nil
	case Union:
		if len(children) > 128 {
			return nil, fault.UnstableType.Newf("a UNION of %d members: Arrow has 128 at most", len(children))
		}
		codes := make([]arrow.UnionTypeCode, len(children))
		for i := range codes {
			codes[i] = arrow.UnionTypeCode(i)
		}
		return arrow.SparseUnionOf(t.arrowFields(children), codes), nil
	}
	return nil, fault.UnstableType.Newf("rows have no values of the type %s", t)
}

func (t Type) arrowFields(types []arrow.DataType) []arrow.Field {
	fields := make([]arrow.Field, len(types))
	for i, at := range types {
		fields[i] = arrow.Field{Name: t.Names[i], Type: at, Nullable: true}
		if fields[i].Name == "" {
			fields[i].Name = fmt.Sprintf("f%d", i+1)
		}
	}
	return fields
}

// Schema is the Arrow schema of rows; fields carry their SQL types. No zone is UTC.
func (l *Layout) Schema(names []string, zone string) (*arrow.Schema, error) {
	if zone == "" {
		zone = "UTC"
	}
	fields := make([]arrow.Field, len(l.Types))
	for i, t := range l.Types {
		at, err := t.Arrow(zone)
		if err != nil {
			return nil, err
		}
		fields[i] = arrow.Field{Type: at, Nullable: true, Metadata: arrow.NewMetadata([]string{typeNameKey}, []string{t.String()})}
		if i < len(names) {
			fields[i].Name = names[i]
		} else {
			fields[i].Name = fmt.Sprintf("c%d", i)
		}
	}
	return arrow.NewSchema(fields, nil), nil
}

// FromSchema is the layout of a schema whose fields carry their SQL types.
func FromSchema(s *arrow.Schema) (*Layout, error) {
	types := make([]Type, s.NumFields())
	for i, f := range s.Fields() {
		name, ok := f.Metadata.GetValue(typeNameKey)
		if !ok {
			return nil, fault.UnstableType.Newf("the column %s does not say its SQL type", f.Name)
		}
		var err error
		if types[i], err = ParseType(name); err != nil {
			return nil, err
		}
	}
	return NewLayout(types...), nil
}
