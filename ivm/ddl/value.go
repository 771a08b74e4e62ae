package ddl

import (
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"
)

// value takes the value of an option.
func (c *cursor) value(spec *OptionSpec) Value {
	at := c.offset()
	t, ok := c.peek(0)
	refuse := func(reason string) Value {
		if c.err == nil {
			c.fail(spec.refuse(c.shownValue(at), reason).At(at))
		}
		return Value{}
	}
	switch {
	case !ok || t.kind == broken:
		c.syntax("a value for %s", spec.Name)
		return Value{}
	case t.is("TRUE"), t.is("FALSE"):
		if c.i++; spec.Kind != Bool {
			return refuse("is a boolean")
		}
		return Value{Kind: Bool, Bool: t.is("TRUE")}
	case t.is("INTERVAL"):
		text := c.interval()
		if c.err != nil {
			return Value{}
		}
		if spec.Kind != Duration {
			return refuse("is an interval")
		}
		v, reason := spec.fromText(text)
		if reason != "" {
			return refuse(reason)
		}
		return v
	case t.kind == str:
		if c.i++; spec.Kind == Bool || spec.Kind == Int {
			return refuse("is a string")
		}
		v, reason := spec.fromText(t.text)
		if reason != "" {
			return refuse(reason)
		}
		return v
	case t.kind == number, (t.isSymbol("-") || t.isSymbol("+")) && c.numberFollows():
		text := c.signedNumber()
		switch spec.Kind {
		case Int, Bytes:
			v, reason := spec.fromText(text)
			if reason != "" {
				return refuse(reason)
			}
			return v
		case Duration:
			return refuse("has no unit")
		}
		return refuse("is a number")
	case t.is("NULL"), t.is("DEFAULT"):
		c.i++
		return refuse("is no value: RESET removes an option")
	case t.kind == word || t.kind == quoted:
		c.i++
		return refuse("is not a literal: strings stand in single quotes")
	}
	c.i++
	return refuse("is not a literal")
}

// shownValue is the source from at to the cursor, for a message.
func (c *cursor) shownValue(at int) string {
	return c.show(token{start: at, end: max(at, c.toks[c.i-1].end)})
}

func (c *cursor) numberFollows() bool { t, ok := c.peek(1); return ok && t.kind == number }

// signedNumber takes [+|-] number.
func (c *cursor) signedNumber() string {
	sign := ""
	if c.acceptSymbol("-") {
		sign = "-"
	} else {
		c.acceptSymbol("+")
	}
	t, _ := c.peek(0)
	c.i++
	return sign + t.text
}

// interval takes INTERVAL '…' [unit] | INTERVAL number unit | INTERVAL (number) unit, and gives the text of the interval.
func (c *cursor) interval() string {
	c.expect("INTERVAL")
	t, ok := c.peek(0)
	var text string
	switch {
	case ok && t.kind == str:
		c.i++
		unit, ok := c.peek(0)
		if !ok || unit.kind != word {
			return t.text
		}
		text = t.text
	case ok && t.isSymbol("("):
		c.i++
		if t, ok := c.peek(0); !ok || t.kind != number && !c.numberFollows() {
			c.syntax("a number")
			return ""
		}
		text = c.signedNumber()
		c.expectSymbol(")")
	case ok && (t.kind == number || t.isSymbol("-") && c.numberFollows()):
		text = c.signedNumber()
	default:
		c.syntax("the interval as a string, such as INTERVAL '15 minutes'")
		return ""
	}
	unit, ok := c.peek(0)
	if !ok || unit.kind != word {
		c.syntax("the interval's unit")
		return ""
	}
	c.i++
	return text + " " + unit.text
}

// fromText reads a value from a text; reason says why it is not one, as the rest of a sentence.
func (s *OptionSpec) fromText(text string) (v Value, reason string) {
	v.Kind = s.Kind
	switch s.Kind {
	case Bool:
		if v.Bool = strings.EqualFold(text, "true"); !v.Bool && !strings.EqualFold(text, "false") {
			return v, "is not a boolean"
		}
		return v, ""
	case Int:
		n, err := strconv.ParseInt(strings.ReplaceAll(text, "_", ""), 10, 64)
		if err != nil {
			return v, "is not a whole number"
		}
		v.Int = n
	case Bytes:
		n, reason := parseBytes(text)
		if reason != "" {
			return v, reason
		}
		v.Int = n
	case Duration:
		d, reason := parseDuration(text)
		if reason != "" {
			return v, reason
		}
		v.Duration = d
	case Text:
		if strings.IndexByte(text, 0) >= 0 {
			return v, "holds a zero byte"
		}
		if len(s.OneOf) > 0 && !slices.Contains(s.OneOf, text) {
			return v, "is unknown"
		}
		if s.check != nil {
			if why := s.check(text); why != "" {
				return v, why
			}
		}
		v.Text = text
		return v, ""
	}
	n := v.Int
	if s.Kind == Duration {
		n = int64(v.Duration)
	}
	if n < s.Min || n > s.Max {
		return v, "is out of range"
	}
	return v, ""
}

var byteUnits = []struct {
	name   string
	size   int64
	binary bool
}{
	{"B", 1, true},
	{"kB", 1e3, false}, {"KiB", 1 << 10, true},
	{"MB", 1e6, false}, {"MiB", 1 << 20, true},
	{"GB", 1e9, false}, {"GiB", 1 << 30, true},
	{"TB", 1e12, false}, {"TiB", 1 << 40, true},
}

// parseBytes reads '4 MiB', '1.5GB' or a bare number of bytes.
func parseBytes(text string) (n int64, reason string) {
	amount, rest, ok := leadingNumber(strings.TrimSpace(text))
	if !ok {
		return 0, "is not a size"
	}
	size := int64(0)
	if rest = strings.TrimSpace(rest); rest == "" {
		size = 1
	}
	for _, u := range byteUnits {
		if strings.EqualFold(u.name, rest) {
			size = u.size
		}
	}
	if size == 0 {
		return 0, "has an unknown unit"
	}
	return scale(amount, size, "is not a whole number of bytes")
}

// The units DuckDB knows in intervals, as far as they have a fixed length.
var intervalUnits = map[string]time.Duration{
	"us": time.Microsecond, "usec": time.Microsecond, "usecs": time.Microsecond,
	"microsecond": time.Microsecond, "microseconds": time.Microsecond,
	"ms": time.Millisecond, "msec": time.Millisecond, "msecs": time.Millisecond,
	"millisecond": time.Millisecond, "milliseconds": time.Millisecond,
	"s": time.Second, "sec": time.Second, "secs": time.Second, "second": time.Second, "seconds": time.Second,
	"m": time.Minute, "min": time.Minute, "mins": time.Minute, "minute": time.Minute, "minutes": time.Minute,
	"h": time.Hour, "hr": time.Hour, "hrs": time.Hour, "hour": time.Hour, "hours": time.Hour,
	"d": 24 * time.Hour, "day": 24 * time.Hour, "days": 24 * time.Hour,
	"w": 7 * 24 * time.Hour, "week": 7 * 24 * time.Hour, "weeks": 7 * 24 * time.Hour,
}

// Units that DuckDB knows and that have no fixed length.
var calendarUnits = []string{"mon", "mons", "month", "months", "quarter", "quarters", "y", "yr", "yrs", "year", "years",
	"decade", "decades", "century", "centuries", "millennium", "millennia"}

// parseDuration reads '15 minutes', '1h 30m', '00:15:00'.
func parseDuration(text string) (d time.Duration, reason string) {
	rest := strings.TrimSpace(text)
	if rest == "" {
		return 0, "is not a duration"
	}
	total := new(big.Int)
	for rest != "" {
		part, tail, reason := durationPart(rest)
		if reason != "" {
			return 0, reason
		}
		total.Add(total, big.NewInt(int64(part)))
		rest = strings.TrimSpace(tail)
	}
	if !total.IsInt64() {
		return 0, "is out of range"
	}
	return time.Duration(total.Int64()), ""
}

// durationPart reads one amount with its unit, or one HH:MM:SS.
func durationPart(text string) (d time.Duration, rest, reason string) {
	amount, rest, ok := leadingNumber(text)
	if !ok {
		return 0, "", "is not a duration"
	}
	if strings.HasPrefix(rest, ":") {
		return clock(text)
	}
	rest = strings.TrimSpace(rest)
	end := 0
	for end < len(rest) && wordStart(rest[end]) {
		end++
	}
	unit := strings.ToLower(rest[:end])
	size, ok := intervalUnits[unit]
	switch {
	case unit == "":
		return 0, "", "has no unit"
	case slices.Contains(calendarUnits, unit):
		return 0, "", "has no fixed length: use days or shorter units"
	case !ok:
		return 0, "", "has an unknown unit"
	}
	n, reason := scale(amount, int64(size/time.Microsecond), "is finer than a microsecond")
	if reason == "" && (n > math.MaxInt64/1000 || n < math.MinInt64/1000) {
		reason = "is out of range"
	}
	return time.Duration(n) * time.Microsecond, rest[end:], reason
}

// clock reads [-]HH:MM[:SS[.fraction]].
func clock(text string) (d time.Duration, rest, reason string) {
	word, rest, _ := strings.Cut(text, " ")
	unsigned, negative := strings.CutPrefix(word, "-")
	fields := strings.Split(unsigned, ":")
	units := []int64{3_600_000_000, 60_000_000, 1_000_000}
	if len(fields) > len(units) {
		return 0, "", "is not a duration"
	}
	var total int64
	for i, f := range fields {
		amount, tail, ok := leadingNumber(f)
		if !ok || tail != "" || len(f) > 9 || i < 2 && strings.Contains(f, ".") || strings.HasPrefix(f, "-") {
			return 0, "", "is not a duration"
		}
		n, reason := scale(amount, units[i], "is finer than a microsecond")
		if reason != "" {
			return 0, "", reason
		}
		if i > 0 && n >= 60*units[i] {
			return 0, "", "is not a duration"
		}
		total += n
	}
	if total > math.MaxInt64/1000 {
		return 0, "", "is out of range"
	}
	if negative {
		total = -total
	}
	return time.Duration(total) * time.Microsecond, rest, ""
}

// leadingNumber cuts [-]digits[.digits] off the front of a text.
func leadingNumber(text string) (n *big.Rat, rest string, ok bool) {
	i := 0
	if strings.HasPrefix(text, "-") {
		i = 1
	}
	start, dots := i, 0
	for i < len(text) && (digit(text[i]) || text[i] == '.' && dots == 0) {
		if text[i] == '.' {
			dots++
		}
		i++
	}
	// The length is bounded because the arithmetic is exact.
	if i-start == dots || i > 40 {
		return nil, "", false
	}
	n, ok = new(big.Rat).SetString(text[:i])
	return n, text[i:], ok
}

// scale is amount × size as a whole number; fraction is the reason when it is none.
func scale(amount *big.Rat, size int64, fraction string) (n int64, reason string) {
	r := new(big.Rat).Mul(amount, new(big.Rat).SetInt64(size))
	switch {
	case !r.IsInt():
		return 0, fraction
	case !r.Num().IsInt64():
		return 0, "is out of range"
	}
	return r.Num().Int64(), ""
}

// Plain is the value as a text that OptionSpec.Parse reads back.
func (v Value) Plain() string {
	switch v.Kind {
	case Bool:
		return strconv.FormatBool(v.Bool)
	case Int:
		return strconv.FormatInt(v.Int, 10)
	case Bytes:
		return FormatBytes(v.Int)
	case Duration:
		return FormatDuration(v.Duration)
	}
	return v.Text
}
