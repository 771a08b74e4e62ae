package duck

import "github.com/apache/arrow-go/v18/arrow"

// validate checks what DuckDB's conversion trusts: a client's bytes must not
// make it read outside the buffers.
func validate(arr arrow.Array) error {
	if v, ok := arr.(interface{ ValidateFull() error }); ok {
		return v.ValidateFull()
	}
	return nil
}
