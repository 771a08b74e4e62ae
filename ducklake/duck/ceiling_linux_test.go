package duck

import (
	"context"
	"errors"
	"testing"
)

// Values that DuckDB does not count against its memory limit are refused above the ceiling, and nothing else is.
func TestCeiling(t *testing.T) {
	c, other := open(t), open(t)
	ctx := context.Background()
	SetCeiling(Resident() + 256<<20)
	defer SetCeiling(0)
	for _, sql := range []string{
		"SELECT length(repeat('x', 3000000000))",
		"SELECT length(repeat('x', 100000000) || repeat('y', 100000000) || repeat('z', 100000000))",
		"SELECT length(range(1000000000::BIGINT))",
		"SELECT length(list(i)) FROM range(1000000000) t(i)",
		"SELECT sum(length(repeat('x', 10000000 + i::INTEGER))) FROM range(2000) t(i)",
		"SELECT length(replace(repeat('x', 100000), 'x', repeat('y', 10000)))",
		"SELECT length(format('{:1000000000}', 1))",
		"SELECT quantile_disc(i, 0.5) FROM range(1000000000) t(i)",
		"SELECT * FROM range(length(repeat('x', 3000000000)))",
	} {
		before := Refused()
		_, err := c.Rows(ctx, sql)
		if e := new(Error); !errors.As(err, &e) || e.Type != "Out of Memory" {
			t.Errorf("%s: %v", sql, err)
		}
		if Refused() == before {
			t.Errorf("%s: nothing was refused", sql)
		}
		if rows, err := other.Rows(ctx, "SELECT count(DISTINCT i) FROM range(100000) t(i)"); err != nil || rows[0][0] != int64(100000) {
			t.Fatalf("after %s: %v %v", sql, rows, err)
		}
		Purge()
	}
}
