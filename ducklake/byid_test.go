package ducklake_test

import (
	"fmt"
	"testing"

	"github.com/vegadb/vega-flight/ducklake"
	"github.com/vegadb/vega-flight/ducklake/laketest"
	"github.com/vegadb/vega-flight/ducklake/metadata"
	"github.com/vegadb/vega-flight/fault"
)

// A table that is commented and dropped by its id leaves the rows in the catalog that the extension's statements leave for its twin.
func TestByIDIsAsTheExtensionDoesIt(t *testing.T) {
	laketest.Each(t, func(t *testing.T, k laketest.Kind) {
		l := laketest.New(t, k)
		c := connect(t, l)
		ids := map[string]int64{}
		for _, name := range []string{"theirs", "ours"} {
			c.exec(`CREATE TABLE ` + name + ` (i BIGINT, l INTEGER[])`)
			c.exec(`INSERT INTO ` + name + ` SELECT range, [range] FROM range(5000)`)
			c.exec(`DELETE FROM ` + name + ` WHERE i = 3`)
			c.exec(`INSERT INTO ` + name + ` VALUES (-1, NULL)`)
			must(0, l.Store().View(ctx, func(tx metadata.Tx) error {
				info, _, err := metadata.TableByName(ctx, tx, "main", name, 0)
				ids[name] = info.ID
				return err
			}))
		}
		for _, text := range []string{"one", "it's two"} {
			c.exec(`COMMENT ON TABLE theirs IS ` + metadata.QuoteLiteral(text))
			must(0, l.CommentTable(ctx, ids["ours"], text))
			c.want(`SELECT count(DISTINCT comment), max(comment) FROM duckdb_tables() WHERE table_name IN ('ours', 'theirs') AND database_name = 'lake'`, "1|"+text)
		}
		before := must(l.Snapshot(ctx)).ID
		c.exec(`DROP TABLE theirs`)
		must(0, l.DropTable(ctx, ids["ours"]))
		_, err := c.try(`SELECT * FROM ours`)
		fails(t, err, fault.ObjectNotFound)

		// The snapshots of ours are those of theirs, one later.
		later := func(table, key string) string {
			return fmt.Sprintf(`SELECT begin_snapshot - %%d, end_snapshot - %%d FROM {M}%s WHERE %s = %%d ORDER BY 1, 2`, table, key)
		}
		must(0, l.Store().View(ctx, func(tx metadata.Tx) error {
			for table, key := range map[string]string{"ducklake_table": "table_id", "ducklake_column": "table_id", "ducklake_tag": "object_id",
				"ducklake_data_file": "table_id", "ducklake_delete_file": "table_id"} {
				q := later(table, key)
				created := func(id int64) int64 {
					rows, err := tx.Query(ctx, `SELECT min(begin_snapshot) FROM {M}ducklake_table WHERE table_id = $1`, id)
					must(0, err)
					return rows[0][0].(int64)
				}
				theirs, err := tx.Query(ctx, fmt.Sprintf(q, 0, before, ids["theirs"]))
				must(0, err)
				ours, err := tx.Query(ctx, fmt.Sprintf(q, 0, before+1, ids["ours"]))
				must(0, err)
				if len(theirs) != len(ours) {
					t.Errorf("%s: %v and %v", table, theirs, ours)
					continue
				}
				for i := range ours {
					live := fmt.Sprint(theirs[i][1]) == "1"
					if live != (fmt.Sprint(ours[i][1]) == "1") {
						t.Errorf("%s row %d ends at %v and %v (created %d and %d)", table, i, theirs[i], ours[i], created(ids["theirs"]), created(ids["ours"]))
					}
				}
			}
			rows, err := tx.Query(ctx, `SELECT changes_made FROM {M}ducklake_snapshot_changes WHERE snapshot_id > $1 ORDER BY snapshot_id`, before)
			must(0, err)
			for i, id := range []int64{ids["theirs"], ids["ours"]} {
				if want := fmt.Sprintf("dropped_table:%d", id); rows[i][0] != want {
					t.Errorf("the drop says %v, want %s", rows[i][0], want)
				}
			}
			return nil
		}))
		conn, release, err := l.Acquire(ctx, ducklake.ConnSettings{})
		must(0, err)
		defer release()
		rows, err := conn.Rows(ctx, fmt.Sprintf(`SELECT (SELECT count(*) FROM ours AT (VERSION => %[1]d)) = (SELECT count(*) FROM theirs AT (VERSION => %[1]d))`, before))
		if err != nil || rows[0][0] != true {
			t.Errorf("what they were: %v, %v", rows, err)
		}
		fails(t, l.DropTable(ctx, ids["ours"]), fault.ObjectNotFound)
		fails(t, l.CommentTable(ctx, ids["ours"], "x"), fault.ObjectNotFound)
	})
}
