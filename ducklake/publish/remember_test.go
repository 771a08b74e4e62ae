package publish_test

import (
	"testing"

	"github.com/vegadb/vega-flight/ducklake/laketest"
	"github.com/vegadb/vega-flight/ducklake/publish"
	"github.com/vegadb/vega-flight/fault"
)

// What a publisher remembers of its last commit never decides: others change the table, its statistics, its name and its published
// state between two commits, with and without naming it.
func TestWhatIsRememberedIsNotBelieved(t *testing.T) {
	laketest.Each(t, func(t *testing.T, kind laketest.Kind) {
		l := newLake(t, kind)
		p, other := l.publisher(), l.publisher()
		table, second := l.published(p, "v", "k BIGINT, s VARCHAR"), l.published(p, "w", "k BIGINT")
		epochs := map[string]int64{}
		commit := func(p *publish.Publisher, pubs ...publish.Publication) error {
			t.Helper()
			for i := range pubs {
				pubs[i].CommitID = commitID()
				pubs[i].Swap = publish.Swap{UUID: pubs[i].Table.UUID, Epoch: epochs[pubs[i].Table.UUID]}
			}
			results, err := p.Publish(ctx, pubs...)
			must(t, err)
			for i, r := range results {
				if r.Err != nil {
					return r.Err
				}
				epochs[pubs[i].Table.UUID] = r.Epoch
			}
			return nil
		}
		add := func(p *publish.Publisher, query string) {
			t.Helper()
			batches := l.read(query)
			must(t, commit(p, publish.Publication{Table: table, Delta: &publish.Delta{Insert: batches}}))
			for _, b := range batches {
				b.Release()
			}
		}
		want := int64(0)
		check := func(what string, rows int64) {
			t.Helper()
			want += rows
			if n := l.number("SELECT count(*) FROM lake.main.v"); n != want {
				t.Fatalf("%s: %d rows, not %d", what, n, want)
			}
			if n := l.number("SELECT count(DISTINCT rowid) FROM lake.main.v"); n != want {
				t.Fatalf("%s: %d row ids for %d rows", what, n, want)
			}
			if n := l.number("SELECT count(*) FROM lake.main.v WHERE k BETWEEN (SELECT min(k) FROM lake.main.v) AND (SELECT max(k) FROM lake.main.v)"); n != want {
				t.Fatalf("%s: %d of %d rows are within the bounds", what, n, want)
			}
		}
		add(p, "SELECT 1::BIGINT AS k, 'a' AS s")
		check("first", 1)
		add(p, "SELECT 2::BIGINT AS k, 'b' AS s")
		check("second", 1)
		add(other, "SELECT 100::BIGINT AS k, 'c' AS s")
		check("another publisher's", 1)
		add(p, "SELECT -3::BIGINT AS k, 'd' AS s")
		check("after another publisher's", 1)

		// A group whose snapshot does not name the table moves its published state on all the same.
		rows := l.read("SELECT 1::BIGINT AS k")
		stale := epochs[table.UUID]
		must(t, commit(other, publish.Publication{Table: table}, publish.Publication{Table: second, Delta: &publish.Delta{Insert: rows}}))
		now := epochs[table.UUID]
		epochs[table.UUID] = stale
		before := l.snapshot()
		if err := commit(p, publish.Publication{Table: table, Delta: &publish.Delta{Insert: l.read("SELECT 9::BIGINT AS k, 'x' AS s")}}); fault.CodeOf(err) != fault.RefreshConflict {
			t.Fatalf("a publication that was overtaken: %v", err)
		}
		if s := l.snapshot(); s != before {
			t.Fatalf("snapshot %d after %d, of a publication that lost", s, before)
		}
		epochs[table.UUID] = now
		add(p, "SELECT 4::BIGINT AS k, 'e' AS s")
		check("after a move of the frontier", 1)
		must(t, commit(p, publish.Publication{Table: table}))
		add(p, "SELECT 5::BIGINT AS k, 'f' AS s")
		check("after its own move of the frontier", 1)

		must(t, p.Relocate(ctx, table, publish.Flush))
		add(p, "SELECT 6::BIGINT AS k, 'g' AS s")
		check("after a flush", 1)
		l.exec("INSERT INTO lake.main.v SELECT 1000 + range, 'h' FROM range(7)")
		add(p, "SELECT 7::BIGINT AS k, 'i' AS s")
		check("after a foreign insert", 8)
		l.exec("ALTER TABLE lake.main.v RENAME TO x")
		l.exec("ALTER TABLE lake.main.x RENAME TO v")
		add(p, "SELECT 8::BIGINT AS k, 'j' AS s")
		check("after a rename", 1)
		l.exec("DELETE FROM lake.main.v")
		want = 0
		add(p, "SELECT 9::BIGINT AS k, 'k' AS s")
		check("after a foreign delete", 1)
	})
}
