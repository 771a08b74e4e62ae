package ducklake_test

import (
	"testing"

	"github.com/vegadb/vega-flight/ducklake"
	"github.com/vegadb/vega-flight/ducklake/laketest"
)

// A flush by another program drops the tables of rows that were inlined before a table's columns changed. Who has read
// them goes on reading.
func TestFlushedElsewhereAfterAlter(t *testing.T) {
	p := laketest.NewPlace(t, laketest.PostgreSQL)
	here := p.Open(t, func(c *ducklake.Config) { c.ServerID = "here" })
	there := p.Open(t, func(c *ducklake.Config) { c.ServerID = "there" })
	c, other := connect(t, here), connect(t, there)
	for range 2 {
		c.exec(`CREATE TABLE t (i BIGINT)`)
		c.exec(`INSERT INTO t VALUES (1)`)
		c.exec(`ALTER TABLE t ADD COLUMN s VARCHAR`)
		c.exec(`INSERT INTO t VALUES (2, 'x')`)
		for range 2 {
			c.want(`SELECT i, s FROM t ORDER BY i`, "1|NULL", "2|x")
			other.want(`SELECT i, s FROM t ORDER BY i`, "1|NULL", "2|x")
			conn, release, err := there.Acquire(ctx, ducklake.ConnSettings{})
			if err != nil {
				t.Fatal(err)
			}
			_, err = conn.Exec(ctx, `CALL ducklake_flush_inlined_data('lake')`)
			release()
			if err != nil {
				t.Fatal(err)
			}
		}
		c.want(`SELECT i, s FROM t ORDER BY i`, "1|NULL", "2|x")
		c.want(`SELECT table_name FROM information_schema.tables WHERE table_name LIKE '%touch%'`)
		c.exec(`DROP TABLE t`)
	}
}
