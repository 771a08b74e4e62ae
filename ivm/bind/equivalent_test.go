package bind

import (
	"context"
	"testing"
)

// TestEquivalentQueries plans queries that mean the same. Those that do not get the same plan say why.
func TestEquivalentQueries(t *testing.T) {
	p := newPlanner(t)
	c := readCorpus(t, "testdata/plans/scan.txt")
	for _, e := range []struct{ name, one, other, why string }{
		{"conjuncts in another order", `SELECT a FROM u WHERE k > 1 AND b = 2`, `SELECT a FROM u WHERE b = 2 AND k > 1`, ""},
		{"sides of a comparison", `SELECT a FROM u WHERE k > b`, `SELECT a FROM u WHERE b < k`, ""},
		{"nested filters", `SELECT a FROM (SELECT * FROM u WHERE k > 1) WHERE b = 2`, `SELECT a FROM u WHERE k > 1 AND b = 2`, ""},
		{"a filter on a computed column", `SELECT x FROM (SELECT b + 1 AS x FROM u) WHERE x > 3`, `SELECT b + 1 AS x FROM u WHERE b + 1 > 3`,
			"DuckDB moves a constant across a comparison before it moves filters down, and not behind"},
		{"columns in another order below", `SELECT a FROM (SELECT k, b, a FROM u) WHERE k = b`, `SELECT a FROM u WHERE b = k`, ""},
		{"BETWEEN", `SELECT a FROM u WHERE k BETWEEN 1 AND b`, `SELECT a FROM u WHERE k >= 1 AND k <= b`, ""},
		{"IN and OR", `SELECT a FROM u WHERE k IN (1, 5)`, `SELECT a FROM u WHERE k = 1 OR k = 5`, ""},
		{"DISTINCT and GROUP BY", `SELECT DISTINCT a, c FROM u`, `SELECT a, c FROM u GROUP BY a, c`, ""},
		{"DISTINCT over UNION", `SELECT DISTINCT * FROM (SELECT a FROM t UNION ALL SELECT a FROM u)`, `SELECT a FROM t UNION SELECT a FROM u`, ""},
		{"nested UNION", `(SELECT a FROM t UNION SELECT a FROM u) UNION SELECT k FROM u`, `SELECT a FROM t UNION (SELECT a FROM u UNION SELECT k FROM u)`, ""},
		{"a filter on a group", `SELECT a, count(*) AS n FROM u GROUP BY a HAVING a > 2`, `SELECT a, count(*) AS n FROM u WHERE a > 2 GROUP BY a`, ""},
		{"HAVING and a subquery", `SELECT a, count(*) AS n FROM u GROUP BY a HAVING count(*) > 1`, `SELECT a, n FROM (SELECT a, count(*) AS n FROM u GROUP BY a) WHERE n > 1`, ""},
		{"IN and SEMI JOIN", `SELECT a FROM t WHERE a IN (SELECT a FROM u)`, `SELECT a FROM t SEMI JOIN u USING (a)`, ""},
		{"EXISTS and SEMI JOIN", `SELECT a FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.a = t.a)`, `SELECT a FROM t SEMI JOIN u USING (a)`, ""},
		{"NOT EXISTS and ANTI JOIN", `SELECT a FROM t WHERE NOT EXISTS (SELECT 1 FROM u WHERE u.a = t.a)`, `SELECT a FROM t ANTI JOIN u USING (a)`, ""},
		{"NOT EXISTS with a residual", `SELECT a FROM t WHERE NOT EXISTS (SELECT 1 FROM u WHERE u.a = t.a AND u.k <> t.b)`, `SELECT a FROM t ANTI JOIN u ON u.a = t.a AND u.k <> t.b`, ""},
		{"right and left joins", `SELECT t.a, u.k FROM u RIGHT JOIN t ON t.a = u.a`, `SELECT t.a, u.k FROM t LEFT JOIN u ON t.a = u.a`, ""},
		{"a left join whose padding is filtered", `SELECT t.a, u.k FROM t LEFT JOIN u ON t.a = u.a WHERE u.k = 3`, `SELECT t.a, u.k FROM t JOIN u ON t.a = u.a WHERE u.k = 3`, ""},
		{"JOIN ON and WHERE", `SELECT t.a FROM t, u WHERE t.a = u.a AND u.k > 1`, `SELECT t.a FROM t JOIN u ON t.a = u.a AND u.k > 1`, ""},
		{"a join's condition turned", `SELECT t.a FROM t JOIN u ON u.a = t.a`, `SELECT t.a FROM t JOIN u ON t.a = u.a`, ""},
		{"DISTINCT ON and QUALIFY", `SELECT DISTINCT ON (a) a, b, c FROM u ORDER BY a, b DESC, c`, `SELECT a, b, c FROM u QUALIFY row_number() OVER (PARTITION BY a ORDER BY b DESC, c) = 1`, ""},
		{"QUALIFY and a subquery", `SELECT a, b FROM u QUALIFY row_number() OVER (PARTITION BY a ORDER BY b) < 3`, `SELECT a, b FROM (SELECT *, row_number() OVER (PARTITION BY a ORDER BY b) AS n FROM u) WHERE n <= 2`, ""},
		{"a constant in ORDER BY", `SELECT a FROM u QUALIFY row_number() OVER (PARTITION BY a ORDER BY b, a) <= 2`, `SELECT a FROM u QUALIFY row_number() OVER (PARTITION BY a ORDER BY b) <= 2`, ""},
		{"a CTE used once", `WITH x AS (SELECT a, b FROM u WHERE k > 1) SELECT a FROM x WHERE b > 2`, `SELECT a FROM u WHERE k > 1 AND b > 2`, ""},
		{"a CTE that is not used", `WITH x AS (SELECT 1), y AS (SELECT a FROM u) SELECT a FROM y`, `SELECT a FROM u`, ""},
		{"a column that nobody reads", `SELECT a FROM (SELECT a, sum(b) AS s, max(c) AS m FROM u GROUP BY a) WHERE s > 1`, `SELECT a FROM u GROUP BY a HAVING sum(b) > 1`, ""},
		{"a window that nobody reads", `SELECT a FROM (SELECT a, sum(b) OVER (PARTITION BY a) AS s FROM u)`, `SELECT a FROM u`, ""},
		{"a correlated maximum and a join", `SELECT a, (SELECT max(k) FROM u WHERE u.a = t.a) AS m FROM t`, `SELECT t.a, m FROM t LEFT JOIN (SELECT a, max(k) AS m FROM u GROUP BY a) x ON x.a = t.a`, ""},
		{"LATERAL and QUALIFY", `SELECT t.a, z.k FROM t, LATERAL (SELECT k FROM u WHERE u.a = t.a ORDER BY k LIMIT 2) z`,
			`SELECT t.a, z.k FROM t JOIN (SELECT a, k FROM u WHERE a IS NOT NULL QUALIFY row_number() OVER (PARTITION BY a ORDER BY k) <= 2) z ON z.a = t.a`, ""},
		{"a cross product that another order avoids", `SELECT t.a FROM t, cu, u WHERE t.a = u.a AND u.k = cu.cid`, `SELECT t.a FROM t JOIN u ON t.a = u.a JOIN cu ON u.k = cu.cid`, ""},
		{"the same window twice", `SELECT a, row_number() OVER (PARTITION BY a ORDER BY b) AS n FROM u QUALIFY n <= 2`, `SELECT a, row_number() OVER w AS n FROM u WINDOW w AS (PARTITION BY a ORDER BY b) QUALIFY row_number() OVER w <= 2`, ""},
		{"now() on either side", `SELECT a FROM t WHERE now() < tz`, `SELECT a FROM t WHERE tz > current_timestamp`, ""},
		{"an age and a comparison", `SELECT a FROM t WHERE now() - tz < INTERVAL 90 MINUTE`, `SELECT a FROM t WHERE tz > now() - INTERVAL 90 MINUTE`, ""},

		{"a function and its operator", `SELECT add(a, b) AS x FROM u`, `SELECT a + b AS x FROM u`, ""},
		{"a list's order and a sorted list", `SELECT a, list(b ORDER BY b DESC) AS l FROM u GROUP BY a`, `SELECT a, list_sort(list(b), 'DESC') AS l FROM u GROUP BY a`, ""},
		{"an ASOF join's condition of one side", `SELECT t.a, u.k FROM t ASOF JOIN u ON t.a = u.a AND t.b >= u.b AND u.k > 1`, `SELECT t.a, u.k FROM t ASOF JOIN (FROM u WHERE k > 1) u ON t.a = u.a AND t.b >= u.b`, ""},
		{"ASOF SEMI JOIN and SEMI JOIN", `SELECT t.a FROM t ASOF SEMI JOIN u ON t.a = u.a AND t.b >= u.b`, `SELECT t.a FROM t SEMI JOIN u ON t.a = u.a AND t.b >= u.b`, ""},

		{"joins in another order", `SELECT t.a FROM t JOIN u ON t.a = u.a`, `SELECT t.a FROM u JOIN t ON t.a = u.a`,
			"the order of joins is kept as it is written, since nothing is known of sizes"},
		{"NOT IN and NOT EXISTS", `SELECT a FROM t WHERE a NOT IN (SELECT a FROM u)`, `SELECT a FROM t WHERE NOT EXISTS (SELECT 1 FROM u WHERE u.a = t.a)`,
			"they differ where there are NULLs, and columns may have some"},
		{"a LEFT JOIN without partners and ANTI JOIN", `SELECT t.a FROM t LEFT JOIN u ON t.a = u.a WHERE u.a IS NULL`, `SELECT a FROM t ANTI JOIN u USING (a)`,
			"a padded row is told from one whose own value is NULL only by the condition, which is not looked at"},
		{"count(x) and a filter", `SELECT count(a) AS n FROM u`, `SELECT count(*) AS n FROM u WHERE a IS NOT NULL`, "aggregates are not rewritten into filters"},
		{"count DISTINCT and a subquery", `SELECT count(DISTINCT a) AS n FROM u`, `SELECT count(a) AS n FROM (SELECT DISTINCT a FROM u)`, "one keeps values in the group, the other in an operator of their own"},
		{"INTERSECT and SEMI JOIN", `SELECT a FROM t INTERSECT SELECT a FROM u`, `SELECT DISTINCT a FROM t SEMI JOIN u USING (a)`, "INTERSECT finds NULLs equal"},
		{"arithmetic", `SELECT a FROM u WHERE k + 1 > 3`, `SELECT a FROM u WHERE k > 2`, ""},
		{"a function", `SELECT a FROM u WHERE abs(k) > 2`, `SELECT a FROM u WHERE k > 2 OR k < -2`, "functions are not looked into"},
		{"the minimum and the first row", `SELECT a, min(b) AS m FROM u GROUP BY a`, `SELECT DISTINCT ON (a) a, b AS m FROM u ORDER BY a, b`, "of a group of NULLs both give NULL, but nothing in the rules compares an aggregate with a row"},
	} {
		var texts []string
		for _, sql := range []string{e.one, e.other} {
			pl, err := p.Plan(context.Background(), c.query(sql))
			if err != nil {
				t.Fatalf("%s: %s: %v", e.name, sql, err)
			}
			texts = append(texts, pl.Text())
		}
		if same := texts[0] == texts[1]; same != (e.why == "") {
			t.Errorf("%s: the plans are the same: %v, and that is why they should not be: %q\n%s\n%s\n%s\n%s", e.name, same, e.why, e.one, texts[0], e.other, texts[1])
		}
	}
}
