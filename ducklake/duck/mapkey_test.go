package duck

import (
	"context"
	"strings"
	"testing"
)

// DuckDB makes maps with NULL keys by some casts; Arrow has none.
func TestNullMapKeys(t *testing.T) {
	c := open(t)
	r, err := c.Query(context.Background(), "SELECT TRY_CAST(MAP {'a': 1} AS MAP(INTEGER, INTEGER)) AS m")
	if err != nil {
		t.Fatal(err)
	}
	if r.Next() {
		t.Error("a map with a NULL key is given")
	}
	if err := r.Err(); err == nil || !strings.Contains(err.Error(), "Map keys can not be NULL") {
		t.Errorf("the error is %v", err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if got := one(t, c, "SELECT 1"); got != int64(1) && got != int32(1) {
		t.Errorf("afterwards the connection gives %v", got)
	}
}
