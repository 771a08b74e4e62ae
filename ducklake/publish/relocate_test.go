package publish_test

import (
	"fmt"
	"testing"

	"github.com/vegadb/vega-flight/ducklake/laketest"
	"github.com/vegadb/vega-flight/ducklake/metadata"
	"github.com/vegadb/vega-flight/ducklake/publish"
)

// Others commit while a table is flushed, to other tables and to this one. Nothing that was deleted comes back, then or with later deletes.
func TestAFlushThatOthersOvertake(t *testing.T) {
	laketest.Each(t, func(t *testing.T, kind laketest.Kind) {
		for _, c := range []struct{ name, other, gone string }{
			{"another table", "INSERT INTO lake.main.other VALUES (1)", "4"},
			{"this table", "DELETE FROM lake.main.mine WHERE i = 6", "4, 6"},
		} {
			t.Run(c.name, func(t *testing.T) {
				l := newPlainLake(t, kind)
				l.exec("CALL lake.set_option('data_inlining_row_limit', 1000)")
				l.exec("CREATE TABLE lake.main.other (i BIGINT)")
				l.exec("CREATE TABLE lake.main.mine (i BIGINT)")
				l.exec("INSERT INTO lake.main.mine FROM range(10)")
				commits := 0
				p := l.publisher(func(p *publish.Config) {
					p.Faults.Moved = func() {
						if commits++; commits == 2 { // the first flush is of rows only
							l.exec(c.other)
						}
					}
				})
				var table metadata.TableInfo
				must(t, l.store.View(ctx, func(tx metadata.Tx) error {
					rows, err := tx.Query(ctx, `SELECT table_id FROM {M}ducklake_table WHERE table_name = 'mine'`)
					if err == nil {
						table, _, err = metadata.TableByID(ctx, tx, rows[0][0].(int64), 0)
					}
					return err
				}))
				must(t, p.Relocate(ctx, table, publish.Flush))
				l.exec("DELETE FROM lake.main.mine WHERE i = 4")
				must(t, p.Relocate(ctx, table, publish.Flush))
				if commits < 2 {
					t.Fatal("nothing was moved")
				}
				if got := fmt.Sprint(l.rows("SELECT list(i ORDER BY i) = list_filter(range(10), lambda x: x NOT IN (" + c.gone + ")) FROM lake.main.mine")); got != "[[true]]" {
					t.Errorf("after the flush there are %v", l.rows("SELECT i FROM lake.main.mine ORDER BY i"))
				}
				l.exec("DELETE FROM lake.main.mine WHERE i IN (1, 8)")
				if got := fmt.Sprint(l.rows("SELECT list(i ORDER BY i) = list_filter(range(10), lambda x: x NOT IN (1, 8, " + c.gone + ")) FROM lake.main.mine")); got != "[[true]]" {
					t.Errorf("after more deletes there are %v", l.rows("SELECT i FROM lake.main.mine ORDER BY i"))
				}
			})
		}
	})
}
