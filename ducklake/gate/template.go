package gate

import (
	"strconv"
	"strings"
)

// Template is a bound query with a gap for the version after each lake table.
type Template struct{ pieces []string }

// At is the query with every lake table read at the given snapshot.
func (t Template) At(version int64) string {
	return strings.Join(t.pieces, strconv.FormatInt(version, 10))
}
