package store

import "time"

// when is a time as an argument; the zero time is NULL.
func when(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UTC()
}
