package flightsql

import (
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
)

// parameterTypes are the Arrow types that clients may send for parameters of a
// SQL type. They are hints: any type that DuckDB can cast is taken.
var parameterTypes = map[string]arrow.DataType{
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

// parameterType is the Arrow type of a parameter of a SQL type; null stands for
// a type that the statement leaves open, or one that has no plain counterpart.
func parameterType(sql string) arrow.DataType {
	if element, list := strings.CutSuffix(sql, "[]"); list {
		if inner := parameterType(element); inner != arrow.Null {
			return arrow.ListOf(inner)
		}
		return arrow.Null
	}
	if precision, scale, ok := decimal(sql); ok {
		return &arrow.Decimal128Type{Precision: precision, Scale: scale}
	}
	if t, ok := parameterTypes[sql]; ok {
		return t
	}
	return arrow.Null
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
