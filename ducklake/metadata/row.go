package metadata

import (
	"fmt"
	"time"
)

// Row reads the values of one result row in order, remembering the first that is not of the expected type.
type Row struct {
	rest []any
	err  error
}

// Take begins with another row.
func (r *Row) Take(values []any) { r.rest = values }

// Err is the first thing that was wrong.
func (r *Row) Err() error { return r.err }

// Next is the next value, of any type.
func (r *Row) Next() any {
	if len(r.rest) == 0 {
		if r.err == nil {
			r.err = fmt.Errorf("metadata: a catalog row has too few columns")
		}
		return nil
	}
	v := r.rest[0]
	r.rest = r.rest[1:]
	return v
}

// next is the next value; def stands for NULL where that may be.
func next[T any](r *Row, null bool, def T) T {
	v := r.Next()
	if t, ok := v.(T); ok {
		return t
	}
	if !(null && v == nil) && r.err == nil {
		r.err = fmt.Errorf("metadata: a catalog row has %T where %T is expected", v, def)
	}
	return def
}

// Int is a BIGINT; NULL is refused.
func (r *Row) Int() int64 { return next[int64](r, false, 0) }

// NullInt is a BIGINT or, for NULL, def.
func (r *Row) NullInt(def int64) int64 { return next(r, true, def) }

// Float is a DOUBLE; NULL is refused.
func (r *Row) Float() float64 { return next[float64](r, false, 0) }

// Text is a VARCHAR or, for NULL, the empty text.
func (r *Row) Text() string { return next(r, true, "") }

// Bool is a BOOLEAN; NULL is false.
func (r *Row) Bool() bool { return next(r, true, false) }

// Bytes is a BLOB or, for NULL, nil.
func (r *Row) Bytes() []byte { return next[[]byte](r, true, nil) }

// Time is a TIMESTAMPTZ; NULL is refused.
func (r *Row) Time() time.Time { return next(r, false, time.Time{}) }

// NullTime is a TIMESTAMPTZ or, for NULL, the zero time.
func (r *Row) NullTime() time.Time { return next(r, true, time.Time{}) }
