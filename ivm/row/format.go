package row

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"
)

// Format is a row as text: "1 | a | NULL". Text is quoted where it would be read as something else.
func (l *Layout) Format(r []uint64, h *Heap) string {
	var dst []byte
	for i := range l.Types {
		if i > 0 {
			dst = append(dst, " | "...)
		}
		dst = l.FormatField(dst, r, i, h)
	}
	return string(dst)
}

// FormatField appends the text of one field.
func (l *Layout) FormatField(dst []byte, r []uint64, i int, h *Heap) []byte {
	t := l.Types[i]
	if l.IsNull(r, i) {
		return append(dst, "NULL"...)
	}
	if t.Var() {
		var buf [Inline]byte
		b := l.Bytes(r, i, h, buf[:])
		if t.Nested() {
			dst, _ = formatNested(dst, t, b)
			return dst
		}
		return formatBytes(dst, t, b)
	}
	w1 := uint64(0)
	if l.wide[i] == 2 {
		w1 = r[l.Off[i]+1]
	}
	return formatWords(dst, t, r[l.Off[i]], w1)
}

func formatBytes(dst []byte, t Type, b []byte) []byte {
	if !t.Text() {
		return hex.AppendEncode(append(dst, `\x`...), b)
	}
	s := string(b)
	switch {
	case strconv.Quote(s) != `"`+s+`"` && strings.ContainsFunc(s, func(c rune) bool { return !strconv.IsPrint(c) }), strings.HasPrefix(s, `"`):
		return strconv.AppendQuote(dst, s)
	case s == "" || strings.ContainsAny(s, "|'[]{},:=") || strings.TrimSpace(s) != s || strings.EqualFold(s, "null"):
		return append(append(append(dst, '\''), strings.ReplaceAll(s, "'", "''")...), '\'')
	}
	return append(dst, s...)
}

// number128 is a number of two words.
func number128(lo, hi uint64, signed bool) *big.Int {
	n := new(big.Int).SetUint64(hi)
	if signed {
		n.SetInt64(int64(hi))
	}
	return n.Lsh(n, 64).Or(n, new(big.Int).SetUint64(lo))
}

func formatWords(dst []byte, t Type, w0, w1 uint64) []byte {
	switch t.Kind {
	case Bool:
		return strconv.AppendBool(dst, w0 != 0)
	case Int8, Int16, Int32, Int64:
		return strconv.AppendInt(dst, int64(w0), 10)
	case Uint8, Uint16, Uint32, Uint64:
		return strconv.AppendUint(dst, w0, 10)
	case Int128, Uint128:
		return number128(w0, w1, t.Kind == Int128).Append(dst, 10)
	case Decimal:
		n := big.NewInt(int64(w0))
		if t.Words() == 2 {
			n = number128(w0, w1, true)
		}
		return appendDecimal(dst, n, int(t.Scale))
	case Float:
		return appendFloat(dst, float64(float32Of(w0)), 32)
	case Double:
		return appendFloat(dst, float64Of(w0), 64)
	case Date:
		return appendDate(dst, int64(int32(w0)), int32(w0) == math.MaxInt32, int32(w0) == -math.MaxInt32)
	case Time:
		return appendClock(dst, int64(w0), 6)
	case TimeNS:
		return appendClock(dst, int64(w0), 9)
	case TimeTZ:
		return appendTimeTZ(dst, w0)
	case Timestamp, TimestampTZ:
		return appendStamp(dst, int64(w0), 6, t.Kind == TimestampTZ)
	case TimestampS:
		return appendStamp(dst, int64(w0), 0, false)
	case TimestampMS:
		return appendStamp(dst, int64(w0), 3, false)
	case TimestampNS:
		return appendStamp(dst, int64(w0), 9, false)
	case Interval:
		return fmt.Appendf(dst, "%dmon %dd %dus", int32(w0>>32), int32(w0), int64(w1))
	case UUID:
		return appendUUID(dst, w0, w1)
	}
	return append(dst, "NULL"...)
}

func appendDecimal(dst []byte, n *big.Int, scale int) []byte {
	if n.Sign() < 0 {
		dst = append(dst, '-')
		n = new(big.Int).Neg(n)
	}
	digits := n.String()
	if scale == 0 {
		return append(dst, digits...)
	}
	if len(digits) <= scale {
		digits = strings.Repeat("0", scale+1-len(digits)) + digits
	}
	at := len(digits) - scale
	return append(append(append(dst, digits[:at]...), '.'), digits[at:]...)
}

func appendFloat(dst []byte, f float64, bits int) []byte {
	switch {
	case math.IsNaN(f):
		return append(dst, "nan"...)
	case math.IsInf(f, 0):
		if f < 0 {
			dst = append(dst, '-')
		}
		return append(dst, "inf"...)
	}
	return strconv.AppendFloat(dst, f, 'g', -1, bits)
}

func appendDate(dst []byte, days int64, inf, neg bool) []byte {
	if inf {
		return append(dst, "infinity"...)
	}
	if neg {
		return append(dst, "-infinity"...)
	}
	return time.Unix(days*86400, 0).UTC().AppendFormat(dst, "2006-01-02")
}

func appendStamp(dst []byte, x int64, digits int, zone bool) []byte {
	if x == math.MaxInt64 {
		return append(dst, "infinity"...)
	}
	if x == -math.MaxInt64 {
		return append(dst, "-infinity"...)
	}
	day := 86400 * pow10(digits)
	d, rest := x/day, x%day
	if rest < 0 {
		d, rest = d-1, rest+day
	}
	dst = appendClock(append(appendDate(dst, d, false, false), ' '), rest, digits)
	if zone {
		dst = append(dst, "+00"...)
	}
	return dst
}

// formatNested appends the text of the value that p begins with, and gives what is behind it.
func formatNested(dst []byte, t Type, p []byte) ([]byte, []byte) {
	n := uint64(len(t.Children))
	switch t.Kind {
	case List, Map:
		var k int
		n, k = binary.Uvarint(p)
		p = p[k:]
	case Array:
		n = uint64(t.Size)
	case Union:
		member := int(p[0])
		dst = append(formatBytes(dst, Type{Kind: Varchar}, []byte(t.Names[member])), ": "...)
		return formatOptional(dst, t.Children[member], p[1:])
	case Struct:
	default:
		if t.Var() {
			n, k := binary.Uvarint(p)
			return formatBytes(dst, t, p[k:k+int(n)]), p[k+int(n):]
		}
		var w [2]uint64
		p = ReadWords(w[:t.Words()], p)
		return formatWords(dst, t, w[0], w[1]), p
	}
	open, end := byte('['), byte(']')
	if t.Kind == Struct || t.Kind == Map {
		open, end = '{', '}'
	}
	dst = append(dst, open)
	for i := range int(n) {
		if i > 0 {
			dst = append(dst, ", "...)
		}
		switch t.Kind {
		case Map:
			dst, p = formatNested(dst, t.Children[0], p)
			dst, p = formatOptional(append(dst, " = "...), t.Children[1], p)
		case Struct:
			dst = append(formatBytes(dst, Type{Kind: Varchar}, []byte(t.Names[i])), ": "...)
			dst, p = formatOptional(dst, t.Children[i], p)
		default:
			dst, p = formatOptional(dst, t.Children[0], p)
		}
	}
	return append(dst, end), p
}

func formatOptional(dst []byte, t Type, p []byte) ([]byte, []byte) {
	if p[0] == 0 {
		return append(dst, "NULL"...), p[1:]
	}
	return formatNested(dst, t, p[1:])
}
