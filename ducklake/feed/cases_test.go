package feed_test

import (
	"fmt"
	"testing"

	"github.com/vegadb/vega-flight/ducklake/feed"
	"github.com/vegadb/vega-flight/ducklake/laketest"
	"github.com/vegadb/vega-flight/ducklake/metadata"
	"github.com/vegadb/vega-flight/fault"
)

// table makes a table of numbers with its own inlining limit, and a reader of it.
func (b *lab) numbers(name string, limit int) *feed.Reader {
	b.t.Helper()
	b.do("CREATE TABLE lake.main." + name + " (k BIGINT)")
	b.do(fmt.Sprintf("CALL lake.set_option('data_inlining_row_limit', %d, table_name => '%s')", limit, name))
	return b.open(b.table(name))
}

// says is the feed of a window: snapshot, weight and value of each row, in order.
func (b *lab) says(r *feed.Reader, from, to int64) string {
	b.t.Helper()
	stream, err := r.Read(ctx, from, to)
	_, err = b.read(stream, err, "said")
	if err != nil {
		return fault.CodeOf(err).Name()
	}
	return fmt.Sprint(b.ask(`SELECT "snapshot"::VARCHAR || CASE "weight" WHEN 1 THEN '+' WHEN -1 THEN '-' END || k FROM said ORDER BY "snapshot", "weight" DESC, k`))
}

func (b *lab) want(r *feed.Reader, from, to int64, want string) {
	b.t.Helper()
	if got := b.says(r, from, to); got != want {
		b.t.Errorf("(%d, %d]:\n got %s\nwant %s", from, to, got, want)
	}
}

// retriedDelete deletes rows of a file that has deletes already, in a transaction that another commit overtakes.
func (b *lab) retriedDelete(delete, beside string) (beforehand, at int64) {
	b.t.Helper()
	b.do("BEGIN")
	b.do(delete)
	run(b.t, b.connect(), beside)
	beforehand = b.head()
	b.do("COMMIT")
	return beforehand, b.head()
}

func TestRetriedDelete(t *testing.T) {
	laketest.Each(t, func(t *testing.T, kind laketest.Kind) {
		b := newLab(t, kind)
		r := b.numbers("t", 0)
		b.numbers("o", 0)
		b.do("INSERT INTO lake.main.t FROM range(6)")
		b.do("DELETE FROM lake.main.t WHERE k = 0")
		start := b.head()
		beside, at := b.retriedDelete("DELETE FROM lake.main.t WHERE k IN (1, 2)", "INSERT INTO lake.main.o VALUES (1)")
		b.want(r, start, beside, "[]")
		b.want(r, beside, at, fmt.Sprintf("[[%[1]d-1] [%[1]d-2]]", at))
		b.want(r, start, at, fmt.Sprintf("[[%[1]d-1] [%[1]d-2]]", at))

		// The extension's own history has them deleted before.
		exact, err := r.Exact(ctx, beside)
		b.must(err)
		again, err := r.Exact(ctx, at)
		b.must(err)
		if exact || !again {
			t.Errorf("exact at %d: %v, at %d: %v", beside, exact, at, again)
		}
		stream, err := r.Content(ctx, beside)
		if n, err := b.read(stream, err, "content"); n != 5 || err != nil {
			t.Errorf("%d rows at %d, %v", n, beside, err)
		}

		// Its file is replaced: it is still the only one that can have deleted them.
		b.do("DELETE FROM lake.main.t WHERE k = 3")
		last := b.head()
		b.want(r, start, beside, "[]")
		b.want(r, beside, at, fmt.Sprintf("[[%[1]d-1] [%[1]d-2]]", at))
		b.want(r, at, last, fmt.Sprintf("[[%d-3]]", last))
		b.want(r, start, last, fmt.Sprintf("[[%[1]d-1] [%[1]d-2] [%[2]d-3]]", at, last))
	})
}

// A transaction is retried while a content from before it is read: its stamp hides rows that are still there.
func TestContentWhileADeleteIsRetried(t *testing.T) {
	laketest.Each(t, func(t *testing.T, kind laketest.Kind) {
		b := newLab(t, kind)
		r := b.numbers("t", 0)
		b.numbers("o", 0)
		b.do("INSERT INTO lake.main.t FROM range(6)")
		b.do("DELETE FROM lake.main.t WHERE k = 0")
		b.do("BEGIN")
		b.do("DELETE FROM lake.main.t WHERE k IN (1, 2)")
		run(t, b.connect(), "INSERT INTO lake.main.o VALUES (1)")
		beside := b.head()
		stream, err := r.Content(ctx, beside) // all that is asked of the catalog is known
		b.must(err)
		b.do("COMMIT")
		if n, err := b.read(stream, nil, "content"); n != 5 || err != nil {
			t.Errorf("%d rows at %d, %v", n, beside, err)
		}
		stream, err = r.Content(ctx, beside)
		if n, err := b.read(stream, err, "content"); n != 5 || err != nil {
			t.Errorf("%d rows at %d afterwards, %v", n, beside, err)
		}
	})
}

// The commit whose id the stamp is deleted from another file of the same table.
func TestRetriedDeleteBesideAnother(t *testing.T) {
	laketest.Each(t, func(t *testing.T, kind laketest.Kind) {
		b := newLab(t, kind)
		r := b.numbers("t", 0)
		b.do("INSERT INTO lake.main.t FROM range(6)")
		b.do("INSERT INTO lake.main.t FROM range(10, 16)")
		b.do("DELETE FROM lake.main.t WHERE k = 0")
		b.do("DELETE FROM lake.main.t WHERE k = 10")
		start := b.head()
		beside, at := b.retriedDelete("DELETE FROM lake.main.t WHERE k = 1", "DELETE FROM lake.main.t WHERE k = 11")
		b.want(r, start, beside, fmt.Sprintf("[[%d-11]]", beside))
		b.want(r, beside, at, fmt.Sprintf("[[%d-1]]", at))
		b.want(r, start, at, fmt.Sprintf("[[%d-11] [%d-1]]", beside, at))
	})
}

// A file is retired while it has inlined deletes: the extension does not do that by itself, since it counts only delete files, but a
// replacement that was written natively does.
func TestRetiredWithInlinedDeletes(t *testing.T) {
	laketest.Each(t, func(t *testing.T, kind laketest.Kind) {
		b := newLab(t, kind)
		r := b.numbers("t", 2)
		b.do("INSERT INTO lake.main.t FROM range(5)")
		start := b.head()
		b.do("DELETE FROM lake.main.t WHERE k IN (0, 1)")
		first := b.head()
		b.do("DELETE FROM lake.main.t WHERE k IN (2)")
		second := b.head()
		var last int64
		b.must(b.lake.Store().Update(ctx, func(tx metadata.Tx) error {
			s, err := metadata.Latest(ctx, tx)
			if err != nil {
				return err
			}
			last = s.ID + 1
			id := r.Table().ID
			for _, sql := range []string{
				fmt.Sprintf("INSERT INTO {M}ducklake_snapshot VALUES (%d, now(), %d, %d, %d)", last, s.SchemaVersion, s.NextCatalogID, s.NextFileID+1),
				fmt.Sprintf("INSERT INTO {M}ducklake_snapshot_changes VALUES (%d, 'deleted_from_table:%d', NULL, NULL, NULL)", last, id),
				fmt.Sprintf("UPDATE {M}ducklake_data_file SET end_snapshot = %d WHERE table_id = %d AND end_snapshot IS NULL", last, id),
			} {
				if _, err := tx.Exec(ctx, sql); err != nil {
					return err
				}
			}
			return nil
		}))
		gone := fmt.Sprintf("[%[1]d-3] [%[1]d-4]", last)
		b.want(r, second, last, "["+gone+"]")
		b.want(r, first, last, fmt.Sprintf("[[%d-2] %s]", second, gone))
		b.want(r, start, last, fmt.Sprintf("[[%[1]d-0] [%[1]d-1] [%[2]d-2] %[3]s]", first, second, gone))
	})
}

// Both deletes of a transaction that together empty a file are reported once, where the extension's feed has them twice.
func TestFileEmptiedTwice(t *testing.T) {
	laketest.Each(t, func(t *testing.T, kind laketest.Kind) {
		b := newLab(t, kind)
		r := b.numbers("t", 0)
		b.do("INSERT INTO lake.main.t FROM range(1, 4)")
		start := b.head()
		b.do("BEGIN; DELETE FROM lake.main.t WHERE k IN (1, 2); DELETE FROM lake.main.t WHERE k = 3; COMMIT")
		b.want(r, start, b.head(), fmt.Sprintf("[[%[1]d-1] [%[1]d-2] [%[1]d-3]]", b.head()))
	})
}

func TestDropAndRecreate(t *testing.T) {
	laketest.Each(t, func(t *testing.T, kind laketest.Kind) {
		b := newLab(t, kind)
		r := b.numbers("t", 10)
		start := b.head()
		b.do("INSERT INTO lake.main.t VALUES (1)")
		written := b.head()
		b.do("ALTER TABLE lake.main.t RENAME TO u")
		renamed := b.head()
		b.do("INSERT INTO lake.main.u FROM range(20)")
		filled := b.head()
		b.do("DROP TABLE lake.main.u")
		dropped := b.head()
		b.do("CREATE TABLE lake.main.u (k BIGINT)")
		b.do("INSERT INTO lake.main.u VALUES (2)")
		head := b.head()
		other := b.open(b.table("u"))
		plan, err := b.feed.Plan(ctx, start, head, r, other)
		b.must(err)
		var got []string
		for _, c := range plan.Changes {
			text := fmt.Sprint(c.Snapshot, " ", c.Table, " ", c.Kind, " ", c.Name)
			if c.Successor != nil {
				text += c.Successor.UUID
			}
			got = append(got, text)
		}
		id, next := r.Table().ID, other.Table()
		want := []string{
			fmt.Sprint(written, " ", id, " rows "), fmt.Sprint(renamed, " ", id, " renamed u"), fmt.Sprint(filled, " ", id, " rows "),
			fmt.Sprint(dropped, " ", id, " dropped+recreated ", next.UUID), fmt.Sprint(head, " ", next.ID, " rows "),
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("the plan is\n%q, not\n%q", got, want)
		}
		b.want(r, start, written, fmt.Sprintf("[[%d+1]]", written))
		if s := b.says(r, written, head); s != "SOURCE_CHANGED" {
			t.Errorf("past the drop: %s", s)
		}
		stream, err := r.Content(ctx, head)
		if _, err = b.read(stream, err, "content"); fault.CodeOf(err) != fault.SourceChanged {
			t.Errorf("content past the drop: %v", err)
		}
		stream, err = r.Content(ctx, filled)
		if n, err := b.read(stream, err, "content"); n != 21 || err != nil {
			t.Errorf("content before the drop: %d rows, %v", n, err)
		}
		b.want(other, start, head, fmt.Sprintf("[[%d+2]]", head))

		// Another lake in its place has a table with the same id.
		wrong := next
		wrong.UUID = r.Table().UUID
		if _, err := b.feed.Plan(ctx, start, head, b.open(wrong)); fault.CodeOf(err) != fault.SourceChanged {
			t.Errorf("a table with another uuid: %v", err)
		}
	})
}

func TestSchemaChanges(t *testing.T) {
	b := newLab(t, laketest.DuckDB)
	b.do("CREATE TABLE lake.main.t (k INTEGER, s STRUCT(x INTEGER, y VARCHAR), l STRUCT(x INTEGER)[], m MAP(VARCHAR, INTEGER))")
	b.do("CALL lake.set_option('data_inlining_row_limit', 1, table_name => 't')")
	first := b.open(b.table("t"))
	start := b.head()
	b.do("INSERT INTO lake.main.t VALUES (1, {'x': 1, 'y': 'a'}, [{'x': 1}], MAP {'a': 1})")
	b.do("INSERT INTO lake.main.t SELECT 2, {'x': 2, 'y': 'b'}, [{'x': 2}], MAP {'b': 2} FROM range(2)")
	filled := b.head()
	b.do("ALTER TABLE lake.main.t ADD COLUMN s.z INTEGER")
	b.do("ALTER TABLE lake.main.t RENAME COLUMN s.y TO why")
	b.do("ALTER TABLE lake.main.t DROP COLUMN s.x")
	b.do("ALTER TABLE lake.main.t ADD COLUMN n INTEGER DEFAULT 7")
	b.do("ALTER TABLE lake.main.t ALTER COLUMN k TYPE BIGINT")
	altered := b.head()
	b.do("DELETE FROM lake.main.t")
	head := b.head()
	last := b.open(b.table("t"))

	stream, err := last.Read(ctx, start, head)
	_, err = b.read(stream, err, "f")
	b.must(err)
	if got := fmt.Sprint(b.ask(`SELECT k::VARCHAR, s::VARCHAR, l::VARCHAR, m::VARCHAR, n, sum("weight"), count(*) FROM f GROUP BY ALL ORDER BY 1`)); got !=
		"[[1 {'why': a, 'z': NULL} [{'x': 1}] {a=1} 7 0 2] [2 {'why': b, 'z': NULL} [{'x': 2}] {b=2} 7 0 4]]" {
		t.Error(got)
	}
	stream, err = first.Read(ctx, start, filled)
	_, err = b.read(stream, err, "f")
	b.must(err)
	if got := fmt.Sprint(b.ask(`SELECT k, s::VARCHAR FROM f ORDER BY k`)); got != "[[1 {'x': 1, 'y': a}] [2 {'x': 2, 'y': b}] [2 {'x': 2, 'y': b}]]" {
		t.Error(got)
	}
	plan, err := b.feed.Plan(ctx, filled, altered, last)
	b.must(err)
	var got []string
	for _, c := range plan.Changes {
		if c.Kind != feed.Altered || len(c.Columns) != 1 {
			t.Fatal(c)
		}
		x := c.Columns[0]
		got = append(got, fmt.Sprint(x.Before.Name, x.After.Name, x.Added(), x.Gone(), x.Renamed(), x.Retyped()))
	}
	if want := "[ssfalse false false true ssfalse false false true ssfalse false false true ntrue false false false kkfalse false false true]"; fmt.Sprint(got) != want {
		t.Error(got)
	}
}

func TestExpired(t *testing.T) {
	laketest.Each(t, func(t *testing.T, kind laketest.Kind) {
		b := newLab(t, kind)
		r := b.numbers("t", 10)
		start := b.head()
		for i := range 4 {
			b.do("INSERT INTO lake.main.t VALUES (?)", i)
		}
		b.do("CALL ducklake_expire_snapshots('lake', versions => [?::UBIGINT])", start+1)
		for _, w := range [][2]int64{{start, start + 2}, {start + 1, start + 2}} {
			if got := b.says(r, w[0], w[1]); got != "CHANGE_HISTORY_EXPIRED" {
				t.Errorf("%v: %s", w, got)
			}
		}
		if _, err := b.feed.Plan(ctx, start, start+2, r); fault.CodeOf(err) != fault.HistoryExpired {
			t.Error(err)
		}
		stream, err := r.Content(ctx, start+1)
		if _, err := b.read(stream, err, "content"); fault.CodeOf(err) != fault.HistoryExpired {
			t.Error(err)
		}
		b.want(r, start+2, start+4, fmt.Sprintf("[[%d+2] [%d+3]]", start+3, start+4))
	})
}

// Rows that differ in what a collation may take for the same.
func TestBinaryIdentity(t *testing.T) {
	laketest.Each(t, func(t *testing.T, kind laketest.Kind) {
		b := newLab(t, kind)
		b.do(`CREATE TABLE lake.main.t (s VARCHAR, b BLOB)`)
		r := b.open(b.table("t"))
		start := b.head()
		values := `('a', 'a'::BLOB), ('A', 'A'::BLOB), ('a ', '\x00'::BLOB), ('ä', NULL), ('a' || chr(0) || 'b', '\x00\x01'::BLOB), (NULL, ''::BLOB), ('', ''::BLOB)`
		b.do("INSERT INTO lake.main.t VALUES " + values)
		stream, err := r.Read(ctx, start, b.head())
		_, err = b.read(stream, err, "f")
		b.must(err)
		if d := b.differ("SELECT s, b FROM f", "SELECT * FROM (VALUES "+values+")"); len(d) > 0 {
			t.Error(d)
		}
	})
}

// A stream that is left before its end leaves nothing behind.
func TestLeftEarly(t *testing.T) {
	laketest.Each(t, func(t *testing.T, kind laketest.Kind) {
		b := newLab(t, kind)
		r := b.numbers("t", 100000)
		start := b.head()
		b.do("INSERT INTO lake.main.t FROM range(50000)")
		b.do("INSERT INTO lake.main.t FROM range(200000)")
		for range 3 {
			s, err := r.Read(ctx, start, b.head())
			b.must(err)
			if !s.Next() {
				t.Fatal(s.Err())
			}
			if _, err := b.feed.Plan(ctx, start, b.head(), r); err == nil {
				t.Error("a feed plans while a stream of it is open")
			}
			b.must(s.Close())
		}
		s, err := r.Read(ctx, start, b.head())
		if n, err := b.read(s, err, "f"); n != 250000 || err != nil {
			t.Error(n, err)
		}
	})
}

// A delete of a file's row and an inlined one of the same row do not see each other, and both are committed. The row goes once.
func TestDeletedTwice(t *testing.T) {
	laketest.Each(t, func(t *testing.T, kind laketest.Kind) {
		b := newLab(t, kind)
		other := b.connect()
		for i, first := range []string{"inlined", "file"} {
			name := fmt.Sprint("t", i)
			r := b.numbers(name, 2)
			b.do("INSERT INTO lake.main." + name + " FROM range(10)")
			start := b.head()
			b.do("BEGIN")
			run(t, other, "BEGIN")
			b.do("DELETE FROM lake.main." + name + " WHERE k = 1")
			run(t, other, "DELETE FROM lake.main."+name+" WHERE k IN (1, 2, 3)")
			one, two := b.conn, other
			if first == "file" {
				one, two = other, b.conn
			}
			run(t, one, "COMMIT")
			before := b.head()
			run(t, two, "COMMIT")
			last := b.head()
			if first == "file" {
				b.want(r, start, before, fmt.Sprintf("[[%[1]d-1] [%[1]d-2] [%[1]d-3]]", before))
				b.want(r, before, last, "[]")
				continue
			}
			b.want(r, start, before, fmt.Sprintf("[[%d-1]]", before))
			b.want(r, before, last, fmt.Sprintf("[[%[1]d-2] [%[1]d-3]]", last))
			b.want(r, start, last, fmt.Sprintf("[[%d-1] [%[2]d-2] [%[2]d-3]]", before, last))
		}
	})
}
