package metadata

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
			r.err = fmt.Errorf("metadata: a catalog row has too few columns")
		}
		return nil
	}
	v := r.rest[0]
	r.rest = r.rest[1:]
	return v
}

func (r *row) wrong(want string, got any) {
	if r.err == nil {
		r.err = fmt.Errorf("metadata: a catalog row has %T where a %s is expected", got, want)
	}
}

// int is a BIGINT; NULL is refused.
func (r *row) int() int64 {
	v := r.next()
	if n, ok := v.(int64); ok {
		return n
	}
	r.wrong("BIGINT", v)
	return 0
}

// nullInt is a BIGINT or, for NULL, def.
func (r *row) nullInt(def int64) int64 {
	switch v := r.next().(type) {
	case nil:
		return def
	case int64:
		return v
	default:
		r.wrong("BIGINT", v)
		return def
	}
}

// text is a VARCHAR or, for NULL, the empty text.
func (r *row) text() string {
	switch v := r.next().(type) {
	case nil:
		return ""
	case string:
		return v
	default:
		r.wrong("VARCHAR", v)
		return ""
	}
}

// bool is a BOOLEAN; NULL is false.
func (r *row) bool() bool {
	switch v := r.next().(type) {
	case nil:
		return false
	case bool:
		return v
	default:
		r.wrong("BOOLEAN", v)
		return false
	}
}

// time is a TIMESTAMPTZ; NULL is refused.
func (r *row) time() time.Time {
	v := r.next()
	if t, ok := v.(time.Time); ok {
		return t
	}
	r.wrong("TIMESTAMPTZ", v)
	return time.Time{}
}
