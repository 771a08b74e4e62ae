package main

import (
	"context"
	"fmt"
)

// off is what every lake that we open runs without, since answers can be wrong with it.
const off = "statistics_propagation,compressed_materialization,join_filter_pushdown"

// optimizers measures what doing without three of DuckDB's optimizers costs: the same queries on one plain instance.
func optimizers(ctx context.Context, s *sides) ([]result, error) {
	n := s.scale(10_000_000)
	c, err := s.plain(ctx)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	for _, sql := range []string{
		fmt.Sprintf("CREATE TABLE facts AS SELECT i AS k, (i * 7919) %% 1000 AS g, (i * 31) %% 12 AS month, (i * 1000003) %% 100000 AS v, 'name ' || (i %% 5000) AS name FROM range(%d) t(i)", n),
		"CREATE TABLE groups AS SELECT i AS g, 'group ' || i AS label FROM range(1000) t(i)",
	} {
		if _, err := c.Exec(ctx, sql); err != nil {
			return nil, err
		}
	}
	var out []result
	for _, q := range []struct{ name, what, sql string }{
		{"group", "GROUP BY two columns", "SELECT g, month, sum(v), count(*) FROM facts GROUP BY ALL"},
		{"text", "GROUP BY a text", "SELECT name, sum(v) FROM facts GROUP BY ALL"},
		{"join", "join and GROUP BY", "SELECT label, avg(v) FROM facts JOIN groups USING (g) WHERE month < 6 GROUP BY ALL"},
		{"few", "join with few keys that lie together", "SELECT sum(f.v) FROM facts f JOIN (SELECT k + 1000 AS k FROM facts WHERE k < 1000) b USING (k)"},
		{"sort", "sort of all rows", "SELECT max(r) FROM (SELECT row_number() OVER (ORDER BY v, k) AS r FROM facts)"},
	} {
		run := func(setting string) func() error {
			return func() error {
				if _, err := c.Exec(ctx, "SET GLOBAL disabled_optimizers = '"+setting+"'"); err != nil {
					return err
				}
				_, err := c.Rows(ctx, q.sql)
				return err
			}
		}
		ours, theirs, err := inTurn(5, run(off), run(""))
		if err != nil {
			return nil, err
		}
		o, t := median(ours), median(theirs)
		out = append(out, result{Name: "optimizers/" + q.name, What: q.what + ": without three optimizers | with all", Ours: o, Theirs: t, Unit: "ms", Figure: o / t, Bar: "known, no bar", Meets: true})
	}
	_, err = c.Exec(ctx, "RESET GLOBAL disabled_optimizers; DROP TABLE facts; DROP TABLE groups")
	return out, err
}
