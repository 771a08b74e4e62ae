package flightsql

import (
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/vegadb/vega-flight/ducklake/duck"
	"github.com/vegadb/vega-flight/ducklake/gate"
)

// plainTypes are the Arrow types in which values of SQL types are streamed. For
// parameters they are hints: any type that DuckDB can cast is taken.
var plainTypes = map[string]arrow.DataType{
	"BOOLEAN":                  arrow.FixedWidthTypes.Boolean,
	"TINYINT":                  arrow.PrimitiveTypes.Int8,
	"SMALLINT":                 arrow.PrimitiveTypes.Int16,
	"INTEGER":                  arrow.PrimitiveTypes.Int32,
	"BIGINT":                   arrow.PrimitiveTypes.Int64,
	"UTINYINT":                 arrow.PrimitiveTypes.Uint8,
	"USMALLINT":                arrow.PrimitiveTypes.Uint16,
	"UINTEGER":                 arrow.PrimitiveTypes.Uint32,
	"UBIGINT":                  arrow.PrimitiveTypes.Uint64,
	"HUGEINT":                  &arrow.Decimal128Type{Precision: 38},
	"FLOAT":                    arrow.PrimitiveTypes.Float32,
	"DOUBLE":                   arrow.PrimitiveTypes.Float64,
	"VARCHAR":                  arrow.BinaryTypes.String,
	"UUID":                     arrow.BinaryTypes.String,
	"JSON":                     arrow.BinaryTypes.String,
	"BLOB":                     arrow.BinaryTypes.Binary,
	"DATE":                     arrow.FixedWidthTypes.Date32,
	"TIME":                     arrow.FixedWidthTypes.Time64us,
	"TIMESTAMP":                &arrow.TimestampType{Unit: arrow.Microsecond},
	"TIMESTAMP_S":              &arrow.TimestampType{Unit: arrow.Second},
	"TIMESTAMP_MS":             &arrow.TimestampType{Unit: arrow.Millisecond},
	"TIMESTAMP_NS":             &arrow.TimestampType{Unit: arrow.Nanosecond},
	"TIMESTAMP WITH TIME ZONE": &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"},
	"INTERVAL":                 arrow.FixedWidthTypes.MonthDayNanoInterval,
}

// arrowType is the Arrow type of a SQL type's values, when that needs no look at DuckDB.
func arrowType(sql string) (arrow.DataType, bool) {
	if element, list := strings.CutSuffix(sql, "[]"); list {
		inner, ok := arrowType(element)
		if !ok {
			return nil, false
		}
		return arrow.ListOf(inner), true
	}
	if precision, scale, ok := decimal(sql); ok {
		return &arrow.Decimal128Type{Precision: precision, Scale: scale}, true
	}
	t, ok := plainTypes[sql]
	return t, ok
}

// parameterType is the Arrow type of a parameter of a SQL type; null stands for
// a type that the statement leaves open, or one that has no plain counterpart.
func parameterType(sql string) arrow.DataType {
	if t, ok := arrowType(sql); ok {
		return t
	}
	return arrow.Null
}

// plainSchema is the schema of a result of these columns. It is nil when a type
// is not known from its name alone; instants are known in UTC only, as their type names the zone as DuckDB spells it.
func plainSchema(columns []gate.Column, zone string) *arrow.Schema {
	fields := make([]arrow.Field, len(columns))
	for i, c := range columns {
		t, ok := arrowType(c.Type)
		if !ok || strings.Contains(c.Type, "TIME ZONE") && zone != "UTC" {
			return nil
		}
		fields[i] = arrow.Field{Name: c.Name, Type: t, Nullable: true, Metadata: arrow.NewMetadata([]string{duck.TypeNameKey}, []string{c.Type})}
	}
	return arrow.NewSchema(fields, nil)
}

// decimal takes DECIMAL(p,s) apart.
func decimal(sql string) (precision, scale int32, ok bool) {
	args, ok := strings.CutPrefix(sql, "DECIMAL(")
	if !ok {
		return 0, 0, false
	}
	p, s, ok := strings.Cut(strings.TrimSuffix(args, ")"), ",")
	if !ok {
		return 0, 0, false
	}
	pn, err1 := strconv.ParseInt(strings.TrimSpace(p), 10, 32)
	sn, err2 := strconv.ParseInt(strings.TrimSpace(s), 10, 32)
	return int32(pn), int32(sn), err1 == nil && err2 == nil
}
