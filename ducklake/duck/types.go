package duck

import (
	"fmt"
	"strings"

	ddb "github.com/duckdb/duckdb-go-bindings"
)

var plainTypes = map[ddb.Type]string{
	ddb.TypeBoolean: "BOOLEAN", ddb.TypeTinyInt: "TINYINT", ddb.TypeSmallInt: "SMALLINT",
	ddb.TypeInteger: "INTEGER", ddb.TypeBigInt: "BIGINT", ddb.TypeUTinyInt: "UTINYINT",
	ddb.TypeUSmallInt: "USMALLINT", ddb.TypeUInteger: "UINTEGER", ddb.TypeUBigInt: "UBIGINT",
	ddb.TypeFloat: "FLOAT", ddb.TypeDouble: "DOUBLE", ddb.TypeTimestamp: "TIMESTAMP",
	ddb.TypeDate: "DATE", ddb.TypeTime: "TIME", ddb.TypeInterval: "INTERVAL",
	ddb.TypeHugeInt: "HUGEINT", ddb.TypeUHugeInt: "UHUGEINT", ddb.TypeVarchar: "VARCHAR",
	ddb.TypeBlob: "BLOB", ddb.TypeTimestampS: "TIMESTAMP_S", ddb.TypeTimestampMS: "TIMESTAMP_MS",
	ddb.TypeTimestampNS: "TIMESTAMP_NS", ddb.TypeUUID: "UUID", ddb.TypeBit: "BIT",
	ddb.TypeTimeTZ: "TIME WITH TIME ZONE", ddb.TypeTimestampTZ: "TIMESTAMP WITH TIME ZONE",
	ddb.TypeBigNum: "BIGNUM", ddb.TypeSQLNull: "\"NULL\"", ddb.TypeTimeNS: "TIME_NS",
	ddb.TypeVariant: "VARIANT", ddb.TypeGeometry: "GEOMETRY",
}

// typeName spells a type as SQL understands it; "" for a type that is not decided.
func typeName(t ddb.LogicalType) string {
	id := ddb.GetTypeId(t)
	if alias := ddb.LogicalTypeGetAlias(t); alias != "" && id != ddb.TypeEnum {
		return alias
	}
	if name, ok := plainTypes[id]; ok {
		return name
	}
	switch id {
	case ddb.TypeDecimal:
		return fmt.Sprintf("DECIMAL(%d,%d)", ddb.DecimalWidth(t), ddb.DecimalScale(t))
	case ddb.TypeEnum:
		names := make([]string, ddb.EnumDictionarySize(t))
		for i := range names {
			names[i] = quoteText(ddb.EnumDictionaryValue(t, ddb.IdxT(i)))
		}
		return "ENUM(" + strings.Join(names, ", ") + ")"
	case ddb.TypeList:
		return childName(ddb.ListTypeChildType(t)) + "[]"
	case ddb.TypeArray:
		return fmt.Sprintf("%s[%d]", childName(ddb.ArrayTypeChildType(t)), ddb.ArrayTypeArraySize(t))
	case ddb.TypeMap:
		return "MAP(" + childName(ddb.MapTypeKeyType(t)) + ", " + childName(ddb.MapTypeValueType(t)) + ")"
	case ddb.TypeStruct:
		fields := make([]string, ddb.StructTypeChildCount(t))
		for i := range fields {
			n := ddb.IdxT(i)
			fields[i] = quoteName(ddb.StructTypeChildName(t, n)) + " " + childName(ddb.StructTypeChildType(t, n))
		}
		return "STRUCT(" + strings.Join(fields, ", ") + ")"
	case ddb.TypeUnion:
		members := make([]string, ddb.UnionTypeMemberCount(t))
		for i := range members {
			n := ddb.IdxT(i)
			members[i] = quoteName(ddb.UnionTypeMemberName(t, n)) + " " + childName(ddb.UnionTypeMemberType(t, n))
		}
		return "UNION(" + strings.Join(members, ", ") + ")"
	}
	return ""
}

func childName(t ddb.LogicalType) string {
	defer ddb.DestroyLogicalType(&t)
	return typeName(t)
}

func quoteText(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
func quoteName(s string) string { return `"` + strings.ReplaceAll(s, `"`, `""`) + `"` }
