package duck

import (
	"fmt"
	"strings"
	"sync"

	ddb "github.com/duckdb/duckdb-go-bindings"
)

// sqlType describes a DuckDB type without a handle of the C API.
type sqlType struct {
	id           ddb.Type
	alias        string     // "JSON", or the name of an extension's type
	width, scale uint8      // of a DECIMAL
	stored       ddb.Type   // the integer that stores a DECIMAL or an ENUM
	labels       []string   // of an ENUM
	size         int        // of an ARRAY
	names        []string   // of a STRUCT's fields, of a UNION's members
	children     []*sqlType // element; key and value; fields; members
}

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
	ddb.TypeBigNum: "BIGNUM", ddb.TypeSQLNull: `"NULL"`, ddb.TypeTimeNS: "TIME_NS",
	ddb.TypeVariant: "VARIANT", ddb.TypeGeometry: "GEOMETRY",
}

// describe reads a type and destroys the handle.
func describe(h ddb.LogicalType) *sqlType {
	defer ddb.DestroyLogicalType(&h)
	if h.Ptr == nil {
		return &sqlType{}
	}
	t := &sqlType{id: ddb.GetTypeId(h)}
	t.alias = ddb.LogicalTypeGetAlias(h)
	switch t.id {
	case ddb.TypeDecimal:
		t.width, t.scale, t.stored = ddb.DecimalWidth(h), ddb.DecimalScale(h), ddb.DecimalInternalType(h)
	case ddb.TypeEnum:
		t.stored = ddb.EnumInternalType(h)
		t.labels = make([]string, ddb.EnumDictionarySize(h))
		for i := range t.labels {
			t.labels[i] = ddb.EnumDictionaryValue(h, ddb.IdxT(i))
		}
	case ddb.TypeList:
		t.children = []*sqlType{describe(ddb.ListTypeChildType(h))}
	case ddb.TypeArray:
		t.size = int(ddb.ArrayTypeArraySize(h))
		t.children = []*sqlType{describe(ddb.ArrayTypeChildType(h))}
	case ddb.TypeMap:
		t.children = []*sqlType{describe(ddb.MapTypeKeyType(h)), describe(ddb.MapTypeValueType(h))}
	case ddb.TypeStruct:
		for i := range ddb.StructTypeChildCount(h) {
			t.names = append(t.names, ddb.StructTypeChildName(h, i))
			t.children = append(t.children, describe(ddb.StructTypeChildType(h, i)))
		}
	case ddb.TypeUnion:
		for i := range ddb.UnionTypeMemberCount(h) {
			t.names = append(t.names, ddb.UnionTypeMemberName(h, i))
			t.children = append(t.children, describe(ddb.UnionTypeMemberType(h, i)))
		}
	}
	return t
}

// String spells the type as SQL understands it; "" for a type that is not decided.
func (t *sqlType) String() string {
	if t.alias != "" && t.id != ddb.TypeEnum { // a named ENUM's name need not be on the search path
		return t.alias
	}
	if name, ok := plainTypes[t.id]; ok {
		return name
	}
	switch t.id {
	case ddb.TypeDecimal:
		return fmt.Sprintf("DECIMAL(%d,%d)", t.width, t.scale)
	case ddb.TypeEnum:
		labels := make([]string, len(t.labels))
		for i, l := range t.labels {
			labels[i] = quoteText(l)
		}
		return "ENUM(" + strings.Join(labels, ", ") + ")"
	case ddb.TypeList:
		return t.children[0].String() + "[]"
	case ddb.TypeArray:
		return fmt.Sprintf("%s[%d]", t.children[0], t.size)
	case ddb.TypeMap:
		return "MAP(" + t.children[0].String() + ", " + t.children[1].String() + ")"
	case ddb.TypeStruct:
		return "STRUCT(" + t.fields() + ")"
	case ddb.TypeUnion:
		return "UNION(" + t.fields() + ")"
	}
	return ""
}

func (t *sqlType) fields() string {
	fields := make([]string, len(t.children))
	for i, c := range t.children {
		fields[i] = c.String()
		if t.names[i] != "" { // the fields of row(…) have no names
			fields[i] = quoteField(t.names[i]) + " " + fields[i]
		}
	}
	return strings.Join(fields, ", ")
}

// known says that the type and all types in it are decided.
func (t *sqlType) known() bool {
	for _, c := range t.children {
		if !c.known() {
			return false
		}
	}
	return t.String() != ""
}

// keywords are DuckDB's, of all kinds; it quotes a name that is one of them.
var keywords = map[string]bool{}
var loadKeywords sync.Once

// quoteField spells a field's name as DuckDB does in types: quoted when needed.
func quoteField(s string) string {
	for i, c := range []byte(s) {
		if !(c == '_' || c >= 'a' && c <= 'z' || i > 0 && c >= '0' && c <= '9') {
			return quoteName(s)
		}
	}
	if keywords[s] {
		return quoteName(s)
	}
	return s
}

func quoteText(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
func quoteName(s string) string { return `"` + strings.ReplaceAll(s, `"`, `""`) + `"` }
