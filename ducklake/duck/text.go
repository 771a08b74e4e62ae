package duck

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"time"

	ddb "github.com/duckdb/duckdb-go-bindings"
)

// text is the i-th value, which is not NULL, as DuckDB casts it to VARCHAR.
func (v *vector) text(i int) string {
	switch v.typ.id {
	case ddb.TypeVarchar:
		return v.stringAt(i)
	case ddb.TypeDecimal:
		s := decimalText(v.unscaled(i), int(v.typ.scale))
		if v.typ.scale == v.typ.width { // DuckDB writes no digit before the point then
			s = strings.Replace(s, "0.", ".", 1)
		}
		return s
	case ddb.TypeUUID:
		return uuidText(at[int128](v, i))
	case ddb.TypeEnum:
		return v.typ.labels[v.enumIndex(i)]
	case ddb.TypeTime:
		return clockText(at[int64](v, i)*1000, 6)
	case ddb.TypeTimeNS:
		return clockText(at[int64](v, i), 9)
	case ddb.TypeTimeTZ:
		return timeTZText(at[uint64](v, i))
	case ddb.TypeInterval:
		return intervalText(at[interval](v, i))
	case ddb.TypeBit:
		return bitText(v.bytesAt(i))
	case ddb.TypeBigNum:
		return bigNum(v.bytesAt(i)).String()
	case ddb.TypeList:
		e := at[listEntry](v, i)
		return "[" + v.children[0].elements(int(e.offset), int(e.length)) + "]"
	case ddb.TypeArray:
		n := v.typ.size
		return "[" + v.children[0].elements(i*n, n) + "]"
	case ddb.TypeMap:
		e := at[listEntry](v, i)
		pairs := make([]string, e.length)
		for j := range pairs {
			k := int(e.offset) + j
			pairs[j] = v.children[0].quoted(k) + "=" + v.children[1].quoted(k)
		}
		return "{" + strings.Join(pairs, ", ") + "}"
	case ddb.TypeStruct:
		fields := make([]string, len(v.children))
		named := len(fields) == 0 || v.typ.names[0] != ""
		for j := range v.children {
			fields[j] = v.children[j].quoted(i)
			if named {
				fields[j] = "'" + strings.ReplaceAll(v.typ.names[j], "'", `\'`) + "': " + fields[j]
			}
		}
		if !named { // row(…)
			return "(" + strings.Join(fields, ", ") + ")"
		}
		return "{" + strings.Join(fields, ", ") + "}"
	case ddb.TypeUnion:
		tag := int(at[uint8](&v.children[0], i))
		if member := &v.children[1+tag]; member.valid(i) {
			return member.plain(i)
		}
		return "NULL"
	case ddb.TypeTimestamp, ddb.TypeTimestampTZ, ddb.TypeTimestampS, ddb.TypeTimestampMS, ddb.TypeTimestampNS:
		if t := at[int64](v, i); !finite(t) {
			return infinity(t > 0)
		}
	case ddb.TypeDate:
		if d := at[int32](v, i); d <= -1<<31+1 || d >= 1<<31-1 {
			return infinity(d > 0)
		}
	}
	return v.plain(i)
}

// plain is text for values that Rows gives as Go values.
func (v *vector) plain(i int) string {
	switch x := v.value(i).(type) {
	case string:
		return x
	case time.Time:
		switch v.typ.id {
		case ddb.TypeDate:
			return x.Format("2006-01-02")
		case ddb.TypeTimestampTZ:
			return x.Format("2006-01-02 15:04:05.999999-07")
		}
		return x.Format("2006-01-02 15:04:05.999999999")
	case []byte:
		return blobText(x)
	case float64:
		return floatText(x, v.typ.id == ddb.TypeFloat)
	default:
		return fmt.Sprint(x)
	}
}

func (v *vector) elements(offset, n int) string {
	parts := make([]string, n)
	for j := range parts {
		parts[j] = v.quoted(offset + j)
	}
	return strings.Join(parts, ", ")
}

// quoted is an element of a nested value: text that would not read back as one
// element is quoted.
func (v *vector) quoted(i int) string {
	if !v.valid(i) {
		return "NULL"
	}
	s := v.text(i)
	if len(v.typ.children) > 0 {
		return s
	}
	if s == "" || strings.EqualFold(s, "null") || strings.TrimSpace(s) != s || strings.ContainsAny(s, `,'"[]{}()=:`) {
		return "'" + strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(s) + "'"
	}
	return s
}

func (v *vector) enumIndex(i int) int {
	switch v.typ.stored {
	case ddb.TypeUTinyInt:
		return int(at[uint8](v, i))
	case ddb.TypeUSmallInt:
		return int(at[uint16](v, i))
	}
	return int(at[uint32](v, i))
}

func (v *vector) unscaled(i int) *big.Int {
	switch v.typ.stored {
	case ddb.TypeSmallInt:
		return big.NewInt(int64(at[int16](v, i)))
	case ddb.TypeInteger:
		return big.NewInt(int64(at[int32](v, i)))
	case ddb.TypeBigInt:
		return big.NewInt(at[int64](v, i))
	}
	return at[int128](v, i).big()
}

func decimalText(unscaled *big.Int, scale int) string {
	digits := new(big.Int).Abs(unscaled).String()
	if scale > 0 {
		if len(digits) <= scale {
			digits = strings.Repeat("0", scale-len(digits)+1) + digits
		}
		digits = digits[:len(digits)-scale] + "." + digits[len(digits)-scale:]
	}
	if unscaled.Sign() < 0 {
		return "-" + digits
	}
	return digits
}

func uuidText(u int128) string {
	upper := u.upper ^ 1<<63 // DuckDB flips the top bit so that uuids sort as integers
	return fmt.Sprintf("%08x-%04x-%04x-%04x-%012x",
		upper>>32, upper>>16&0xffff, upper&0xffff, u.lower>>48, u.lower&(1<<48-1))
}

// clockText writes a time of day, without trailing zeros in the fraction.
func clockText(nanos int64, digits int) string {
	s := fmt.Sprintf("%02d:%02d:%02d", nanos/3600e9, nanos/60e9%60, nanos/1e9%60)
	return s + fraction(nanos%1e9, digits)
}

func fraction(nanos int64, digits int) string {
	if nanos == 0 {
		return ""
	}
	f := fmt.Sprintf(".%09d", nanos)[:digits+1]
	if digits == 9 {
		return f
	}
	return strings.TrimRight(f, "0")
}

// timeTZText reads DuckDB's packed TIMETZ: micros above 24 bits of offset,
// counted down from the greatest one so that instants sort.
func timeTZText(bits uint64) string {
	const maxOffset = 16*60*60 - 1
	offset := maxOffset - int(bits&0xffffff)
	s := clockText(int64(bits>>24)*1000, 6)
	sign := "+"
	if offset < 0 {
		sign, offset = "-", -offset
	}
	s += fmt.Sprintf("%s%02d", sign, offset/3600)
	if offset%3600 != 0 {
		s += fmt.Sprintf(":%02d", offset/60%60)
	}
	if offset%60 != 0 {
		s += fmt.Sprintf(":%02d", offset%60)
	}
	return s
}

type interval struct {
	months, days int32
	micros       int64
}

func intervalText(v interval) string {
	var parts []string
	unit := func(n int32, name string) {
		if n == 0 {
			return
		}
		if n != 1 && n != -1 {
			name += "s"
		}
		parts = append(parts, fmt.Sprintf("%d %s", n, name))
	}
	unit(v.months/12, "year")
	unit(v.months%12, "month")
	unit(v.days, "day")
	if v.micros != 0 || len(parts) == 0 {
		sign, us := "", uint64(v.micros)
		if v.micros < 0 {
			sign, us = "-", -us
		}
		clock := fmt.Sprintf("%s%02d:%02d:%02d", sign, us/3600e6, us/60e6%60, us/1e6%60)
		parts = append(parts, clock+fraction(int64(us%1e6)*1000, 6))
	}
	return strings.Join(parts, " ")
}

// bitText reads DuckDB's BIT: a byte with the number of padding bits, then the bits.
func bitText(b []byte) string {
	if len(b) < 2 {
		return ""
	}
	var s strings.Builder
	for i := int(b[0]); i < (len(b)-1)*8; i++ {
		s.WriteByte('0' + b[1+i/8]>>(7-i%8)&1)
	}
	return s.String()
}

// bigNum reads DuckDB's BIGNUM: three header bytes with sign and length, then
// the magnitude, all bits flipped when negative.
func bigNum(b []byte) *big.Int {
	if len(b) < 4 {
		return new(big.Int)
	}
	magnitude := append([]byte{}, b[3:]...)
	negative := b[0]&0x80 == 0
	if negative {
		for i := range magnitude {
			magnitude[i] = ^magnitude[i]
		}
	}
	n := new(big.Int).SetBytes(magnitude)
	if negative {
		n.Neg(n)
	}
	return n
}

func blobText(b []byte) string {
	var s strings.Builder
	for _, c := range b {
		if c < 32 || c > 126 || c == '\\' || c == '\'' || c == '"' {
			fmt.Fprintf(&s, `\x%02X`, c)
			continue
		}
		s.WriteByte(c)
	}
	return s.String()
}

func floatText(f float64, single bool) string {
	bits := 64
	if single {
		bits = 32
	}
	s := strconv.FormatFloat(f, 'g', -1, bits)
	switch s {
	case "+Inf":
		return "inf"
	case "-Inf":
		return "-inf"
	case "NaN":
		return "nan"
	}
	if !strings.ContainsAny(s, ".e") {
		s += ".0"
	}
	return s
}
