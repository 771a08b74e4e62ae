package row

import (
	"encoding/binary"
	"encoding/hex"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"

	"github.com/vegadb/vega-flight/fault"
)

// ParseRow reads what Format writes into a zeroed row, its long values into h.
func (l *Layout) ParseRow(dst []uint64, text string, h *Heap) error {
	p := rowParser{text: text}
	for i, t := range l.Types {
		if i > 0 && !p.take('|') {
			return p.fail("field %d is missing", i+1)
		}
		if err := l.parseField(dst, i, t, &p, h); err != nil {
			return err
		}
	}
	if p.skip(); p.pos < len(text) {
		return p.fail("unexpected %q", text[p.pos:])
	}
	return nil
}

func (l *Layout) parseField(dst []uint64, i int, t Type, p *rowParser, h *Heap) error {
	if t.Nested() {
		b, null, err := p.nested(nil, t)
		if err == nil && null {
			l.SetNull(dst, i)
		} else if err == nil {
			l.SetBytes(dst, i, b, h)
		}
		return err
	}
	s, quoted, err := p.value("|")
	if err != nil {
		return err
	}
	if !quoted && strings.EqualFold(s, "null") {
		l.SetNull(dst, i)
		return nil
	}
	if t.Var() {
		b, err := parseBytes(t, s)
		l.SetBytes(dst, i, b, h)
		return err
	}
	w0, w1, err := parseWords(t, s)
	if err != nil {
		return err
	}
	if l.wide[i] == 2 {
		l.Set2(dst, i, w0, w1)
	} else {
		l.Set(dst, i, w0)
	}
	return nil
}

type rowParser struct {
	text string
	pos  int
}

func (p *rowParser) fail(format string, args ...any) error {
	e := fault.InvalidParameter.Newf(format, args...)
	e.Message = "the row " + strconv.Quote(p.text) + ": " + e.Message
	return e
}

func (p *rowParser) skip() {
	for p.pos < len(p.text) && p.text[p.pos] == ' ' {
		p.pos++
	}
}

func (p *rowParser) take(c byte) bool {
	if p.skip(); p.pos < len(p.text) && p.text[p.pos] == c {
		p.pos++
		return true
	}
	return false
}

// value reads up to one of the stops, or what is in quotes.
func (p *rowParser) value(stops string) (s string, quoted bool, err error) {
	p.skip()
	rest := p.text[p.pos:]
	switch {
	case strings.HasPrefix(rest, `"`):
		q, err := strconv.QuotedPrefix(rest)
		if err != nil {
			return "", true, p.fail("a quote is not closed")
		}
		p.pos += len(q)
		s, _ = strconv.Unquote(q)
		return s, true, nil
	case strings.HasPrefix(rest, "'"):
		var b strings.Builder
		for i := 1; i < len(rest); i++ {
			if rest[i] == '\'' {
				if i+1 == len(rest) || rest[i+1] != '\'' {
					p.pos += i + 1
					return b.String(), true, nil
				}
				i++
			}
			b.WriteByte(rest[i])
		}
		return "", true, p.fail("a quote is not closed")
	}
	n := strings.IndexAny(rest, stops)
	if n < 0 {
		n = len(rest)
	}
	p.pos += n
	return strings.TrimSpace(rest[:n]), false, nil
}

func parseBytes(t Type, s string) ([]byte, error) {
	if t.Text() {
		return []byte(s), nil
	}
	b, err := hex.DecodeString(strings.TrimPrefix(s, `\x`))
	if err != nil {
		return nil, fault.InvalidParameter.Newf("%q is no %s", s, t)
	}
	return b, nil
}

// nested appends the bytes of a value to dst, for scalars too.
func (p *rowParser) nested(dst []byte, t Type) (b []byte, null bool, err error) {
	p.skip()
	open, end := byte('['), byte(']')
	if t.Kind == Struct || t.Kind == Map {
		open, end = '{', '}'
	}
	if !t.Nested() || t.Kind == Union || p.pos >= len(p.text) || p.text[p.pos] != open {
		return p.leaf(dst, t)
	}
	p.pos++
	var items []byte
	n := 0
	for !p.take(end) {
		if n > 0 && !p.take(',') {
			return dst, false, p.fail("a value of %s is not closed", t)
		}
		elem := Type{}
		switch t.Kind {
		case Map:
			if items, null, err = p.nested(items, t.Children[0]); err == nil && (null || !p.take('=')) {
				err = p.fail("a MAP has entries key = value")
			}
			elem = t.Children[1]
		case Struct:
			if _, _, err = p.value(":"); err == nil && (n >= len(t.Children) || !p.take(':')) {
				err = p.fail("a value of %s has other fields", t)
			}
			if err == nil {
				elem = t.Children[n]
			}
		default:
			elem = t.Children[0]
		}
		if err != nil {
			return dst, false, err
		}
		if items, err = p.optional(items, elem); err != nil {
			return dst, false, err
		}
		n++
	}
	switch {
	case t.Kind == List || t.Kind == Map:
		dst = binary.AppendUvarint(dst, uint64(n))
	case t.Kind == Array && n != t.Size || t.Kind == Struct && n != len(t.Children):
		return dst, false, p.fail("a value of %s has not %d parts", t, n)
	}
	return append(dst, items...), false, nil
}

func (p *rowParser) optional(dst []byte, t Type) ([]byte, error) {
	at := len(dst)
	dst, null, err := p.nested(append(dst, 1), t)
	if null {
		dst = append(dst[:at], 0)
	}
	return dst, err
}

// leaf reads a scalar, a union or NULL.
func (p *rowParser) leaf(dst []byte, t Type) ([]byte, bool, error) {
	stops := "|,]}="
	if t.Kind == Union {
		stops += ":"
	} else if !t.Var() {
		stops = "|,]}="
	}
	s, quoted, err := p.value(stops)
	if err != nil {
		return dst, false, err
	}
	if !quoted && strings.EqualFold(s, "null") {
		return dst, true, nil
	}
	switch {
	case t.Kind == Union:
		for i, name := range t.Names {
			if name == s && p.take(':') {
				dst, err = p.optional(append(dst, byte(i)), t.Children[i])
				return dst, false, err
			}
		}
		return dst, false, p.fail("%q is no member of %s", s, t)
	case t.Nested():
		return dst, false, p.fail("%q is no value of %s", s, t)
	case t.Var():
		b, err := parseBytes(t, s)
		return append(binary.AppendUvarint(dst, uint64(len(b))), b...), false, err
	}
	w0, w1, err := parseWords(t, s)
	return AppendWords(dst, []uint64{w0, w1}[:t.Words()]), false, err
}

func parseWords(t Type, s string) (w0, w1 uint64, err error) {
	bad := func() (uint64, uint64, error) { return 0, 0, fault.InvalidParameter.Newf("%q is no %s", s, t) }
	bits := map[Kind]int{Int8: 8, Int16: 16, Int32: 32, Int64: 64, Uint8: 8, Uint16: 16, Uint32: 32, Uint64: 64}[t.Kind]
	switch t.Kind {
	case Bool:
		b, err := strconv.ParseBool(s)
		if err != nil {
			return bad()
		}
		if b {
			return 1, 0, nil
		}
		return 0, 0, nil
	case Int8, Int16, Int32, Int64:
		n, err := strconv.ParseInt(s, 10, bits)
		if err != nil {
			return bad()
		}
		return uint64(n), 0, nil
	case Uint8, Uint16, Uint32, Uint64:
		n, err := strconv.ParseUint(s, 10, bits)
		if err != nil {
			return bad()
		}
		return n, 0, nil
	case Float, Double:
		f, err := strconv.ParseFloat(s, 64)
		if err != nil {
			return bad()
		}
		if t.Kind == Float {
			return uint64(math.Float32bits(float32(f))), 0, nil
		}
		return math.Float64bits(f), 0, nil
	case Int128, Uint128, Decimal:
		whole, frac, _ := strings.Cut(s, ".")
		if len(frac) > int(t.Scale) {
			return bad()
		}
		n, ok := new(big.Int).SetString(whole+frac+strings.Repeat("0", int(t.Scale)-len(frac)), 10)
		if !ok {
			return bad()
		}
		mask := new(big.Int).SetUint64(math.MaxUint64)
		lo := new(big.Int).And(n, mask).Uint64()
		return lo, new(big.Int).And(new(big.Int).Rsh(n, 64), mask).Uint64(), nil
	case Date:
		x, err := parseDay(s)
		if err != nil || s == "infinity" || s == "-infinity" {
			switch s {
			case "infinity":
				return math.MaxInt32, 0, nil
			case "-infinity":
				return uint64(0xffffffff80000001), 0, nil
			}
			return bad()
		}
		return uint64(x), 0, nil
	case Time:
		x, err := parseClock(s, 6)
		return uint64(x), 0, err
	case TimeNS:
		x, err := parseClock(s, 9)
		return uint64(x), 0, err
	case TimeTZ:
		w0, err = parseTimeTZ(s)
		return w0, 0, err
	case Timestamp, TimestampTZ:
		w0, err = parseStamp(strings.TrimSuffix(s, "+00"), 6)
		return w0, 0, err
	case TimestampS:
		w0, err = parseStamp(s, 0)
		return w0, 0, err
	case TimestampMS:
		w0, err = parseStamp(s, 3)
		return w0, 0, err
	case TimestampNS:
		w0, err = parseStamp(s, 9)
		return w0, 0, err
	case UUID:
		return parseUUID(s)
	case Interval:
		return parseInterval(s)
	}
	return bad()
}

func parseDay(s string) (int64, error) {
	d, err := time.Parse("2006-01-02", s)
	if err != nil {
		return 0, fault.InvalidParameter.Newf("%q is no date", s)
	}
	return d.Unix() / 86400, nil
}

func parseStamp(s string, digits int) (uint64, error) {
	switch s {
	case "infinity":
		return math.MaxInt64, nil
	case "-infinity":
		return uint64(0x8000000000000001), nil
	}
	day, clock, ok := strings.Cut(s, " ")
	d, err := parseDay(day)
	if err != nil {
		return 0, err
	}
	x := int64(0)
	if ok {
		if x, err = parseClock(clock, digits); err != nil {
			return 0, err
		}
	}
	return uint64(d*86400*pow10(digits) + x), nil
}

func parseInterval(s string) (w0, w1 uint64, err error) {
	var months, days, micros int64
	for _, part := range strings.Fields(s) {
		n, unit := part, ""
		if i := strings.IndexFunc(part, func(c rune) bool { return c != '-' && (c < '0' || c > '9') }); i > 0 {
			n, unit = part[:i], part[i:]
		}
		x, err := strconv.ParseInt(n, 10, 64)
		if err != nil {
			return 0, 0, fault.InvalidParameter.Newf("%q is no interval; write it as 1mon 2d 3us", s)
		}
		switch unit {
		case "mon":
			months += x
		case "d":
			days += x
		case "h":
			micros += x * 3600e6
		case "s":
			micros += x * 1e6
		case "us":
			micros += x
		default:
			return 0, 0, fault.InvalidParameter.Newf("%q is no interval; write it as 1mon 2d 3us", s)
		}
	}
	return uint64(uint32(months))<<32 | uint64(uint32(days)), uint64(micros), nil
}
