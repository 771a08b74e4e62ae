package publish

import (
	"strings"
)

// added is what a file or a batch of new rows says about one leaf.
type added struct {
	leaf   int64
	bytes  int64
	values int64 // NULLs included
	nulls  int64
	min    *string // nil when unknown, or when all values are NULL
	max    *string
	nan    *bool // for floats
}

// columnStats is a row of ducklake_table_column_stats. Nil is NULL.
type columnStats struct {
	null, nan *bool
	min, max  *string
}

// tableStats is what the catalog says about a table as a whole.
type tableStats struct {
	known     bool // there is a row in ducklake_table_stats
	records   int64
	nextRowID int64
	bytes     int64
	columns   map[int64]columnStats
}

// widen gives the statistics of a column after some values are added: they never become narrower. Exact is false when
// the result has bounds that are not values of the column, so that min and max must not be answered from them.
//
// A row without min and max means that there are no values yet, and the next writer, of whatever program, would take its own
// bounds as all there is. So where the bounds of new values are unknown, a text column gets the least text as its minimum and no
// maximum: that stays unknown for ever. Other types always have bounds, or never.
func widen(typ string, old *columnStats, add added) (next columnStats, exact bool, err error) {
	first := old == nil
	if first {
		old = &columnStats{}
	}
	next, exact = *old, true

	hasNull := add.nulls > 0
	switch {
	case first:
		next.null = &hasNull
	case old.null != nil && hasNull:
		next.null = &hasNull
	}

	kind := orderOf(typ)
	if kind == byFloat {
		hasNaN := add.nan
		if add.values == add.nulls {
			none := false
			hasNaN = &none
		}
		switch {
		case first:
			next.nan = hasNaN
		case old.nan == nil || hasNaN == nil: // unknown stays unknown
			next.nan = nil
		case *hasNaN:
			next.nan = hasNaN
		}
	}
	if kind == unordered {
		next.min, next.max = nil, nil
		return next, true, nil
	}
	if add.values == add.nulls {
		return next, true, nil
	}

	low, high := add.min, add.max
	if kind == byText {
		if low, high, exact = textBounds(low, high); !exact && low == nil {
			least := ""
			low = &least
		}
	}
	if first || noValues(*old) {
		next.min, next.max = low, high
		return next, exact, nil
	}
	if next.min, err = outer(typ, old.min, low, -1); err != nil {
		return next, false, err
	}
	next.max, err = outer(typ, old.max, high, 1)
	return next, exact, err
}

// noValues reports whether a column has only NULLs, or nothing, so far.
func noValues(s columnStats) bool { return s.min == nil && s.max == nil }

// outer is the lesser (sign -1) or greater (1) of two bounds; unknown if either is.
func outer(typ string, a, b *string, sign int) (*string, error) {
	if a == nil || b == nil {
		return nil, nil
	}
	c, err := compareTexts(typ, *b, *a)
	if err != nil {
		return nil, err
	}
	if c*sign > 0 {
		return b, nil
	}
	return a, nil
}

// textBounds makes bounds that the catalog can store: it has no zero bytes. A text is cut before one, which gives a lower bound,
// and one more character makes it an upper bound.
func textBounds(low, high *string) (*string, *string, bool) {
	exact := low != nil && high != nil
	if low != nil {
		if head, _, cut := strings.Cut(*low, "\x00"); cut {
			low, exact = &head, false
		}
	}
	if high != nil {
		if head, _, cut := strings.Cut(*high, "\x00"); cut {
			head += "\x01"
			high, exact = &head, false
		}
	}
	return low, high, exact
}

// storable is a bound as a file's statistics keep it: NULL when it has a zero byte.
func storable(s *string) any {
	if s == nil || strings.Contains(*s, "\x00") {
		return nil
	}
	return *s
}

func sameStats(a, b columnStats) bool {
	return equal(a.null, b.null) && equal(a.nan, b.nan) && equal(a.min, b.min) && equal(a.max, b.max)
}

func equal[T comparable](a, b *T) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}

func orNull[T any](v *T) any {
	if v == nil {
		return nil
	}
	return *v
}
