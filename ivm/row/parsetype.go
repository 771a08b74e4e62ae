package row

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/vegadb/vega-flight/fault"
)

var typeNames = map[string]Kind{
	"null": Null, `"null"`: Null, "boolean": Bool, "bool": Bool, "logical": Bool,
	"tinyint": Int8, "int1": Int8, "smallint": Int16, "int2": Int16, "int16": Int16, "short": Int16,
	"integer": Int32, "int": Int32, "int4": Int32, "int32": Int32, "signed": Int32, "integral": Int32,
	"bigint": Int64, "int8": Int64, "int64": Int64, "long": Int64, "oid": Int64,
	"utinyint": Uint8, "uint8": Uint8, "usmallint": Uint16, "uint16": Uint16, "uinteger": Uint32, "uint32": Uint32,
	"ubigint": Uint64, "uint64": Uint64, "hugeint": Int128, "int128": Int128, "uhugeint": Uint128, "uint128": Uint128,
	"float": Float, "real": Float, "float4": Float, "double": Double, "float8": Double, "decimal": Decimal, "numeric": Decimal, "dec": Decimal,
	"date": Date, "time": Time, "time_ns": TimeNS, "timetz": TimeTZ, "timestamp": Timestamp, "datetime": Timestamp, "timestamp_us": Timestamp,
	"timestamp_s": TimestampS, "timestamp_ms": TimestampMS, "timestamp_ns": TimestampNS, "timestamptz": TimestampTZ,
	"interval": Interval, "uuid": UUID, "guid": UUID, "varchar": Varchar, "text": Varchar, "string": Varchar, "char": Varchar, "bpchar": Varchar,
	"nvarchar": Varchar, "json": JSON, "bit": Bit, "bitstring": Bit, "bignum": BigNum, "varint": BigNum,
	"blob": Blob, "bytea": Blob, "binary": Blob, "varbinary": Blob, "geometry": Geometry,
}

// ParseType reads a type as SQL spells it.
func ParseType(s string) (Type, error) {
	p := typeParser{text: s}
	t, err := p.parse()
	if err == nil && p.skip() < len(s) {
		err = p.fail("unexpected %q", s[p.pos:])
	}
	return t, err
}

// MustType is ParseType for texts that are right.
func MustType(s string) Type {
	t, err := ParseType(s)
	if err != nil {
		panic(err)
	}
	return t
}

// MustTypes parses each.
func MustTypes(names ...string) []Type {
	ts := make([]Type, len(names))
	for i, n := range names {
		ts[i] = MustType(n)
	}
	return ts
}

type typeParser struct {
	text string
	pos  int
}

func (p *typeParser) fail(format string, args ...any) error {
	return fault.UnstableType.Newf("the type %q: %s", p.text, fmt.Sprintf(format, args...))
}

func (p *typeParser) skip() int {
	for p.pos < len(p.text) && (p.text[p.pos] == ' ' || p.text[p.pos] == '\n' || p.text[p.pos] == '\t') {
		p.pos++
	}
	return p.pos
}

func (p *typeParser) take(c byte) bool {
	if p.skip() < len(p.text) && p.text[p.pos] == c {
		p.pos++
		return true
	}
	return false
}

// name reads an identifier; quoted says that it was in quotes.
func (p *typeParser) name() (s string, quoted bool, err error) {
	if p.skip() < len(p.text) && (p.text[p.pos] == '"' || p.text[p.pos] == '\'') {
		s, err = p.quoted(p.text[p.pos])
		return s, true, err
	}
	start := p.pos
	for p.pos < len(p.text) {
		c := p.text[p.pos]
		if c != '_' && (c < '0' || c > '9') && (c|32 < 'a' || c|32 > 'z') && c < 0x80 {
			break
		}
		p.pos++
	}
	if p.pos == start {
		return "", false, p.fail("a name is missing at %d", start)
	}
	return p.text[start:p.pos], false, nil
}

func (p *typeParser) quoted(q byte) (string, error) {
	var b strings.Builder
	for p.pos++; p.pos < len(p.text); p.pos++ {
		if p.text[p.pos] == q {
			if p.pos+1 == len(p.text) || p.text[p.pos+1] != q {
				p.pos++
				return b.String(), nil
			}
			p.pos++
		}
		b.WriteByte(p.text[p.pos])
	}
	return "", p.fail("a quote is not closed")
}

func (p *typeParser) number() (int, error) {
	start := p.skip()
	for p.pos < len(p.text) && p.text[p.pos] >= '0' && p.text[p.pos] <= '9' {
		p.pos++
	}
	n, err := strconv.Atoi(p.text[start:p.pos])
	if err != nil {
		return 0, p.fail("a number is missing at %d", start)
	}
	return n, nil
}

// word takes the word if it comes next.
func (p *typeParser) word(w string) bool {
	start := p.skip()
	if n, quoted, err := p.name(); err == nil && !quoted && strings.EqualFold(n, w) {
		return true
	}
	p.pos = start
	return false
}

func (p *typeParser) parse() (Type, error) {
	t, err := p.base()
	for err == nil && p.take('[') {
		if p.take(']') {
			t = Type{Kind: List, Children: []Type{t}}
			continue
		}
		n, nerr := p.number()
		if nerr != nil || n < 1 || !p.take(']') {
			return t, p.fail("an array's size is missing")
		}
		t = Type{Kind: Array, Size: n, Children: []Type{t}}
	}
	return t, err
}

func (p *typeParser) base() (Type, error) {
	name, quoted, err := p.name()
	if err != nil {
		return Type{}, err
	}
	lower := strings.ToLower(name)
	if quoted && lower != "null" {
		return Type{}, p.fail("no such type")
	}
	switch lower {
	case "struct", "row", "union":
		t := Type{Kind: Struct}
		if lower == "union" {
			t.Kind = Union
		}
		return p.members(t)
	case "map":
		return p.mapType()
	case "enum":
		return p.enum()
	}
	k, ok := typeNames[lower]
	if !ok {
		return Type{}, p.fail("no such type")
	}
	t := Type{Kind: k}
	switch k {
	case Decimal:
		return p.decimal()
	case Time, Timestamp:
		if p.word("with") {
			if !p.word("time") || !p.word("zone") {
				return t, p.fail("WITH TIME ZONE is not complete")
			}
			if k == Time {
				t.Kind = TimeTZ
			} else {
				t.Kind = TimestampTZ
			}
		}
	case Double:
		p.word("precision")
	case Varchar:
		if p.take('(') {
			if _, err := p.number(); err != nil || !p.take(')') {
				return t, p.fail("a length is not closed")
			}
		}
		if p.word("collate") {
			for {
				part, _, err := p.name()
				if err != nil {
					return t, err
				}
				t.Collation += part
				if !p.take('.') {
					return t, nil
				}
				t.Collation += "."
			}
		}
	}
	return t, nil
}

func (p *typeParser) decimal() (Type, error) {
	t := Type{Kind: Decimal, Width: 18, Scale: 3}
	if !p.take('(') {
		return t, nil
	}
	w, err := p.number()
	if err != nil {
		return t, err
	}
	s := 0
	if p.take(',') {
		if s, err = p.number(); err != nil {
			return t, err
		}
	}
	if !p.take(')') || w < 1 || w > 38 || s > w {
		return t, p.fail("a DECIMAL has 1 to 38 digits")
	}
	t.Width, t.Scale = uint8(w), uint8(s)
	return t, nil
}

func (p *typeParser) mapType() (Type, error) {
	t := Type{Kind: Map}
	if !p.take('(') {
		return t, p.fail("a MAP has two types")
	}
	k, err := p.parse()
	if err != nil {
		return t, err
	}
	if !p.take(',') {
		return t, p.fail("a MAP has two types")
	}
	v, err := p.parse()
	if err == nil && !p.take(')') {
		err = p.fail("a MAP has two types")
	}
	t.Children = []Type{k, v}
	return t, err
}

func (p *typeParser) enum() (Type, error) {
	t := Type{Kind: Enum}
	if !p.take('(') {
		return t, nil // Arrow metadata leaves the labels out
	}
	for {
		l, _, err := p.name()
		if err != nil {
			return t, err
		}
		t.Names = append(t.Names, l)
		if p.take(')') {
			return t, nil
		}
		if !p.take(',') {
			return t, p.fail("an ENUM's labels are not closed")
		}
	}
}

func (p *typeParser) members(t Type) (Type, error) {
	if !p.take('(') {
		return t, p.fail("its members are missing")
	}
	for {
		start := p.pos
		name, _, err := p.name()
		if err != nil {
			return t, err
		}
		if p.skip(); p.pos < len(p.text) && strings.IndexByte(",()[", p.text[p.pos]) >= 0 { // a field of row(…) has no name
			p.pos, name = start, ""
		}
		c, err := p.parse()
		if err != nil {
			return t, err
		}
		t.Names, t.Children = append(t.Names, name), append(t.Children, c)
		if p.take(')') {
			return t, nil
		}
		if !p.take(',') {
			return t, p.fail("its members are not closed")
		}
	}
}
