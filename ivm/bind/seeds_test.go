package bind

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/vegadb/vega-flight/ivm/plan"
)

// seedQueries are the queries whose JSON the tests of package plan read: every operator and most expressions, over small tables.
var seedQueries = []string{
	`SELECT a, b + 1 AS x FROM u WHERE c LIKE 'a%' AND k IN (1, 2) AND b BETWEEN 1 AND a`,
	`SELECT a, count(*) FILTER (WHERE b > 2) AS x, sum(DISTINCT b) AS y, string_agg(c, ',' ORDER BY b) AS z FROM u GROUP BY a HAVING count(*) > 1`,
	`SELECT a, b, grouping(a, b) AS g, quantile_cont(k, [0.5, 0.9]) AS n FROM u GROUP BY ROLLUP (a, b)`,
	`SELECT u.a, cu.region FROM u LEFT JOIN cu ON u.k = cu.cid AND u.b > cu.cid AND u.c LIKE cu.region`,
	`SELECT u.a, cu.region FROM u FULL JOIN cu ON u.k = cu.cid`,
	`SELECT a FROM u WHERE a NOT IN (SELECT cid FROM cu)`,
	`SELECT a, EXISTS (SELECT 1 FROM cu WHERE cu.cid = u.a AND cu.cid < u.b) AS m FROM u`,
	`SELECT a, (SELECT count(*) FROM cu WHERE cu.cid < u.b) AS m, (SELECT max(cid) FROM cu) AS n FROM u`,
	`SELECT a, (SELECT region FROM cu WHERE cid = u.a) AS m FROM u WHERE NOT EXISTS (SELECT 1 FROM cu WHERE cid > 3)`,
	`SELECT u.a, z.cid FROM u, LATERAL (SELECT cid FROM cu WHERE cu.cid = u.a ORDER BY region LIMIT 2) z`,
	`SELECT o.oid, c.region FROM o ASOF LEFT JOIN cu c ON o.cid = c.cid AND o.ts >= c.since`,
	`SELECT DISTINCT ON (a) a, b FROM u ORDER BY a, b DESC NULLS FIRST`,
	`SELECT a FROM u UNION SELECT cid FROM cu EXCEPT ALL SELECT k FROM u INTERSECT SELECT a FROM u`,
	`SELECT a, lag(b, 2, 0) OVER w AS l, sum(k) FILTER (WHERE a > 1) OVER (PARTITION BY a ORDER BY b RANGE BETWEEN 2 PRECEDING AND CURRENT ROW EXCLUDE TIES) AS s FROM u WINDOW w AS (PARTITION BY a ORDER BY b)`,
	`SELECT a, b FROM u QUALIFY row_number() OVER (PARTITION BY a ORDER BY b) <= 2`,
	`SELECT a FROM u ORDER BY b LIMIT 3 OFFSET 1`,
	`WITH x AS (SELECT a, count(*) AS n FROM u GROUP BY a) SELECT * FROM x x1 JOIN x x2 ON x1.a = x2.n`,
	`WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r WHERE n < 5) SELECT * FROM r`,
	`SELECT a FROM u TABLESAMPLE 10%`, `SELECT u.a FROM u POSITIONAL JOIN cu`, `SELECT a FROM u LIMIT 5%`, `SELECT rowid, random() AS r FROM u`,
	`SELECT oid FROM o WHERE ts > now() - INTERVAL 1 HOUR AND now() - ts::TIMESTAMPTZ < INTERVAL 1 DAY`,
	`SELECT unnest([a, k]) AS e, list_transform([a], x -> x + k) AS t, {'p': a} AS s, map {'k': 1} AS m, CASE WHEN a > 1 THEN try_cast(c AS INTEGER) END AS w FROM u`,
	`VALUES (1, 'a', 1.5, DATE '2024-01-01', [1, NULL], 'x'::ENUM('x', 'y'), '\x00'::BLOB, INTERVAL 1 DAY, 'nan'::DOUBLE, 170141183460469231731687303715884105727)`,
	`SELECT * FROM range(3) r(i), (SELECT 1 WHERE false)`, `SELECT nothing FROM u`,
}

// TestSeeds keeps what DuckDB says of them.
func TestSeeds(t *testing.T) {
	p := newPlanner(t)
	var sources []*plan.Source
	for _, s := range usual[1:] {
		sources = append(sources, table(s))
	}
	for i, sql := range seedQueries {
		in, err := p.Input(context.Background(), Query{SQL: sql, Sources: sources})
		if err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
		file := filepath.Join("..", "plan", "testdata", "seeds", fmt.Sprintf("%02d.json", i))
		if *update {
			if err := os.WriteFile(file, []byte(in.JSON+"\n"), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if _, err := os.Stat(file); err != nil {
			t.Errorf("%s has no seed: run with -update", sql)
		}
	}
}
