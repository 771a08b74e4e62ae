package store

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/vegadb/vega-flight/ducklake/metadata"
	"github.com/vegadb/vega-flight/ivm/catalog"
)

// History implements catalog.History over the lake's snapshots. What it has
// found stays true; where it found nothing it goes on from there, so a question that
// was asked before costs one look at the newest commits.
type History struct {
	db metadata.Store

	mu      sync.Mutex
	ids     map[string]int64 // table id by uuid; 0 for a table that never was
	answers map[question]answer
}

type question struct {
	table string
	after int64
}

type answer struct {
	found bool
	at    time.Time
	upTo  int64 // the newest snapshot that was looked at
}

// maxAnswers bounds the memory; frontiers move, and questions about old ones are never asked again.
const maxAnswers = 10000

var _ catalog.History = (*History)(nil)

// History is the port of package catalog.
func (s *Store) History() *History {
	return &History{db: s.db, ids: map[string]int64{}, answers: map[question]answer{}}
}

// FirstChange finds the oldest commit after a snapshot that changed rows of a table, or dropped it.
func (h *History) FirstChange(ctx context.Context, tableUUID string, after int64) (time.Time, bool, error) {
	q := question{tableUUID, after}
	h.mu.Lock()
	known, asked := h.answers[q]
	id, hasID := h.ids[tableUUID]
	h.mu.Unlock()
	if known.found {
		return known.at, true, nil
	}
	if !asked {
		known.upTo = after
	}
	var found answer
	err := h.db.View(ctx, func(tx metadata.Tx) (err error) {
		if !hasID {
			if id, err = tableID(ctx, tx, tableUUID); err != nil {
				return err
			}
		}
		found, err = firstChange(ctx, tx, id, known.upTo)
		return err
	})
	if err != nil {
		return time.Time{}, false, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.answers) >= maxAnswers {
		clear(h.answers)
		clear(h.ids)
	}
	h.ids[tableUUID], h.answers[q] = id, found
	return found.at, found.found, nil
}

// tableID finds the id of a table that exists or existed.
func tableID(ctx context.Context, tx metadata.Tx, uuid string) (int64, error) {
	rows, err := tx.Query(ctx, `SELECT max(table_id) FROM {M}ducklake_table WHERE CAST(table_uuid AS VARCHAR) = $1`, uuid)
	if err != nil {
		return 0, err
	}
	var r metadata.Row
	r.Take(rows[0])
	return r.NullInt(0), r.Err()
}

// chunk is how many commits that may concern the table are read at once.
const chunk = 200

func firstChange(ctx context.Context, tx metadata.Tx, id, after int64) (answer, error) {
	newest, err := metadata.Latest(ctx, tx)
	if err != nil {
		return answer{}, err
	}
	for from := after; from < newest.ID; {
		// The pattern also finds longer ids; ChangesRows decides.
		rows, err := tx.Query(ctx, fmt.Sprintf(`SELECT s.snapshot_id, s.snapshot_time, c.changes_made, c.commit_extra_info FROM {M}ducklake_snapshot s
			JOIN {M}ducklake_snapshot_changes c ON c.snapshot_id = s.snapshot_id
			WHERE s.snapshot_id > $1 AND s.snapshot_id <= $2 AND c.changes_made LIKE $3 ORDER BY s.snapshot_id LIMIT %d`, chunk),
			from, newest.ID, fmt.Sprintf("%%:%d%%", id))
		if err != nil {
			return answer{}, err
		}
		for _, values := range rows {
			var r metadata.Row
			r.Take(values)
			snapshot, at := r.Int(), r.NullTime()
			commit := metadata.SnapshotChanges{}
			made := r.Text()
			commit.ExtraInfo = r.Text()
			if r.Err() != nil {
				return answer{}, r.Err()
			}
			if commit.Changes, err = metadata.ParseChanges(made); err != nil {
				return answer{}, fmt.Errorf("snapshot %d: %w", snapshot, err)
			}
			if ChangesRows(commit, id) {
				return answer{found: true, at: at}, nil
			}
			from = snapshot
		}
		if len(rows) < chunk {
			break
		}
	}
	return answer{upTo: newest.ID}, nil
}

// ChangesRows says whether a commit changed which rows a table has, or dropped
// it. Moving rows about does not count, nor do columns and comments.
func ChangesRows(commit metadata.SnapshotChanges, tableID int64) bool {
	var inserted, deleted, flushed bool
	for _, c := range commit.Changes {
		if c.ID != tableID || tableID == 0 {
			continue
		}
		switch c.Kind {
		case metadata.DroppedTable:
			return true
		case metadata.InsertedInto, metadata.InlinedInsert, metadata.InlinedDelete:
			inserted = true
		case metadata.DeletedFrom:
			deleted = true
		case metadata.InlineFlush:
			flushed = true
		}
	}
	// A flush that writes delete files is recorded as a deletion too, and one of inlined deletes alone as nothing else; ours say what they are.
	if info, ours := commit.Commit(); ours && info.Kind == metadata.CommitMaintain {
		return false
	}
	return inserted || deleted && !flushed
}
