package plan

import (
	"encoding/hex"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"

	"github.com/vegadb/vega-flight/ivm/row"
)

// What a [Constant]'s Value is, by its type: nil for NULL; bool; int64 for signed integers, dates, times and
// instants (DuckDB's number); uint64 for unsigned ones; *big.Int for HUGEINT, UHUGEINT and a DECIMAL's unscaled value;
// float64; string for text, an ENUM's label and a UUID; []byte for BLOB; [Interval]; [Elements] for LIST, ARRAY,
// STRUCT and MAP (whose elements are STRUCTs of key and value); [Member] for UNION.

// Interval is an INTERVAL's three parts.
type Interval struct {
	Months, Days int32
	Micros       int64
}

// Elements are the values inside a nested one, each of its own type.
type Elements []*Constant

// Member is a UNION's value.
type Member struct {
	Tag   int
	Value *Constant
}

// Bool is a BOOLEAN constant.
func Bool(v bool) *Constant { return &Constant{Typed{boolean, NoPosition}, v} }

// Int is a BIGINT constant.
func Int(v int64) *Constant { return &Constant{Typed{bigint, NoPosition}, v} }

// constant reads a value of DuckDB's JSON.
func (d *decoder) constant(v *tree, depth int) (*Constant, error) {
	t, err := d.typeOf(v.get("type"))
	if err != nil {
		return nil, err
	}
	c := &Constant{Typed: Typed{t, NoPosition}}
	raw := v.get("value")
	if v.bool("is_null") || raw.kind == jsonNull {
		return c, nil
	}
	if depth > 200 {
		return nil, fmt.Errorf("plan: a constant nested too deeply")
	}
	c.Value, err = d.value(t, raw, depth)
	if err != nil {
		return nil, err
	}
	return c, nil
}

func (d *decoder) value(t row.Type, raw *tree, depth int) (any, error) {
	bad := func() (any, error) { return nil, fmt.Errorf("plan: a constant of %s is %.60q", t, raw.compact()) }
	switch t.Kind {
	case row.Bool:
		return raw.text == "true", nil
	case row.Uint8, row.Uint16, row.Uint32, row.Uint64:
		if n, err := strconv.ParseUint(raw.text, 10, 64); err == nil {
			return n, nil
		}
		return bad()
	case row.Int128, row.Uint128:
		if n, ok := huge(raw, t.Kind == row.Int128); ok {
			return n, nil
		}
		return bad()
	case row.Decimal:
		if n, ok := huge(raw, true); ok {
			return n, nil
		}
		return bad()
	case row.Float, row.Double:
		n, err := strconv.ParseFloat(raw.text, 64)
		if err != nil && !isRange(err) {
			return bad()
		}
		return n, nil
	case row.Varchar, row.JSON:
		if raw.kind != jsonString {
			return bad()
		}
		return raw.text, nil
	case row.Enum:
		if i := raw.int(); i >= 0 && i < len(t.Names) {
			return t.Names[i], nil
		}
		return bad()
	case row.UUID:
		if s, ok := uuidText(raw); ok {
			return s, nil
		}
		return bad()
	case row.Blob:
		if b, ok := unescape(raw.text); ok {
			return b, nil
		}
		return bad()
	case row.Interval:
		m, err1 := strconv.ParseInt(raw.get("months").text, 10, 32)
		n, err2 := strconv.ParseInt(raw.get("days").text, 10, 32)
		u, err3 := strconv.ParseInt(raw.get("micros").text, 10, 64)
		if err1 != nil || err2 != nil || err3 != nil {
			return bad()
		}
		return Interval{int32(m), int32(n), u}, nil
	case row.Bit, row.BigNum, row.Geometry, row.Null, row.Invalid:
		return bad()
	case row.List, row.Array, row.Struct, row.Map, row.Union:
		var out Elements
		kids := raw.get("children").list()
		for i := range kids {
			e, err := d.constant(&kids[i], depth+1)
			if err != nil {
				return nil, err
			}
			out = append(out, e)
		}
		return nested(t, out)
	}
	if n, err := strconv.ParseInt(raw.text, 10, 64); err == nil {
		return n, nil
	}
	return bad()
}

// nested checks that elements fit their type, so that whoever prints them need not.
func nested(t row.Type, in Elements) (any, error) {
	bad := fmt.Errorf("plan: a constant of %s has %d parts", t, len(in))
	switch t.Kind {
	case row.Struct:
		if len(in) != len(t.Children) {
			return nil, bad
		}
	case row.Array:
		if len(in) != t.Size {
			return nil, bad
		}
	case row.Map:
		for _, e := range in {
			if kv, ok := e.Value.(Elements); !ok || len(kv) != 2 {
				return nil, bad
			}
		}
	case row.Union:
		if len(in) != len(t.Children)+1 {
			return nil, bad
		}
		tag, ok := in[0].Value.(uint64)
		if !ok || tag >= uint64(len(t.Children)) {
			return nil, bad
		}
		return Member{int(tag), in[tag+1]}, nil
	}
	return in, nil
}

// huge reads an integer that may be written in two halves.
func huge(raw *tree, signed bool) (*big.Int, bool) {
	if raw.kind == jsonNumber {
		return new(big.Int).SetString(raw.text, 10)
	}
	hi, ok1 := new(big.Int).SetString(raw.get("upper").text, 10)
	lo, ok2 := new(big.Int).SetString(raw.get("lower").text, 10)
	if !ok1 || !ok2 || !signed && hi.Sign() < 0 || hi.BitLen() > 64 || lo.BitLen() > 64 || lo.Sign() < 0 {
		return nil, false
	}
	return hi.Add(hi.Lsh(hi, 64), lo), true
}

func uuidText(raw *tree) (string, bool) {
	hi, err1 := strconv.ParseInt(raw.get("upper").text, 10, 64)
	lo, err2 := strconv.ParseUint(raw.get("lower").text, 10, 64)
	if err1 != nil || err2 != nil {
		return "", false
	}
	h := fmt.Sprintf("%016x%016x", uint64(hi)^1<<63, lo) // DuckDB flips the sign bit so that numbers sort as texts do
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:], true
}

// unescape reads DuckDB's text of a BLOB.
func unescape(s string) ([]byte, bool) {
	var out []byte
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			out = append(out, s[i])
			continue
		}
		if i+4 > len(s) || s[i+1] != 'x' {
			return nil, false
		}
		b, err := hex.DecodeString(s[i+2 : i+4])
		if err != nil {
			return nil, false
		}
		out, i = append(out, b[0]), i+3
	}
	return out, true
}

// SQL is a text that DuckDB reads as exactly this value of exactly this type, in any time zone.
func (e *Constant) SQL() string {
	t := e.Type
	if Unnamed(t) {
		return e.unnamedSQL()
	}
	if e.Value == nil {
		if t.Kind == row.Null {
			return "NULL"
		}
		return "CAST(NULL AS " + t.String() + ")"
	}
	as := func(s string) string { return "CAST(" + s + " AS " + t.String() + ")" }
	switch v := e.Value.(type) {
	case bool:
		return strconv.FormatBool(v)
	case int64:
		return as(e.integer(v))
	case uint64:
		return as(strconv.FormatUint(v, 10))
	case *big.Int:
		if t.Kind == row.Decimal {
			return as("'" + decimalText(v, int(t.Scale)) + "'")
		}
		return as("'" + v.String() + "'")
	case float64:
		return as(floatText(v))
	case string:
		if t.Kind == row.Varchar {
			return textSQL(v)
		}
		return as(textSQL(v))
	case []byte:
		return "from_hex('" + hex.EncodeToString(v) + "')"
	case Interval:
		return fmt.Sprintf("(to_months(%d) + to_days(%d) + to_microseconds(%d))", v.Months, v.Days, v.Micros)
	case Elements:
		return as(e.elements(v))
	case Member:
		return as("union_value(" + quoteName(t.Names[v.Tag]) + " := " + v.Value.SQL() + ")")
	}
	return "NULL"
}

// integer is a signed value's own text.
func (e *Constant) integer(v int64) string {
	const day = 86400_000_000
	switch e.Type.Kind {
	case row.Date:
		switch v {
		case math.MaxInt32:
			return "'infinity'"
		case -math.MaxInt32:
			return "'-infinity'"
		}
		return fmt.Sprintf("(DATE '1970-01-01' + CAST(%d AS INTEGER))", v)
	case row.Time:
		if v == day {
			return "'24:00:00'"
		}
		return fmt.Sprintf("make_time(%d, %d, CAST(%d AS DOUBLE) / 1000000)", v/3600_000_000, v/60_000_000%60, v%60_000_000)
	case row.TimeTZ:
		micros, offset, sign := v>>24, 57599-v&0xffffff, '+'
		if offset < 0 {
			offset, sign = -offset, '-'
		}
		return fmt.Sprintf("'%02d:%02d:%02d.%06d%c%02d:%02d:%02d'", micros/3600_000_000, micros/60_000_000%60, micros/1_000_000%60, micros%1_000_000,
			sign, offset/3600, offset/60%60, offset%60)
	case row.TimeNS:
		return fmt.Sprintf("'%02d:%02d:%02d.%09d'", v/3600_000_000_000, v/60_000_000_000%60, v/1_000_000_000%60, v%1_000_000_000)
	case row.Timestamp, row.TimestampTZ, row.TimestampS, row.TimestampMS, row.TimestampNS:
		switch v {
		case math.MaxInt64:
			return "'infinity'"
		case -math.MaxInt64:
			return "'-infinity'"
		}
	}
	switch e.Type.Kind {
	case row.Timestamp:
		return fmt.Sprintf("make_timestamp(CAST(%d AS BIGINT))", v)
	case row.TimestampTZ:
		return fmt.Sprintf("make_timestamptz(CAST(%d AS BIGINT))", v)
	case row.TimestampS:
		return fmt.Sprintf("make_timestamp(CAST(%d AS BIGINT) * 1000000)", v)
	case row.TimestampMS:
		return fmt.Sprintf("make_timestamp_ms(CAST(%d AS BIGINT))", v)
	case row.TimestampNS:
		return fmt.Sprintf("make_timestamp_ns(CAST(%d AS BIGINT))", v)
	}
	if v == math.MinInt64 {
		return "'-9223372036854775808'"
	}
	return strconv.FormatInt(v, 10)
}

func (e *Constant) elements(v Elements) string {
	parts := make([]string, len(v))
	for i, c := range v {
		parts[i] = c.SQL()
	}
	switch e.Type.Kind {
	case row.Struct:
		for i := range parts {
			if e.Type.Names[i] == "" {
				return "row(" + strings.Join(parts, ", ") + ")"
			}
			parts[i] = quoteName(e.Type.Names[i]) + " := " + parts[i]
		}
		return "struct_pack(" + strings.Join(parts, ", ") + ")"
	case row.Map:
		keys, values := make([]string, len(v)), make([]string, len(v))
		for i, c := range v {
			kv := c.Value.(Elements)
			keys[i], values[i] = kv[0].SQL(), kv[1].SQL()
		}
		return "map([" + strings.Join(keys, ", ") + "], [" + strings.Join(values, ", ") + "])"
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

func decimalText(v *big.Int, scale int) string {
	s := new(big.Int).Abs(v).String()
	for len(s) <= scale {
		s = "0" + s
	}
	if scale > 0 {
		s = s[:len(s)-scale] + "." + s[len(s)-scale:]
	}
	if v.Sign() < 0 {
		s = "-" + s
	}
	return s
}

func floatText(v float64) string {
	switch {
	case math.IsNaN(v):
		return "'nan'"
	case math.IsInf(v, 0):
		return "'" + strings.ToLower(strings.TrimPrefix(fmt.Sprint(v), "+")) + "'"
	case v == 0 && math.Signbit(v):
		return "'-0.0'"
	}
	return "'" + strconv.FormatFloat(v, 'g', -1, 64) + "'"
}

// textSQL quotes a text; what a literal cannot hold is written by chr.
func textSQL(s string) string {
	q := func(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
	if !strings.Contains(s, "\x00") {
		return q(s)
	}
	parts := strings.Split(s, "\x00")
	for i := range parts {
		parts[i] = q(parts[i])
	}
	return "(" + strings.Join(parts, " || chr(0) || ") + ")"
}

// quoteName quotes an identifier.
func quoteName(s string) string { return `"` + strings.ReplaceAll(s, `"`, `""`) + `"` }
