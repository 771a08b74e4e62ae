package feed_test

import (
	"testing"

	"github.com/vegadb/vega-flight/ducklake/laketest"
)

// Rows of before are none, whatever becomes of them; rows that are updated begin anew.
func TestAfter(t *testing.T) {
	for _, kind := range []laketest.Kind{laketest.DuckDB, laketest.PostgreSQL} {
		t.Run(kind.String(), func(t *testing.T) {
			b := newLab(t, kind)
			b.do("CREATE TABLE t (id BIGINT, v VARCHAR)")
			b.do("INSERT INTO t SELECT i, 'old' FROM range(100) r(i)")
			b.do("INSERT INTO t SELECT i, 'file' FROM range(1000, 3000) r(i)")
			at := b.head()
			r, err := b.feed.OpenAfter(ctx, b.table("t"), nil, at)
			b.must(err)
			defer func() { b.must(r.Close()) }()
			for _, sql := range []string{
				"DELETE FROM t WHERE id < 10", "UPDATE t SET v = 'new' WHERE id BETWEEN 20 AND 29 OR id BETWEEN 1500 AND 1509",
				"INSERT INTO t VALUES (-1, 'new'), (-2, 'new')", "DELETE FROM t WHERE id IN (-1, 25, 1505, 1600, 30)",
				"INSERT INTO t SELECT i, 'new' FROM range(5000, 7000) r(i)", "CALL ducklake_flush_inlined_data('lake')",
				"DELETE FROM t WHERE id IN (26, 1506, 5001, 1700)", "UPDATE t SET v = 'new' WHERE id = 31",
			} {
				b.do(sql)
			}
			s, err := r.Read(ctx, at, b.head())
			if _, err = b.read(s, err, "got"); err != nil {
				t.Fatal(err)
			}
			all := b.open(b.table("t"))
			s, err = all.Content(ctx, b.head())
			if _, err = b.read(s, err, "now"); err != nil {
				t.Fatal(err)
			}
			if d := b.differ("SELECT id, v, sum(weight)::BIGINT FROM got GROUP BY ALL HAVING sum(weight) <> 0", "SELECT id, v, 1::BIGINT FROM now WHERE v = 'new'"); len(d) > 0 {
				t.Errorf("they differ: %v", d)
			}
		})
	}
}
