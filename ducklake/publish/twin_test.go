package publish_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/vegadb/vega-flight/ducklake/laketest"
	"github.com/vegadb/vega-flight/ducklake/maintain"
	"github.com/vegadb/vega-flight/ducklake/metadata"
	"github.com/vegadb/vega-flight/ducklake/publish"
)

// columns of the twins: every kind of value that is written in a way of its own.
var twinColumns = []struct{ name, typ, expr string }{
	{"id", "BIGINT", "id"},
	{"v", "VARCHAR", `CASE id % 7 WHEN 0 THEN NULL WHEN 1 THEN 'it''s "é" ' || id WHEN 2 THEN '' WHEN 3 THEN 'NULL' ELSE 'v' || (id * 7919 % 1000) END`},
	{"d", "DECIMAL(18,3)", `CASE WHEN id % 5 = 0 THEN NULL ELSE (id - 500) / 8 END`},
	{"ts", "TIMESTAMP", `TIMESTAMP '2020-01-01 00:00:00' + to_microseconds(id * 1234567)`},
	{"tz", "TIMESTAMPTZ", `CASE id % 11 WHEN 0 THEN 'infinity'::TIMESTAMPTZ WHEN 1 THEN '0044-03-15 (BC) 10:00:00+00'::TIMESTAMPTZ ELSE TIMESTAMPTZ '2020-01-01 00:00:00+00' + to_days(CAST(id AS INTEGER)) END`},
	{"f", "DOUBLE", `CASE id % 13 WHEN 0 THEN '-inf'::DOUBLE WHEN 1 THEN -0.0 WHEN 2 THEN NULL ELSE id / 7 END`},
	{"b", "BOOLEAN", `CASE id % 3 WHEN 0 THEN NULL ELSE id % 3 = 1 END`},
	{"l", "INTEGER[]", `CASE id % 4 WHEN 0 THEN NULL WHEN 1 THEN [] ELSE [id, NULL, -id] END`},
	{"s", "STRUCT(a INTEGER, b VARCHAR)", `CASE id % 6 WHEN 0 THEN NULL ELSE {'a': id, 'b': 'x, y [' || id} END`},
	{"m", "MAP(VARCHAR, INTEGER)", `CASE id % 6 WHEN 1 THEN NULL ELSE MAP {'k' || id: id} END`},
	{"da", "DATE", `CASE id % 9 WHEN 0 THEN '-infinity'::DATE ELSE DATE '1999-12-31' + CAST(id AS INTEGER) END`},
	{"u", "UUID", `CAST(lpad(to_hex(abs(id) * 7919 + CAST(id < 0 AS INTEGER)), 32, 'f') AS UUID)`},
	{"bl", "BLOB", `CASE id % 5 WHEN 1 THEN NULL ELSE encode('\x00''"' || id) END`},
	{"ub", "UBIGINT", `18446744073709551615 - abs(id)`},
	{"t", "TIME", `TIME '00:00:00' + to_microseconds(abs(id) * 86399)`},
}

func twinSchema() string {
	parts := make([]string, len(twinColumns))
	for i, c := range twinColumns {
		parts[i] = c.name + " " + c.typ
	}
	return strings.Join(parts, ", ")
}

// twinRows is the query that makes the rows of the ids; each id gives a different row.
func twinRows(ids []int64) string {
	exprs := make([]string, len(twinColumns))
	for i, c := range twinColumns {
		exprs[i] = fmt.Sprintf("CAST(%s AS %s) AS %s", c.expr, c.typ, c.name)
	}
	return fmt.Sprintf("SELECT %s FROM (SELECT unnest([%s]::BIGINT[]) AS id)", strings.Join(exprs, ", "), join(ids))
}

func join(ids []int64) string {
	parts := make([]string, len(ids))
	for i, id := range ids {
		parts[i] = strconv.FormatInt(id, 10)
	}
	return strings.Join(parts, ",")
}

// twin drives one random history: the same changes to the table that is published natively, to a mirror by the
// extension's own DML, and to a plain table in memory, the oracle.
type twin struct {
	*lake
	rng    *rand.Rand
	p      *publish.Publisher
	m      *maintain.Maintainer
	table  metadata.TableInfo
	epoch  int64
	seen   int64
	nextID int64
	ids    []int64        // what the published table should have
	at     map[int64]bool // snapshots whose content is remembered
	untrue map[int64]bool // snapshots that hold somebody else's write to our table
	last   int64          // the newest of them
	log    []string
}

func newTwin(t *testing.T, kind laketest.Kind, seed uint64, change ...func(*publish.Config)) *twin {
	w := &twin{lake: makeLake(t, kind, seed%2 == 0), rng: rand.New(rand.NewPCG(seed, 1)), at: map[int64]bool{}, untrue: map[int64]bool{}, nextID: 100}
	limit := []int{10, 1000}[seed%2]
	w.exec(fmt.Sprintf("CALL lake.set_option('data_inlining_row_limit', %d)", limit))
	w.p = w.publisher(append([]func(*publish.Config){func(c *publish.Config) { c.InlineRows = 6 }}, change...)...)
	w.m = maintain.New(maintain.Config{Store: w.store, Lock: w.lock, Lake: "lake", Publisher: w.p, Servers: &maintain.Servers{Store: w.store},
		Acquire: w.acquire, PublicationRetention: 1, UserRetention: time.Duration(seed % 2), CleanupDelay: 1, FlushRows: 1 << 40, MergeFiles: 1 << 40})
	w.table = w.published(w.p, "v", twinSchema())
	w.exec("CREATE TABLE lake.main.mirror(" + twinSchema() + ")")
	w.exec("CREATE TABLE lake.main.other(i BIGINT)")
	w.exec("CREATE TABLE memory.main.oracle(" + twinSchema() + ")")
	w.seen = w.snapshot()
	w.remember()
	return w
}

func (w *twin) note(format string, args ...any) {
	w.log = append(w.log, fmt.Sprintf(format, args...))
}

func (w *twin) fail(format string, args ...any) {
	w.t.Helper()
	w.t.Fatalf("%s\nhistory:\n%s\nchanges: %v", fmt.Sprintf(format, args...), strings.Join(w.log, "\n"), w.rows("SELECT snapshot_id, changes::VARCHAR FROM lake.snapshots()"))
}

// remember keeps the oracle's content as that of the newest snapshot.
func (w *twin) remember() {
	w.t.Helper()
	newest := w.snapshot()
	// What lies between are flushes that a publication made for itself before its commit.
	for id := w.last + 1; id < newest && w.last > 0; id++ {
		w.exec(fmt.Sprintf("CREATE OR REPLACE TABLE memory.main.at_%d AS FROM memory.main.at_%d", id, w.last))
		w.at[id] = true
	}
	w.last = newest
	w.exec(fmt.Sprintf("CREATE OR REPLACE TABLE memory.main.at_%d AS FROM memory.main.oracle", w.last))
	w.at[w.last] = true
}

func (w *twin) fresh(n int) []int64 {
	ids := make([]int64, n)
	for i := range ids {
		w.nextID += 1 + w.rng.Int64N(3)
		ids[i] = w.nextID
	}
	if w.rng.IntN(4) == 0 { // sometimes lower than ever
		for i := range ids {
			ids[i] = -ids[i]
		}
	}
	return ids
}

func (w *twin) swap() publish.Swap {
	return publish.Swap{UUID: "view", Generation: 7, Epoch: w.epoch, Frontier: []byte(strconv.FormatInt(w.epoch+1, 10))}
}

func (w *twin) committed(r publish.Result) {
	w.epoch, w.seen = r.Epoch, r.Snapshot
	w.note("  snapshot %d", r.Snapshot)
}

// locked runs a transaction as the server runs users' statements: statements first, COMMIT under the lock.
func (w *twin) locked(statements ...string) error {
	w.exec("BEGIN")
	for _, s := range statements {
		if _, err := w.conn.Exec(ctx, s); err != nil {
			w.exec("ROLLBACK")
			return fmt.Errorf("%s: %w", s, err)
		}
	}
	unlock, err := w.lock.Lock(ctx)
	must(w.t, err)
	defer unlock()
	_, err = w.conn.Exec(ctx, "COMMIT")
	return err
}

func (w *twin) replace() {
	ids := w.fresh([]int{0, 1, 5, 20, 40}[w.rng.IntN(5)])
	w.note("replace by %d rows", len(ids))
	staged, err := w.p.Stage(ctx, w.conn, publish.StageSpec{Table: w.table, Query: twinRows(ids), JobID: "job"}, nil)
	must(w.t, err)
	seen := w.seen
	if w.rng.IntN(4) == 0 {
		seen = 0
	}
	w.committed(one(w.t, w.p, publish.Publication{CommitID: commitID(), Table: w.table, Seen: seen, Replace: staged, Swap: w.swap()}))
	w.exec("DELETE FROM memory.main.oracle")
	w.exec("INSERT INTO memory.main.oracle " + twinRows(ids))
	w.ids = ids
	w.remember()
	must(w.t, w.locked("DELETE FROM lake.main.mirror", "INSERT INTO lake.main.mirror "+twinRows(ids)))
	w.remember()
}

// locate finds the rows of the ids in the published table.
func (w *twin) locate(ids []int64) ([]publish.Location, int64) {
	if len(ids) == 0 {
		return nil, w.snapshot()
	}
	var out []publish.Location
	seen, err := w.p.Locate(ctx, w.conn, w.table, []string{"id"}, "id IN ("+join(ids)+")", func(_ arrow.RecordBatch, l []publish.Location) error {
		out = append(out, l...)
		return nil
	})
	must(w.t, err)
	return out, seen
}

func (w *twin) batches(ids []int64) []arrow.RecordBatch {
	if len(ids) == 0 {
		return nil
	}
	r, err := w.conn.Query(ctx, twinRows(ids))
	must(w.t, err)
	defer r.Close()
	var out []arrow.RecordBatch
	for r.Next() {
		b := r.RecordBatch()
		b.Retain()
		out = append(out, b)
	}
	must(w.t, r.Err())
	return out
}

func (w *twin) delta() {
	w.rng.Shuffle(len(w.ids), func(i, j int) { w.ids[i], w.ids[j] = w.ids[j], w.ids[i] })
	gone := w.ids[:w.rng.IntN(min(len(w.ids), 6)+1)]
	if w.rng.IntN(8) == 0 {
		gone = w.ids
	}
	born := w.fresh([]int{0, 1, 3, 6, 12}[w.rng.IntN(5)])
	w.note("delta: delete %v, insert %v", gone, born)
	locations, seen := w.locate(gone)
	if len(locations) != len(gone) {
		w.fail("%d of %d rows were located", len(locations), len(gone))
	}
	// Rows move between the look and the commit: the publisher has to notice.
	if w.rng.IntN(4) == 0 {
		w.note("  flush in between")
		must(w.t, w.p.Relocate(ctx, w.table, publish.Flush))
		w.remember()
	}
	batches := w.batches(born)
	w.committed(one(w.t, w.p, publish.Publication{CommitID: commitID(), Table: w.table, Seen: seen, Swap: w.swap(),
		Delta: &publish.Delta{Insert: batches, Delete: locations,
			Relocate: func(_ context.Context, why *publish.MovedError) ([]publish.Location, int64, error) {
				w.note("  relocated: %v", why)
				l, s := w.locate(gone)
				return l, s, nil
			}}}))
	for _, b := range batches {
		b.Release()
	}
	var dml []string
	if len(gone) > 0 {
		w.exec("DELETE FROM memory.main.oracle WHERE id IN (" + join(gone) + ")")
		dml = append(dml, "DELETE FROM lake.main.mirror WHERE id IN ("+join(gone)+")")
	}
	if len(born) > 0 {
		w.exec("INSERT INTO memory.main.oracle " + twinRows(born))
		dml = append(dml, "INSERT INTO lake.main.mirror "+twinRows(born))
	}
	w.ids = append(append([]int64{}, w.ids[len(gone):]...), born...)
	w.remember()
	if len(dml) > 0 {
		must(w.t, w.locked(dml...))
		w.remember()
	}
}

func (w *twin) flush() {
	w.note("flush")
	must(w.t, w.p.Relocate(ctx, w.table, publish.Flush))
	w.remember()
}

func (w *twin) merge() {
	w.note("merge")
	must(w.t, w.p.Relocate(ctx, w.table, publish.Merge))
	w.remember()
}

func (w *twin) expire() {
	report, err := w.m.RunOnce(ctx)
	must(w.t, err)
	w.note("maintenance: %+v", report)
	for _, id := range report.Expired {
		delete(w.at, id)
	}
}

func (w *twin) other() {
	w.note("a foreign commit on another table")
	must(w.t, w.locked(fmt.Sprintf("INSERT INTO lake.main.other SELECT range FROM range(%d)", 1+w.rng.IntN(30))))
	w.remember()
	if w.rng.IntN(3) == 0 {
		must(w.t, w.locked("DELETE FROM lake.main.other WHERE i % 3 = 0"))
		w.remember()
	}
}

// attack writes into the published table behind the publisher's back, and heals it.
func (w *twin) attack() {
	ids := w.fresh(1 + w.rng.IntN(12))
	w.note("attack: insert %d rows, delete some", len(ids))
	must(w.t, w.locked("INSERT INTO lake.main.v "+twinRows(ids)))
	w.exec("INSERT INTO memory.main.oracle " + twinRows(ids))
	w.remember()
	if w.rng.IntN(2) == 0 {
		must(w.t, w.locked("DELETE FROM lake.main.v WHERE id % 3 = 0"))
		w.exec("DELETE FROM memory.main.oracle WHERE id % 3 = 0")
		w.remember()
	}
	// A delta must refuse.
	r, err := w.p.Publish(ctx, publish.Publication{CommitID: commitID(), Table: w.table, Seen: w.seen, Swap: w.swap(),
		Delta: &publish.Delta{Insert: w.batches(w.fresh(1))}})
	must(w.t, err)
	var moved *publish.MovedError
	if !errors.As(r[0].Err, &moved) || moved.Class != metadata.Written {
		w.fail("a delta over somebody else's write gave %v", r[0].Err)
	}
	staged, err := w.p.Stage(ctx, w.conn, publish.StageSpec{Table: w.table, Query: twinRows(w.ids), JobID: "job"}, nil)
	must(w.t, err)
	result := one(w.t, w.p, publish.Publication{CommitID: commitID(), Table: w.table, Seen: w.seen, Replace: staged, Swap: w.swap()})
	if !result.Healed {
		w.fail("the replacement did not say that it took away a foreign write")
	}
	w.committed(result)
	w.exec("DELETE FROM memory.main.oracle")
	w.exec("INSERT INTO memory.main.oracle " + twinRows(w.ids))
	w.remember()
}

// check compares the published table with the oracle and the mirror in every way a client may read it.
func (w *twin) check() {
	w.t.Helper()
	const table = "FROM lake.main.v"
	if n := w.differ(table, "FROM memory.main.oracle"); n != 0 {
		w.fail("the content differs from the oracle in %d rows", n)
	}
	if n := w.differ(table, "FROM lake.main.mirror"); n != 0 {
		w.fail("the content differs from the mirror in %d rows", n)
	}
	pivot := w.nextID - w.rng.Int64N(60)
	for _, q := range w.queries(pivot) {
		got, want := fmt.Sprint(w.rows(strings.ReplaceAll(q, "$T", "lake.main.v"))), fmt.Sprint(w.rows(strings.ReplaceAll(q, "$T", "memory.main.oracle")))
		if got != want {
			w.fail("%s\ngives %s\nnot   %s", q, got, want)
		}
	}
	if n := w.number("SELECT count(*) - count(DISTINCT rowid) FROM lake.main.v"); n != 0 {
		w.fail("%d row ids are there twice", n)
	}
}

func (w *twin) queries(pivot int64) []string {
	qs := []string{
		"SELECT count(*) FROM $T",
		fmt.Sprintf("SELECT count(*), min(id), max(id) FROM $T WHERE id >= %d", pivot),
		fmt.Sprintf("SELECT count(*) FROM $T WHERE id < %d AND v > 'm'", pivot),
		"SELECT id FROM $T ORDER BY id DESC LIMIT 3",
		"SELECT id FROM $T ORDER BY ts, id LIMIT 3",
		"SELECT b, count(*), sum(d) FROM $T GROUP BY b ORDER BY b",
		"SELECT count(*) FROM $T WHERE v IS NULL",
		"SELECT count(*) FROM $T WHERE s.a > 100",
		"SELECT count(*) FROM $T WHERE list_contains(l, 150)",
		"SELECT count(*) FROM $T WHERE f > 20",
		"SELECT count(*) FROM $T WHERE da < DATE '2000-06-01'",
	}
	var ends []string
	for _, c := range twinColumns {
		switch c.name {
		case "l", "s", "m", "bl":
		default:
			ends = append(ends, fmt.Sprintf("min(%[1]s)::VARCHAR, max(%[1]s)::VARCHAR", c.name))
		}
	}
	return append(qs, "SELECT "+strings.Join(ends, ", ")+" FROM $T")
}

// history checks every snapshot that is left: its content, also filtered, and what the extension's feed says of it.
func (w *twin) history() {
	w.t.Helper()
	begin := w.table.Begin
	var all []int64
	must(w.t, w.store.View(ctx, func(tx metadata.Tx) error {
		rows, err := tx.Query(ctx, `SELECT snapshot_id FROM {M}ducklake_snapshot WHERE snapshot_id >= $1 ORDER BY snapshot_id`, begin)
		for _, r := range rows {
			all = append(all, r[0].(int64))
		}
		return err
	}))
	for i, s := range all {
		want := fmt.Sprintf("FROM memory.main.at_%d", s)
		if !w.at[s] {
			if s <= w.table.Begin+2 {
				continue // before the first look
			}
			w.fail("snapshot %d is not known", s)
		}
		at := fmt.Sprintf("FROM lake.main.v AT (VERSION => %d)", s)
		if n := w.unequal(at, want); n != 0 {
			w.fail("snapshot %d differs in %d rows", s, n)
		}
		pivot := w.nextID - w.rng.Int64N(200)
		filter := fmt.Sprintf(" WHERE id >= %d AND v IS NOT NULL", pivot)
		if n := w.unequal(at+filter, want+filter); n != 0 {
			w.fail("snapshot %d with%s differs in %d rows", s, filter, n)
		}
		if i == 0 || all[i-1] != s-1 || !w.at[s-1] {
			continue
		}
		before := fmt.Sprintf("FROM memory.main.at_%d", s-1)
		feed := func(side string) string {
			return fmt.Sprintf("SELECT * FROM ducklake_table_%s('lake', 'main', 'v', %d, %d)", side, s, s)
		}
		// before + insertions = after + deletions, as multisets
		left := fmt.Sprintf("(%s UNION ALL %s)", before, feed("insertions"))
		right := fmt.Sprintf("(%s UNION ALL %s)", want, feed("deletions"))
		if n := w.unequal(left, right); n != 0 {
			w.fail("the feed of snapshot %d is wrong in %d rows", s, n)
		}
	}
}

type step struct {
	weight int
	run    func(*twin)
}

var (
	stepReplace = step{3, (*twin).replace}
	stepDelta   = step{6, (*twin).delta}
	stepFlush   = step{2, (*twin).flush}
	stepMerge   = step{1, (*twin).merge}
	stepExpire  = step{1, (*twin).expire}
	stepOther   = step{2, (*twin).other}
	stepAttack  = step{1, (*twin).attack}
)

func (w *twin) run(n int, steps ...step) {
	total := 0
	for _, s := range steps {
		total += s.weight
	}
	for range n {
		at := w.rng.IntN(total)
		for _, s := range steps {
			if at -= s.weight; at < 0 {
				s.run(w)
				break
			}
		}
		w.check()
	}
	w.history()
}

// seeds is how many histories each kind runs; VEGA_SEEDS makes it a campaign.
func seeds(t *testing.T, usual uint64) uint64 {
	if s := os.Getenv("VEGA_SEEDS"); s != "" {
		n, err := strconv.ParseUint(s, 10, 32)
		must(t, err)
		return n
	}
	if testing.Short() {
		return 1
	}
	return usual
}

func TestNativeCommitsAgainstTheirTwin(t *testing.T) {
	mixes := []struct {
		name  string
		steps []step
	}{
		{"plain", []step{stepReplace, stepDelta, stepOther}},
		{"flush", []step{stepReplace, stepDelta, stepFlush}},
		{"merge", []step{stepReplace, stepDelta, stepFlush, stepMerge, stepOther}},
		{"all", []step{stepReplace, stepDelta, stepFlush, stepMerge, stepExpire, stepOther, stepAttack}},
	}
	laketest.Each(t, func(t *testing.T, kind laketest.Kind) {
		for i, mix := range mixes {
			if kind == laketest.PostgreSQL && i%2 == 0 && os.Getenv("VEGA_SEEDS") == "" {
				continue // a history costs several times more there; the campaign runs them all
			}
			for seed := range seeds(t, 1) {
				t.Run(fmt.Sprintf("%s/%d", mix.name, seed+uint64(i)), func(t *testing.T) {
					began := time.Now()
					w := newTwin(t, kind, seed+uint64(i))
					steps := 15
					if kind == laketest.PostgreSQL {
						steps = 10 // each is several times slower
					}
					w.run(steps, mix.steps...)
					t.Logf("%d snapshots in %v", len(w.at), time.Since(began).Round(time.Millisecond))
					t.Run("another process", func(t *testing.T) { w.compareForeign(t, python(t), extensions(t)) })
				})
			}
		}
	})
}
