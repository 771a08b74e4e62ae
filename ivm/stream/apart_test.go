package stream_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/vegadb/vega-flight/ducklake/laketest"
	"github.com/vegadb/vega-flight/ivm/stream"
	"github.com/vegadb/vega-flight/ivm/zset"
)

// asked is a source that remembers what it was asked for.
type asked struct {
	summing
	mu    sync.Mutex
	texts []string
}

func (a *asked) Summary(ctx context.Context, r stream.Reading, at int64, q stream.Summing, take func(*zset.Batch) error) error {
	a.mu.Lock()
	a.texts = append(a.texts, q.Of("t"))
	a.mu.Unlock()
	return a.summing.Summary(ctx, r, at, q, take)
}

// grouped says how many of the queries for sums had groups made, and how many not.
func (a *asked) grouped() (groups, rows int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, q := range a.texts {
		switch {
		case strings.HasPrefix(q, "SELECT count(*), count(DISTINCT"):
		case strings.Contains(q, "GROUP BY"):
			groups++
		default:
			rows++
		}
	}
	a.texts = nil
	return groups, rows
}

// Where almost every row is a group by itself the sums are of single rows: what they are is the same.
func TestSumsOfRowsThatAreApart(t *testing.T) {
	source := &asked{}
	l := newLab(t, laketest.DuckDB, func(l *lab) {
		l.configure = append(l.configure, func(c *stream.Config) {
			source.Source = c.Source
			c.Source = source
		})
	})
	l.exec(`CREATE TABLE t AS SELECT i AS k, 'key%s ' || i AS name, CASE WHEN i % 3 = 0 THEN NULL ELSE i - 70000 END::INTEGER AS v, (i % 1000 / 7)::DECIMAL(9,2) AS d
			FROM range(160000) r(i)`,
		`CREATE TABLE few AS SELECT i * 500 AS k, 'label ' || i % 3 AS label FROM range(400) r(i)`,
		`DELETE FROM t WHERE k % 50 = 0`, `UPDATE t SET d = NULL WHERE k % 41 = 0`, `INSERT INTO t SELECT 7, name, v, d FROM t WHERE k < 100`,
		`INSERT INTO t VALUES (NULL, NULL, 5, 1.5), (NULL, NULL, NULL, 2.5), (-1, '100%', 5, -1.5)`)
	views := []struct {
		name, query  string
		groups, rows int
	}{
		{"by_number", `SELECT k, count(*) AS n, count(v) AS m, sum(v) AS s, avg(d) AS a, count(*) FILTER (WHERE v > 0) AS p, sum(d) FILTER (WHERE v < 0 AND d > 3) AS q
			FROM t WHERE k IS NULL OR k <> 77 GROUP BY k`, 0, 1},
		{"by_text", `SELECT name, v IS NULL AS nothing, sum(d) AS s FROM t WHERE name <> '100%d' GROUP BY name, v IS NULL`, 0, 1},
		{"halves", `SELECT k // 2 AS h, sum(v) AS s FROM t GROUP BY 1`, 1, 0},
		{"few_groups", `SELECT v IS NULL AS nothing, count(*) AS n, sum(d) AS s FROM t GROUP BY 1`, 1, 0},
		{"joined", `SELECT label, count(*) AS n, count(t.v) AS m, sum(t.v) AS s, sum(t.d) AS d FROM t JOIN few USING (k) GROUP BY label`, 0, 1},
	}
	for _, v := range views {
		l.view(v.name, v.query)
		l.check()
		if groups, rows := source.grouped(); groups != v.groups || rows != v.rows {
			t.Errorf("%s was loaded by %d queries for groups and %d for rows, not %d and %d", v.name, groups, rows, v.groups, v.rows)
		}
	}
	for _, sql := range []string{
		`DELETE FROM t WHERE k % 3 = 0 OR k IS NULL`, `UPDATE t SET v = v + 1, k = k + 1 WHERE k < 5000`, `INSERT INTO t SELECT k, name, v, d FROM t WHERE k < 300`,
		`DELETE FROM few WHERE k % 1000 = 0`, `DELETE FROM t WHERE k > 100`,
	} {
		l.exec(sql)
		l.check()
	}
}
