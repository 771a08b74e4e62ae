package main

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/vegadb/vega-flight/ducklake/duck"
	"github.com/vegadb/vega-flight/ivm/dataflow"
	"github.com/vegadb/vega-flight/ivm/eval/evaluator"
	"github.com/vegadb/vega-flight/ivm/zset"
)

var sumTables = []table{{name: "s", columns: []column{
	{"k", "VARCHAR", 0}, {"g", "INTEGER", 0}, {"a", "BIGINT", 0}, {"d", "DECIMAL(9,2)", 0}, {"b", "BOOLEAN", 0}, {"u", "UBIGINT", 0},
	{"t", "DATE", 0}, {"f", "DOUBLE", 0}, {"h", "HUGEINT", 0}, {"n", "TINYINT", 0},
}}}

const sumRows = `CREATE OR REPLACE TABLE s AS SELECT
	CASE WHEN i % 11 = 0 THEN NULL ELSE repeat('long text ', (i % 3)::BIGINT) || (i % 7) END AS k,
	CASE WHEN i % 13 = 0 THEN NULL ELSE (i % 5 - 2)::INTEGER END AS g,
	CASE WHEN i % 17 = 0 THEN NULL WHEN i % 3 = 0 THEN 9223372036854775807 - i ELSE -9223372036854775807 + i END AS a,
	CASE WHEN i % 19 = 0 THEN NULL ELSE ((hash(i) % 1999999999)::BIGINT - 999999999)::DECIMAL(18,0) / 100 END::DECIMAL(9,2) AS d,
	CASE WHEN i % 4 = 0 THEN NULL ELSE i % 3 = 0 END AS b,
	18446744073709551615 - i::UBIGINT AS u,
	DATE '2024-02-28' + (i % 9)::INTEGER AS t,
	i / 3.0 AS f, i::HUGEINT * 1000000000000000000 AS h, (i % 256 - 128)::TINYINT AS n
	FROM range(3000) r(i)`

// summedViews are views, and by what kinds of queries their states can be loaded.
var summedViews = []struct{ view, by string }{
	{"SELECT count(*) FROM s", "sums"},
	{"SELECT count(*), sum(a), avg(a) FROM s", "sums"},
	{"SELECT sum(a) FROM s WHERE g > 100", "sums"},
	{"SELECT g, count(*), count(a), sum(a), sum(n), avg(d), sum(d) FROM s GROUP BY g", "sums"},
	{"SELECT k, g, sum(d), count(DISTINCT 1) FILTER (WHERE false) FROM s GROUP BY k, g", ""}, // d is another in each row
	{"SELECT k, sum(d) FROM s GROUP BY k", "sums"},
	{"SELECT t, sum(a) FILTER (WHERE b), count(*) FILTER (WHERE d > 0 AND b), avg(n) FILTER (WHERE NOT b) FROM s GROUP BY t", "sums"},
	{"SELECT g + 1 AS x, sum(a // 2), sum(n * 2) FROM s WHERE d IS NOT NULL GROUP BY x", "filter"}, // n * 2 fails,
	{"SELECT b, sum(g) FROM s WHERE k <> '3' AND (g < 2 OR g IS NULL) GROUP BY b HAVING count(*) > 3", "sums"},
	{"SELECT u, h, count(*) FROM s GROUP BY u, h", "values"}, // almost as many groups as rows
	{"SELECT u, h, count(a), sum(a), avg(d), sum(a) FILTER (WHERE b), count(*) FILTER (WHERE g > 2 AND b) FROM s WHERE g > 0 GROUP BY u, h", "values"},
	{"SELECT g, count(*) FROM s WHERE a // n > 0 GROUP BY g", "sums"},
	{"SELECT g, sum(n) FROM s WHERE (n + 100)::TINYINT > 0 GROUP BY g", "sums"}, // fails for some rows, which are errors then
	{"SELECT g, sum(h) FROM s GROUP BY g", ""},
	{"SELECT g, sum(u) FROM s GROUP BY g", ""}, // of HUGEINTs
	{"SELECT g, sum(f) FROM s GROUP BY g", ""},
	{"SELECT f, count(*) FROM s GROUP BY f", ""},
	{"SELECT g, max(a) FROM s GROUP BY g", ""},
	{"SELECT g, max(b) AS most, min(t) AS first, count(DISTINCT b) AS c, count(*) AS rows FROM s GROUP BY g", "counts"},
	{"SELECT g, list(n ORDER BY n) FROM s GROUP BY g", "counts"},
	{"SELECT g, max(k) FROM s WHERE a > 0 GROUP BY g", "filter"},
	{"SELECT g, max(k) FROM s WHERE t > DATE '2024-03-01' GROUP BY g", "counts"},
	{"SELECT DISTINCT k, t FROM s WHERE b", "counts"},
	{"SELECT g, f, count(DISTINCT k) FROM s WHERE t > DATE '2024-03-01' GROUP BY g, f", "filter"},
	{"SELECT t, min(k), max(g + 2147483645) FROM s WHERE t < DATE '2024-03-04' GROUP BY t", "counts"},
	{"SELECT g, min(k) FROM s WHERE n * n > 0 GROUP BY g", ""}, // which rows fail is to be said
	{"SELECT a, f FROM s WHERE b", "filter"},
	{"SELECT a, n * 2 AS m FROM s WHERE b AND t > DATE '2024-03-01'", "filter"}, // which fails for some of the rows that pass
	{"SELECT k, sum(n * 2) FROM s WHERE b AND d > 0 GROUP BY k", "filter"},
	{"SELECT a FROM s WHERE n * n > 0 AND b", ""},
	{"SELECT g, n FROM s WHERE b", "filter"},
	{"SELECT g, n FROM s", ""},
	{"SELECT x.g, y.k, y.t FROM s x JOIN s y USING (g) WHERE x.t = DATE '2024-02-28' AND y.b", "counts"},
	{"SELECT g, n FROM s EXCEPT ALL SELECT g, n FROM s WHERE b", "counts"},
	{"SELECT g, n, row_number() OVER (PARTITION BY g ORDER BY n) AS r FROM s QUALIFY r <= 7", "counts"},
	{"SELECT n, count(*) FROM (SELECT unnest([n, n + 1::SMALLINT]) AS n FROM s) GROUP BY n", "counts"},
	{"SELECT g, count(DISTINCT a) FROM s GROUP BY g", ""},
	{"SELECT g, k, sum(a) FROM s GROUP BY ROLLUP (g, k)", ""},
	{"SELECT t, k, sum(g) FROM s GROUP BY ROLLUP (t, k)", "counts"},
	{"SELECT x.g, sum(y.a) FROM s x JOIN s y USING (g) WHERE x.a = 4 GROUP BY x.g", ""},
	{"SELECT g, sum(a) FROM s GROUP BY g UNION ALL SELECT g, sum(a) FROM s GROUP BY g", "sums"},
	{"SELECT g, sum(a) FROM s GROUP BY g UNION ALL SELECT n, sum(a) FROM s GROUP BY n", ""},
	{"SELECT count(*) FROM (SELECT g, max(n) FROM s GROUP BY g) JOIN (SELECT count(*) AS c FROM s) ON true", "counts"},
}

// TestStateFromSums: state that DuckDB's sums were loaded into goes on like state that rows were loaded or stepped into, down to nothing.
func TestStateFromSums(t *testing.T) {
	ctx := t.Context()
	db, err := duck.Open("", duck.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	b := &backfill{workers: 2}
	if b.conn, err = db.Connect(); err != nil {
		t.Fatal(err)
	}
	defer b.conn.Close()
	if b.eval, err = evaluator.Open(ctx, evaluator.Config{}); err != nil {
		t.Fatal(err)
	}
	defer b.eval.Close()
	if _, err := b.conn.Exec(ctx, sumRows); err != nil {
		t.Fatal(err)
	}
	for _, c := range summedViews {
		for _, shards := range []int{1, 3} {
			t.Run(fmt.Sprintf("%s/%d", c.view, shards), func(t *testing.T) { stateFromSums(t, b, c.view, c.by, shards) })
		}
	}
}

// summing says what queries have given.
type summing struct {
	backfillTables
	by string
}

func (s *summing) Summary(q *dataflow.Summary, take func(*zset.Batch) error) error {
	err := s.backfillTables.Summary(q, take)
	switch {
	case err != nil || strings.Contains(q.SQL, "approx_count_distinct") || strings.Contains(q.SQL, "count(DISTINCT h)"):
	case strings.Contains(q.SQL, "GROUP BY ALL"):
		s.by = "counts"
	case strings.Contains(q.SQL, "count(*)"):
		s.by = "sums"
	case strings.Contains(q.SQL, "CAST(1 AS BIGINT)"):
		s.by = "values"
	default:
		s.by = "filter"
	}
	return err
}

func stateFromSums(t *testing.T, b *backfill, view, by string, shards int) {
	ctx := context.Background()
	p, err := planOf(ctx, &workload{name: "s", tables: sumTables, view: view})
	if err != nil {
		t.Fatal(err)
	}
	var graphs [3]*dataflow.Graph // loaded from sums, loaded from rows, stepped
	var inputs []dataflow.Input
	for i := range graphs {
		if graphs[i], inputs, err = dataflow.Build(ctx, p, dataflow.BuildOptions{Evaluator: b.eval, Groups: b.eval, Parallelism: shards}); err != nil {
			t.Fatal(err)
		}
		defer graphs[i].Close()
	}
	from := &summing{backfillTables: backfillTables{ctx, b, inputs}}
	rows := func(sql string, sign int64) []*zset.Batch {
		out := make([]*zset.Batch, len(inputs))
		for i, in := range inputs {
			out[i] = zset.New(in.Layout())
			if err := b.read(ctx, from.columns(i, false)+sql, zset.New(in.Layout()), func(part *zset.Batch) error {
				out[i].AppendBatch(part)
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			if sign < 0 {
				out[i].Negate()
			}
		}
		return out
	}
	same := func(step string, outs [3]*zset.Batch) {
		t.Helper()
		texts := [3]string{}
		for i, o := range outs {
			o = o.Clone()
			o.Consolidate()
			texts[i] = o.Print() + fmt.Sprint(graphs[i].Errors())
		}
		if texts[0] != texts[2] || texts[1] != texts[2] {
			t.Fatalf("%s: from sums:\n%s\nfrom rows:\n%s\nstepped:\n%s", step, texts[0], texts[1], texts[2])
		}
	}
	var outs [3]*zset.Batch
	if outs[0], err = graphs[0].LoadFrom(ctx, 0, from); err != nil {
		t.Fatal(err)
	}
	if by != from.by {
		t.Fatalf("it was loaded from %q", from.by)
	}
	if outs[1], err = graphs[1].Load(ctx, 0, from.Rows); err != nil {
		t.Fatal(err)
	}
	if outs[2], err = graphs[2].Step(ctx, 0, rows("", 1)...); err != nil {
		t.Fatal(err)
	}
	same("loaded", outs)
	for i, change := range []struct {
		where string
		sign  int64
	}{{" WHERE rowid % 3 = 0", -1}, {" WHERE rowid % 6 = 0", 1}, {" WHERE rowid % 3 <> 0", -1}, {" WHERE rowid % 6 = 0", -1}} {
		for k, g := range graphs {
			if outs[k], err = g.Step(ctx, 0, rows(change.where, change.sign)...); err != nil {
				t.Fatal(err)
			}
		}
		same(fmt.Sprint("change ", i+1), outs)
	}
}
