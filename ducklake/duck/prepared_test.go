package duck

import (
	"context"
	"testing"
)

// A plan made by statistics over an empty table would say "no rows" for ever.
func TestKeptStatementsSeeNewRows(t *testing.T) {
	ctx := context.Background()
	c := open(t)
	if err := c.Keep(ctx, 4); err == nil {
		t.Fatal("an instance that plans by statistics keeps statements")
	}
	exec(t, c, "SET GLOBAL disabled_optimizers = 'statistics_propagation'")
	if err := c.Keep(ctx, 4); err != nil {
		t.Fatal(err)
	}
	exec(t, c, "CREATE TABLE a(x BIGINT)")
	exec(t, c, "CREATE TABLE b(x BIGINT)")
	exec(t, c, "INSERT INTO a VALUES (1)")
	queries := []string{
		"SELECT count(*) FROM a JOIN b USING (x)",
		"SELECT count(*) FROM b WHERE x IS NULL",
		"SELECT coalesce(max(x), 0) FROM b",
		"SELECT count(*) FROM b WHERE x > 5",
		"SELECT count(*) FROM (SELECT x FROM b ORDER BY x DESC LIMIT 1) WHERE x > 5",
		"SELECT count(*) FROM a WHERE x NOT IN (SELECT x FROM b)",
	}
	check := func(want ...int64) {
		t.Helper()
		for i, q := range queries {
			rows, err := c.Rows(ctx, q)
			if err != nil {
				t.Fatal(err)
			}
			if got, _ := rows[0][0].(int64); got != want[i] {
				t.Errorf("%s: %v, not %d", q, rows[0][0], want[i])
			}
		}
	}
	for range 3 {
		check(0, 0, 0, 0, 0, 1)
	}
	if len(c.kept.stmts) != 4 {
		t.Errorf("%d statements are kept, not 4", len(c.kept.stmts))
	}
	exec(t, c, "INSERT INTO b VALUES (1), (9)")
	check(1, 0, 9, 1, 1, 0)
	exec(t, c, "INSERT INTO b VALUES (NULL)")
	check(1, 1, 9, 1, 1, 0)
	exec(t, c, "DROP TABLE b")
	if _, err := c.Rows(ctx, queries[1]); err == nil {
		t.Error("a statement over a dropped table runs")
	}
	exec(t, c, "CREATE TABLE b AS SELECT 7::INTEGER AS x, 'y' AS y")
	check(0, 0, 7, 1, 1, 1)
}
