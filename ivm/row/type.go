package row

import (
	"fmt"
	"strings"
)

// Kind is the family of a type.
type Kind uint8

// The kinds. Their numbers are part of checkpoints: append only.
const (
	Invalid Kind = iota
	Null
	Bool
	Int8
	Int16
	Int32
	Int64
	Uint8
	Uint16
	Uint32
	Uint64
	Int128
	Uint128
	Float
	Double
	Decimal
	Date
	Time
	TimeNS
	TimeTZ
	Timestamp
	TimestampS
	TimestampMS
	TimestampNS
	TimestampTZ
	Interval
	UUID
	Varchar
	JSON
	Enum
	Bit
	BigNum
	Blob
	Geometry
	List
	Struct
	Map
	Array
	Union
)

// Type is a DuckDB type.
type Type struct {
	Kind         Kind
	Width, Scale uint8    // of a DECIMAL
	Size         int      // of an ARRAY
	Collation    string   // of a VARCHAR; "" is binary
	Children     []Type   // element; key and value; fields; members
	Names        []string // of fields and members; labels of an ENUM
}

var kindNames = [...]string{
	Null: `"NULL"`, Bool: "BOOLEAN", Int8: "TINYINT", Int16: "SMALLINT", Int32: "INTEGER", Int64: "BIGINT",
	Uint8: "UTINYINT", Uint16: "USMALLINT", Uint32: "UINTEGER", Uint64: "UBIGINT", Int128: "HUGEINT", Uint128: "UHUGEINT",
	Float: "FLOAT", Double: "DOUBLE", Date: "DATE", Time: "TIME", TimeNS: "TIME_NS", TimeTZ: "TIME WITH TIME ZONE",
	Timestamp: "TIMESTAMP", TimestampS: "TIMESTAMP_S", TimestampMS: "TIMESTAMP_MS", TimestampNS: "TIMESTAMP_NS",
	TimestampTZ: "TIMESTAMP WITH TIME ZONE", Interval: "INTERVAL", UUID: "UUID", Varchar: "VARCHAR", JSON: "JSON",
	Bit: "BIT", BigNum: "BIGNUM", Blob: "BLOB", Geometry: "GEOMETRY", Union: "",
}

// Words is how many words a field of the type takes.
func (t Type) Words() int {
	switch t.Kind {
	case Int128, Uint128, Interval, UUID:
		return 2
	case Decimal:
		if t.Width > 18 {
			return 2
		}
		return 1
	}
	if t.Var() {
		return 2
	}
	return 1
}

// Var says that values have no fixed size.
func (t Type) Var() bool { return t.Kind >= Varchar }

// Nested says that values are made of values.
func (t Type) Nested() bool { return t.Kind >= List }

// Text says that values are text in Arrow.
func (t Type) Text() bool { return t.Kind >= Varchar && t.Kind <= BigNum }

// String is the type as DuckDB spells it.
func (t Type) String() string {
	switch t.Kind {
	case Decimal:
		return fmt.Sprintf("DECIMAL(%d,%d)", t.Width, t.Scale)
	case Enum:
		if len(t.Names) == 0 { // as a column's metadata says it
			return "ENUM"
		}
		labels := make([]string, len(t.Names))
		for i, l := range t.Names {
			labels[i] = "'" + strings.ReplaceAll(l, "'", "''") + "'"
		}
		return "ENUM(" + strings.Join(labels, ", ") + ")"
	case List:
		return t.Children[0].String() + "[]"
	case Array:
		return fmt.Sprintf("%s[%d]", t.Children[0], t.Size)
	case Map:
		return "MAP(" + t.Children[0].String() + ", " + t.Children[1].String() + ")"
	case Struct:
		return "STRUCT(" + t.fields() + ")"
	case Union:
		return "UNION(" + t.fields() + ")"
	}
	if int(t.Kind) < len(kindNames) && kindNames[t.Kind] != "" {
		return kindNames[t.Kind]
	}
	return "INVALID"
}

func (t Type) fields() string {
	fields := make([]string, len(t.Children))
	for i, c := range t.Children {
		fields[i] = c.String()
		if i < len(t.Names) && t.Names[i] != "" {
			fields[i] = quoteField(t.Names[i]) + " " + fields[i]
		}
	}
	return strings.Join(fields, ", ")
}

// Equal says that both are the same type; collations count.
func (t Type) Equal(u Type) bool {
	if t.Kind != u.Kind || t.Width != u.Width || t.Scale != u.Scale || t.Size != u.Size || t.Collation != u.Collation ||
		len(t.Children) != len(u.Children) || len(t.Names) != len(u.Names) {
		return false
	}
	for i := range t.Children {
		if !t.Children[i].Equal(u.Children[i]) {
			return false
		}
	}
	for i := range t.Names {
		if t.Names[i] != u.Names[i] {
			return false
		}
	}
	return true
}

// Alike says that values of both are the same words; a collation says only how text is compared.
func (t Type) Alike(u Type) bool {
	t.Collation, u.Collation = "", ""
	return t.Equal(u)
}

func quoteField(s string) string {
	plain := s != "" && !keywords[s]
	for i, c := range []byte(s) {
		plain = plain && (c == '_' || c >= 'a' && c <= 'z' || i > 0 && c >= '0' && c <= '9')
	}
	if plain {
		return s
	}
	return `"` + strings.ReplaceAll(s, `"`, `""`) + `"`
}
