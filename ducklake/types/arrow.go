package types

import (
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
)

var arrowPlain = map[arrow.Type]string{
	arrow.NULL: "INTEGER", arrow.BOOL: "BOOLEAN", arrow.INT8: "TINYINT", arrow.INT16: "SMALLINT", arrow.INT32: "INTEGER", arrow.INT64: "BIGINT",
	arrow.UINT8: "UTINYINT", arrow.UINT16: "USMALLINT", arrow.UINT32: "UINTEGER", arrow.UINT64: "UBIGINT",
	arrow.FLOAT16: "FLOAT", arrow.FLOAT32: "FLOAT", arrow.FLOAT64: "DOUBLE",
	arrow.STRING: "VARCHAR", arrow.LARGE_STRING: "VARCHAR", arrow.STRING_VIEW: "VARCHAR",
	arrow.BINARY: "BLOB", arrow.LARGE_BINARY: "BLOB", arrow.BINARY_VIEW: "BLOB", arrow.FIXED_SIZE_BINARY: "BLOB",
	arrow.DATE32: "DATE", arrow.DATE64: "DATE", arrow.TIME32: "TIME", arrow.DURATION: "INTERVAL",
	arrow.INTERVAL_MONTHS: "INTERVAL", arrow.INTERVAL_DAY_TIME: "INTERVAL", arrow.INTERVAL_MONTH_DAY_NANO: "INTERVAL",
}

// Arrow gives the SQL type as which DuckDB reads an Arrow type, and the lake's
// answer to that. An Arrow type that DuckDB does not read is refused, with the type "".
func Arrow(t arrow.DataType) (sqlType, mapped string, verdict Verdict) {
	sqlType = sqlName(t)
	if sqlType == "" {
		return "", "", Refuse
	}
	mapped, verdict = Lake(sqlType)
	return sqlType, mapped, verdict
}

// sqlName spells the type as DuckDB does, but for quotes around field names
// that would need none.
func sqlName(t arrow.DataType) string {
	if name, ok := arrowPlain[t.ID()]; ok {
		return name
	}
	switch t := t.(type) {
	case *arrow.Time64Type:
		if t.Unit == arrow.Nanosecond {
			return "TIME_NS"
		}
		return "TIME"
	case *arrow.TimestampType:
		if t.TimeZone != "" {
			return "TIMESTAMP WITH TIME ZONE"
		}
		return map[arrow.TimeUnit]string{arrow.Second: "TIMESTAMP_S", arrow.Millisecond: "TIMESTAMP_MS", arrow.Microsecond: "TIMESTAMP", arrow.Nanosecond: "TIMESTAMP_NS"}[t.Unit]
	case arrow.DecimalType:
		if p, s := t.GetPrecision(), t.GetScale(); p >= 1 && p <= 38 && s >= 0 && s <= p {
			return fmt.Sprintf("DECIMAL(%d,%d)", p, s)
		}
	case *arrow.DictionaryType:
		return sqlName(t.ValueType)
	case *arrow.RunEndEncodedType:
		return sqlName(t.Encoded())
	case *arrow.MapType:
		return wrap("MAP(", ")", sqlName(t.KeyType()), sqlName(t.ItemType()))
	case *arrow.FixedSizeListType:
		if t.Len() > 0 {
			return wrap("", fmt.Sprintf("[%d]", t.Len()), sqlName(t.Elem()))
		}
	case arrow.ListLikeType:
		return wrap("", "[]", sqlName(t.Elem()))
	case *arrow.StructType:
		return fields("STRUCT(", t.Fields())
	case arrow.UnionType:
		return fields("UNION(", t.Fields())
	case arrow.ExtensionType:
		if t.ExtensionName() == "arrow.uuid" {
			return "UUID"
		}
		return sqlName(t.StorageType())
	}
	return ""
}

// wrap puts the parts together; "" if one is missing.
func wrap(head, tail string, parts ...string) string {
	for _, p := range parts {
		if p == "" {
			return ""
		}
	}
	return head + strings.Join(parts, ", ") + tail
}

func fields(head string, fs []arrow.Field) string {
	if len(fs) == 0 {
		return ""
	}
	parts := make([]string, len(fs))
	for i, f := range fs {
		name := sqlName(f.Type)
		if name == "" {
			return ""
		}
		parts[i] = `"` + strings.ReplaceAll(f.Name, `"`, `""`) + `" ` + name
	}
	return head + strings.Join(parts, ", ") + ")"
}
