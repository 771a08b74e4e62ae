package store

import (
	"fmt"
	"time"
)

// row reads the values of one result row in order, remembering the first that is not of the expected type.
type row struct {
	rest []any
	err  error
}

func (r *row) take(v []any) { r.rest = v }

func (r *row) next() any {
	if len(r.rest) == 0 {
		if r.err == nil {
			r.err = fmt.Errorf("store: a row has too few columns")
		}
		return nil
	}
	v := r.rest[0]
	r.rest = r.rest[1:]
	return v
}

func get[T any](r *row, null bool) T {
	v := r.next()
	t, ok := v.(T)
	if !ok && !(null && v == nil) && r.err == nil {
		r.err = fmt.Errorf("store: a row has %T where %T is expected", v, t)
	}
	return t
}

func (r *row) int() int64       { return get[int64](r, false) }
func (r *row) text() string     { return get[string](r, false) }
func (r *row) float() float64   { return get[float64](r, false) }
func (r *row) nullInt() int64   { return get[int64](r, true) }
func (r *row) nullText() string { return get[string](r, true) }
func (r *row) bytes() []byte    { return get[[]byte](r, true) }

// time is a TIMESTAMPTZ; NULL is the zero time.
func (r *row) time() time.Time { return get[time.Time](r, true) }

// when is a time as an argument; the zero time is NULL.
func when(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UTC()
}
