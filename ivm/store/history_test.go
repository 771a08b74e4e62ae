package store

import (
	"context"
	"testing"
	"time"

	"github.com/vegadb/vega-flight/ducklake"
	"github.com/vegadb/vega-flight/ducklake/metadata"
)

// commit runs a user's statement and returns the newest snapshot.
func (w *world) commit(s *ducklake.Session, sql string) metadata.Snapshot {
	w.t.Helper()
	ctx := context.Background()
	a, err := s.Analyze(ctx, sql)
	w.ok(err)
	_, err = s.Exec(ctx, a)
	w.ok(err)
	at, err := w.lake.Snapshot(ctx)
	w.ok(err)
	return at
}

func TestHistory(t *testing.T) {
	each(t, func(w *world) {
		ctx := context.Background()
		s, err := w.lake.NewSession(ctx, ducklake.SessionConfig{Principal: "alice"})
		w.ok(err)
		defer s.Close()
		w.commit(s, `CREATE TABLE t (a INTEGER)`)
		w.commit(s, `CREATE TABLE u (a INTEGER)`)
		tab := w.table("t")
		h := w.s.History()
		check := func(after int64, want time.Time) {
			w.t.Helper()
			for _, h := range []*History{h, w.s.History()} { // one that remembers, one that does not
				got, ok, err := h.FirstChange(ctx, tab.UUID, after)
				if err != nil || ok == want.IsZero() || !got.Equal(want) {
					w.t.Errorf("first change after %d: %v, %v, %v; want %v", after, got, ok, err, want)
				}
			}
		}
		none := time.Time{}
		start, err := w.lake.Snapshot(ctx)
		w.ok(err)
		check(start.ID, none)
		other := w.commit(s, `INSERT INTO u VALUES (1)`)
		check(start.ID, none)
		first := w.commit(s, `INSERT INTO t VALUES (1), (2)`)
		check(start.ID, first.Time)
		check(other.ID, first.Time)
		check(first.ID, none)
		w.commit(s, `ALTER TABLE t ADD COLUMN b INTEGER`)
		w.commit(s, `COMMENT ON TABLE t IS 'inserted_into_table'`)
		w.commit(s, `ALTER TABLE t RENAME TO t2`)
		check(first.ID, none)
		second := w.commit(s, `DELETE FROM t2 WHERE a = 1`)
		check(first.ID, second.Time)
		third := w.commit(s, `UPDATE t2 SET a = 3`)
		check(second.ID, third.Time)
		check(start.ID, first.Time)
		// Moving rows into files changes none of them.
		w.flush("t2")
		check(third.ID, none)
		w.commit(s, `CREATE TABLE t (a INTEGER)`)
		w.commit(s, `INSERT INTO t VALUES (1)`) // another table of the old name
		check(third.ID, none)
		dropped := w.commit(s, `DROP TABLE t2`)
		check(third.ID, dropped.Time)
		if _, ok, err := h.FirstChange(ctx, "no-such-table", 0); ok || err != nil {
			w.t.Errorf("a table that never was: %v, %v", ok, err)
		}
	})
}

// flush moves a table's inlined rows into files, as maintenance does.
func (w *world) flush(table string) {
	w.t.Helper()
	ctx := context.Background()
	conn, release, err := w.lake.Acquire(ctx, ducklake.ConnSettings{})
	w.ok(err)
	defer release()
	before, err := w.lake.Snapshot(ctx)
	w.ok(err)
	_, err = conn.Exec(ctx, `CALL ducklake_flush_inlined_data('lake', table_name => '`+table+`')`)
	w.ok(err)
	after, err := w.lake.Snapshot(ctx)
	w.ok(err)
	if before.ID == after.ID {
		w.t.Fatal("nothing was flushed")
	}
}

func TestChangesRows(t *testing.T) {
	for text, want := range map[string]bool{
		`inserted_into_table:7`:                        true,
		`inserted_into_table:77`:                       false,
		`inlined_insert:7`:                             true,
		`inlined_delete:7`:                             true,
		`deleted_from_table:7`:                         true,
		`deleted_from_table:7,inline_flush:7`:          false,
		`inline_flush:7,inserted_into_table:7`:         true,
		`merge_adjacent:7`:                             false,
		`rewrite_delete:7`:                             false,
		`altered_table:7`:                              false,
		`altered_table:7,inserted_into_table:7`:        true,
		`dropped_table:7`:                              true,
		`created_table:"s"."7:7"`:                      false,
		`created_table:"main"."inserted_into_table:7"`: false,
	} {
		changes, err := metadata.ParseChanges(text)
		if err != nil || ChangesRows(metadata.SnapshotChanges{Changes: changes}, 7) != want {
			t.Errorf("%s: %v, %v", text, !want, err)
		}
	}
	// Maintenance of ours moves rows, whatever it is recorded as.
	for kind, want := range map[string]bool{metadata.CommitMaintain: false, metadata.CommitPublish: true, metadata.CommitWrite: true} {
		commit := metadata.SnapshotChanges{Changes: []metadata.Change{{Kind: metadata.DeletedFrom, ID: 7}}, ExtraInfo: metadata.CommitInfo{ID: "c", Kind: kind}.ExtraInfo()}
		if ChangesRows(commit, 7) != want {
			t.Errorf("%s: %v", kind, !want)
		}
	}
}
