package publish

import (
	"cmp"
	"fmt"
	"math/big"
	"strconv"
	"strings"
)

// orderKind is how the texts of a type's statistics compare.
type orderKind int

const (
	unordered orderKind = iota // no statistics are kept
	byText
	byInteger
	byDecimal
	byFloat
	byBool
	byInstant // dates, times of day and timestamps
)

func orderOf(typ string) orderKind {
	switch typ {
	case "boolean":
		return byBool
	case "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64":
		return byInteger
	case "float32", "float64":
		return byFloat
	case "date", "time", "time_ns", "timestamp", "timestamp_us", "timestamp_s", "timestamp_ms", "timestamp_ns", "timestamptz":
		return byInstant
	case "varchar", "json", "uuid":
		return byText
	}
	if strings.HasPrefix(typ, "decimal(") {
		return byDecimal
	}
	return unordered
}

// compareTexts compares two values of an ordered type, given as DuckDB's texts.
func compareTexts(typ, a, b string) (int, error) {
	if a == b {
		return 0, nil
	}
	switch orderOf(typ) {
	case byText:
		return strings.Compare(a, b), nil
	case byBool:
		x, err := parseBool(a)
		if err != nil {
			return 0, err
		}
		y, err := parseBool(b)
		return cmp.Compare(x, y), err
	case byInteger, byDecimal:
		x, ok := new(big.Rat).SetString(a)
		y, ok2 := new(big.Rat).SetString(b)
		if !ok || !ok2 {
			return 0, fmt.Errorf("publish: statistics of a %s: %q or %q is not a number", typ, a, b)
		}
		return x.Cmp(y), nil
	case byFloat:
		x, err := parseFloat(a)
		if err != nil {
			return 0, err
		}
		y, err := parseFloat(b)
		return cmp.Compare(x, y), err
	case byInstant:
		x, err := parseInstant(a)
		if err != nil {
			return 0, err
		}
		y, err := parseInstant(b)
		return x.compare(y), err
	}
	return 0, fmt.Errorf("publish: values of the type %s have no order", typ)
}

// parseBool: files' statistics say 0 and 1, inlined rows' false and true.
func parseBool(s string) (int, error) {
	switch s {
	case "0", "false":
		return 0, nil
	case "1", "true":
		return 1, nil
	}
	return 0, fmt.Errorf("publish: statistics of a boolean: %q", s)
}

func parseFloat(s string) (float64, error) {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return 0, fmt.Errorf("publish: statistics of a float: %w", err)
	}
	return f, nil
}

// instant is a date, a time of day or a timestamp of DuckDB's whole range, which nanoseconds in an int64 do not cover.
type instant struct {
	infinite int // -1, 0, 1
	days     int64
	nanos    int64
}

func (a instant) compare(b instant) int {
	return cmp.Or(cmp.Compare(a.infinite, b.infinite), cmp.Compare(a.days, b.days), cmp.Compare(a.nanos, b.nanos))
}

const dayNanos = 24 * 60 * 60 * 1e9

// parseInstant reads `[Y…-MM-DD[ (BC)]] [HH:MM:SS[.fraction]][±HH[:MM[:SS]]]`, or an infinity.
func parseInstant(s string) (instant, error) {
	bad := fmt.Errorf("publish: statistics of a date or time: %q", s)
	switch s {
	case "infinity":
		return instant{infinite: 1}, nil
	case "-infinity":
		return instant{infinite: -1}, nil
	}
	var t instant
	rest := s
	if date, _, ok := strings.Cut(rest, " "); strings.Count(date, "-") == 2 && !strings.Contains(date, ":") {
		fields := strings.Split(date, "-")
		year, err1 := strconv.ParseInt(fields[0], 10, 64)
		month, err2 := strconv.ParseInt(fields[1], 10, 64)
		day, err3 := strconv.ParseInt(fields[2], 10, 64)
		if err1 != nil || err2 != nil || err3 != nil {
			return t, bad
		}
		rest = ""
		if ok {
			rest = s[len(date)+1:]
		}
		if after, bc := strings.CutPrefix(rest, "(BC)"); bc {
			year, rest = 1-year, strings.TrimPrefix(after, " ")
		}
		t.days = civilDays(year, month, day)
	}
	if rest == "" {
		return t, nil
	}
	clock, zone, sign := rest, "", int64(0)
	if i := strings.IndexAny(rest, "+-"); i >= 0 {
		clock, zone = rest[:i], rest[i+1:]
		sign = 1
		if rest[i] == '-' {
			sign = -1
		}
	}
	nanos, ok := parseClock(clock, true)
	if !ok {
		return t, bad
	}
	offset := int64(0)
	if sign != 0 {
		if offset, ok = parseClock(zone, false); !ok {
			return t, bad
		}
	}
	if sign == 0 && nanos == dayNanos && t.days == 0 {
		t.nanos = nanos // 24:00:00 as a time of day is after all others
		return t, nil
	}
	nanos -= sign * offset
	for nanos < 0 {
		nanos += dayNanos
		t.days--
	}
	t.days += nanos / dayNanos
	t.nanos = nanos % dayNanos
	return t, nil
}

// parseClock reads HH:MM:SS[.fraction]; an offset may stop after the hours or minutes.
func parseClock(s string, whole bool) (nanos int64, ok bool) {
	s, fraction, _ := strings.Cut(s, ".")
	fields := strings.Split(s, ":")
	if len(fields) > 3 || whole && len(fields) != 3 {
		return 0, false
	}
	unit := int64(3600 * 1e9)
	for _, f := range fields {
		n, err := strconv.ParseUint(f, 10, 16)
		if err != nil {
			return 0, false
		}
		nanos += int64(n) * unit
		unit /= 60
	}
	if fraction != "" {
		n, err := strconv.ParseUint((fraction + "000000000")[:9], 10, 64)
		if err != nil {
			return 0, false
		}
		nanos += int64(n)
	}
	return nanos, true
}

// civilDays counts days since 1970-01-01 in the proleptic Gregorian calendar.
func civilDays(y, m, d int64) int64 {
	if m <= 2 {
		y--
	}
	era := y / 400
	if y < 0 {
		era = (y - 399) / 400
	}
	yoe := y - era*400
	mp := (m + 9) % 12
	doy := (153*mp+2)/5 + d - 1
	doe := yoe*365 + yoe/4 - yoe/100 + doy
	return era*146097 + doe - 719468
}
