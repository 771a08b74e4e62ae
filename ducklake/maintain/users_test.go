package maintain_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/vegadb/vega-flight/ducklake/laketest"
	"github.com/vegadb/vega-flight/ducklake/maintain"
	"github.com/vegadb/vega-flight/ducklake/metadata"
)

func flushable(c *maintain.Config) {
	c.Flushable = func(t metadata.TableInfo) bool { return t.Name != "written" }
}

// The rows of users' small changes become files when there are many, and nothing but that changes: not the content, not its history, not
// what an open transaction reads, and no table that is to be left alone.
func TestUsersRowsAreFlushed(t *testing.T) {
	laketest.Each(t, func(t *testing.T, kind laketest.Kind) {
		w := newWorld(t, kind, flushable)
		names := []string{"many", "few", "written", "altered", "kept"}
		for _, name := range names {
			must(t, w.lake.DDL(ctx, "CREATE TABLE lake.main."+name+"(i BIGINT, d DECIMAL(12, 3), s VARCHAR)"))
		}
		fill := func(name string, n int) {
			w.exec(fmt.Sprintf("INSERT INTO lake.main.%s SELECT i, i / 3, CASE WHEN i %% 5 > 0 THEN 'row ' || i END FROM range(%d) r(i)", name, n))
		}
		w.exec("CALL lake.set_option('auto_compact', false, table_name => 'kept')")
		fill("altered", 30)
		must(t, w.lake.DDL(ctx, "ALTER TABLE lake.main.altered ADD COLUMN more INTEGER"))
		w.exec("INSERT INTO lake.main.altered SELECT i, i, i, i FROM range(30) r(i)")
		for _, name := range []string{"many", "written", "kept"} {
			fill(name, 60)
		}
		fill("few", 5)
		w.exec("UPDATE lake.main.many SET s = 'new' WHERE i < 10")
		w.exec("DELETE FROM lake.main.many WHERE i % 7 = 0")
		w.exec("INSERT INTO lake.main.many VALUES (NULL, -0.5, 'x'), (1, NULL, '')")

		first := w.snapshots()
		state := func() map[string]string {
			out := map[string]string{}
			for _, name := range names {
				out[name] = fmt.Sprint(w.rows("SELECT rowid, * FROM lake.main." + name + " ORDER BY ALL"))
				for id := range first {
					if w.catalog(`SELECT count(*) FROM {M}ducklake_table WHERE table_name = $1 AND begin_snapshot <= $2`, name, id) > 0 {
						out[fmt.Sprint(name, " at ", id)] = fmt.Sprint(w.rows(fmt.Sprintf("SELECT rowid, * FROM lake.main.%s AT (VERSION => %d) ORDER BY ALL", name, id)))
					}
				}
			}
			return out
		}
		before := state()
		pending := func(name string) int64 {
			id := w.catalog(`SELECT table_id FROM {M}ducklake_table WHERE table_name = $1 AND end_snapshot IS NULL`, name)
			var n int64
			must(t, w.store.View(ctx, func(tx metadata.Tx) error {
				rows, err := tx.Query(ctx, `SELECT table_name FROM {M}ducklake_inlined_data_tables WHERE table_id = $1`, id)
				for _, r := range rows {
					counted, err := tx.Query(ctx, `SELECT count(*) FROM {M}`+metadata.QuoteIdent(r[0].(string)))
					if err != nil {
						return err
					}
					n += counted[0][0].(int64)
				}
				return err
			}))
			return n
		}

		reader, release, err := w.acquire(ctx)
		must(t, err)
		defer release()
		_, err = reader.Exec(ctx, "BEGIN")
		must(t, err)
		seen, err := reader.Rows(ctx, "SELECT * FROM lake.main.many ORDER BY ALL")
		must(t, err)

		rows := pending("many")
		many := w.catalog(`SELECT table_id FROM {M}ducklake_table WHERE table_name = 'many'`)
		if got := w.run(); !slices.Equal(got.Flushed, []int64{many}) {
			t.Fatalf("flushed %v, want only %d, of %d rows", got.Flushed, many, rows)
		}
		if n := pending("many"); n != 0 {
			t.Errorf("%d rows are still in the catalog", n)
		}
		for _, name := range names[1:] {
			if pending(name) == 0 {
				t.Errorf("table %s was flushed", name)
			}
		}
		after := state()
		for k, v := range before {
			if v != after[k] {
				t.Errorf("%s:\n%v\n%v", k, v, after[k])
			}
		}
		again, err := reader.Rows(ctx, "SELECT * FROM lake.main.many ORDER BY ALL")
		must(t, err)
		if fmt.Sprint(seen) != fmt.Sprint(again) {
			t.Error("an open transaction reads something else")
		}
		_, err = reader.Exec(ctx, "COMMIT")
		must(t, err)
		for id := range first {
			if !w.snapshots()[id] {
				t.Errorf("snapshot %d is gone", id)
			}
		}
		if got := w.run(); len(got.Flushed) > 0 {
			t.Errorf("flushed %v again", got.Flushed)
		}
		w.exec("UPDATE lake.main.many SET s = 'later' WHERE i = 11")
		if n := w.number("SELECT count(*) FROM lake.main.many WHERE s = 'later'"); n != 1 {
			t.Errorf("%d rows after a later change", n)
		}
	})
}

// A flush of another program that others overtake hides deletes from every reader. The next maintenance shows them again.
func TestHiddenDeletesAreShownAgain(t *testing.T) {
	laketest.Each(t, func(t *testing.T, kind laketest.Kind) {
		w := newWorld(t, kind, flushable)
		for _, name := range []string{"mine", "other", "fine"} {
			must(t, w.lake.DDL(ctx, "CREATE TABLE lake.main."+name+"(i BIGINT)"))
			w.exec("INSERT INTO lake.main." + name + " FROM range(10)")
		}
		w.exec("CALL ducklake_flush_inlined_data('lake')")
		w.exec("DELETE FROM lake.main.mine WHERE i = 4")
		other, release, err := w.acquire(ctx)
		must(t, err)
		defer release()
		for _, sql := range []string{"BEGIN", "CALL ducklake_flush_inlined_data('lake')"} {
			_, err := other.Exec(ctx, sql)
			must(t, err)
		}
		w.exec("INSERT INTO lake.main.other VALUES (1)")
		_, err = other.Exec(ctx, "COMMIT")
		must(t, err)
		w.exec("DELETE FROM lake.main.mine WHERE i IN (1, 8)")
		w.exec("DELETE FROM lake.main.fine WHERE i = 1")
		if n := w.number("SELECT count(*) FROM lake.main.mine"); n != 8 {
			t.Fatalf("nothing is hidden, there are %d rows; so maintenance need not look for it any more", n)
		}
		mine := w.catalog(`SELECT table_id FROM {M}ducklake_table WHERE table_name = 'mine'`)
		if got := w.run(); !slices.Equal(got.Flushed, []int64{mine}) {
			t.Errorf("flushed %v, want only %d", got.Flushed, mine)
		}
		if n := w.number("SELECT count(*) FROM lake.main.mine"); n != 7 {
			t.Errorf("there are %d rows", n)
		}
		if got := w.run(); len(got.Flushed) > 0 {
			t.Errorf("flushed %v again", got.Flushed)
		}
	})
}
