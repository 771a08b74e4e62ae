package duck

import (
	"errors"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	ddb "github.com/duckdb/duckdb-go-bindings"
)

// TypeNameKey is the field metadata that carries a column's SQL type.
const TypeNameKey = "ARROW:FLIGHT:SQL:TYPE_NAME"

// frame is a result's column names and types.
type frame struct {
	names []string
	types []*sqlType
}

func (s *Stmt) frame() frame {
	var f frame
	for i := range ddb.PreparedStatementColumnCount(s.raw) {
		f.names = append(f.names, ddb.PreparedStatementColumnName(s.raw, i))
		f.types = append(f.types, describe(ddb.PreparedStatementColumnLogicalType(s.raw, i)))
	}
	return f
}

func resultFrame(res *ddb.Result) frame {
	var f frame
	for i := range ddb.ColumnCount(res) {
		f.names = append(f.names, ddb.ColumnName(res, i))
		f.types = append(f.types, describe(ddb.ColumnLogicalType(res, i)))
	}
	return f
}

func (f frame) columns() []Column {
	cs := make([]Column, len(f.names))
	for i := range cs {
		cs[i] = Column{Name: f.names[i]}
		if f.types[i].known() {
			cs[i].Type = f.types[i].String()
		}
	}
	return cs
}

// schema is the Arrow schema of the result.
func (f frame) schema(c *Conn) (*arrow.Schema, error) {
	fields := make([]arrow.Field, len(f.names))
	zone := zoneOf(c)
	for i, t := range f.types {
		if !t.known() {
			return nil, ErrUnresolved
		}
		at, err := t.arrow(zone)
		if err != nil {
			if e := new(Error); !errors.As(err, &e) {
				err = newError(fmt.Sprintf("Not implemented Error: column %d (%s): %v", i+1, f.names[i], err), "")
			}
			return nil, err
		}
		fields[i] = arrow.Field{Name: f.names[i], Type: at, Nullable: true,
			Metadata: arrow.NewMetadata([]string{TypeNameKey}, []string{typeName(t)})}
	}
	return arrow.NewSchema(fields, nil), nil
}

// typeName is the SQL type for a field's metadata, without an ENUM's many labels.
func typeName(t *sqlType) string {
	if t.id == ddb.TypeEnum {
		return "ENUM"
	}
	return t.String()
}

// zoneOf gives a function for the session's time zone, which only results with
// instants need. The C API tells it in the Arrow type of such a column only.
func zoneOf(c *Conn) func() (string, error) {
	return func() (string, error) {
		var options ddb.ArrowOptions
		ddb.ConnectionGetArrowOptions(c.raw, &options)
		defer ddb.DestroyArrowOptions(&options)
		instant := ddb.CreateLogicalType(ddb.TypeTimestampTZ)
		defer ddb.DestroyLogicalType(&instant)
		s, ed := ddb.NewArrowSchema(options, []ddb.LogicalType{instant}, []string{"t"})
		if err := c.db.takeError(ed); err != nil {
			return "", err
		}
		return s.Field(0).Type.(*arrow.TimestampType).TimeZone, nil
	}
}

var arrowPlain = map[ddb.Type]arrow.DataType{
	ddb.TypeSQLNull: arrow.Null, ddb.TypeBoolean: arrow.FixedWidthTypes.Boolean,
	ddb.TypeTinyInt: arrow.PrimitiveTypes.Int8, ddb.TypeSmallInt: arrow.PrimitiveTypes.Int16,
	ddb.TypeInteger: arrow.PrimitiveTypes.Int32, ddb.TypeBigInt: arrow.PrimitiveTypes.Int64,
	ddb.TypeUTinyInt: arrow.PrimitiveTypes.Uint8, ddb.TypeUSmallInt: arrow.PrimitiveTypes.Uint16,
	ddb.TypeUInteger: arrow.PrimitiveTypes.Uint32, ddb.TypeUBigInt: arrow.PrimitiveTypes.Uint64,
	ddb.TypeFloat: arrow.PrimitiveTypes.Float32, ddb.TypeDouble: arrow.PrimitiveTypes.Float64,
	ddb.TypeDate: arrow.FixedWidthTypes.Date32,
	ddb.TypeTime: arrow.FixedWidthTypes.Time64us, ddb.TypeTimeNS: arrow.FixedWidthTypes.Time64ns,
	ddb.TypeTimestampS:  &arrow.TimestampType{Unit: arrow.Second},
	ddb.TypeTimestampMS: &arrow.TimestampType{Unit: arrow.Millisecond},
	ddb.TypeTimestamp:   &arrow.TimestampType{Unit: arrow.Microsecond},
	ddb.TypeTimestampNS: &arrow.TimestampType{Unit: arrow.Nanosecond},
	ddb.TypeInterval:    arrow.FixedWidthTypes.MonthDayNanoInterval,
	ddb.TypeBlob:        arrow.BinaryTypes.Binary, ddb.TypeGeometry: arrow.BinaryTypes.Binary,
	ddb.TypeVarchar: arrow.BinaryTypes.String,
	// Arrow has no type that keeps these whole and that clients know.
	ddb.TypeUUID: arrow.BinaryTypes.String, ddb.TypeTimeTZ: arrow.BinaryTypes.String,
	ddb.TypeBit: arrow.BinaryTypes.String, ddb.TypeBigNum: arrow.BinaryTypes.String,
	ddb.TypeEnum: arrow.BinaryTypes.String,
	// 39 digits do not fit: a value that has them is an error when it is read.
	ddb.TypeHugeInt: &arrow.Decimal128Type{Precision: 38}, ddb.TypeUHugeInt: &arrow.Decimal128Type{Precision: 38},
}

// arrow is the Arrow type in which values of t are streamed.
func (t *sqlType) arrow(zone func() (string, error)) (arrow.DataType, error) {
	if at, ok := arrowPlain[t.id]; ok {
		return at, nil
	}
	switch t.id {
	case ddb.TypeTimestampTZ:
		z, err := zone()
		return &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: z}, err
	case ddb.TypeDecimal:
		return &arrow.Decimal128Type{Precision: int32(t.width), Scale: int32(t.scale)}, nil
	case ddb.TypeUnion:
		if len(t.children) > 128 {
			return nil, fmt.Errorf("a UNION of %d members cannot be sent: Arrow has 128 at most", len(t.children))
		}
	case ddb.TypeVariant:
		return nil, fmt.Errorf("VARIANT values cannot be sent; cast them, for example to JSON or VARCHAR")
	}
	children := make([]arrow.DataType, len(t.children))
	for i, c := range t.children {
		var err error
		if children[i], err = c.arrow(zone); err != nil {
			return nil, err
		}
	}
	switch t.id {
	case ddb.TypeList:
		return arrow.ListOf(children[0]), nil
	case ddb.TypeArray:
		return arrow.FixedSizeListOf(int32(t.size), children[0]), nil
	case ddb.TypeMap:
		return arrow.MapOf(children[0], children[1]), nil
	case ddb.TypeStruct:
		return arrow.StructOf(t.arrowFields(children)...), nil
	case ddb.TypeUnion:
		codes := make([]arrow.UnionTypeCode, len(children))
		for i := range codes {
			codes[i] = arrow.UnionTypeCode(i)
		}
		return arrow.SparseUnionOf(t.arrowFields(children), codes), nil
	}
	return nil, fmt.Errorf("values of the type %s cannot be sent", t)
}

func (t *sqlType) arrowFields(types []arrow.DataType) []arrow.Field {
	fields := make([]arrow.Field, len(types))
	for i, at := range types {
		fields[i] = arrow.Field{Name: t.names[i], Type: at, Nullable: true}
		if fields[i].Name == "" {
			fields[i].Name = fmt.Sprintf("f%d", i+1)
		}
	}
	return fields
}
