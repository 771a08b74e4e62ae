package feed

import (
	"context"
	"sort"

	"github.com/vegadb/vega-flight/ducklake/metadata"
	"github.com/vegadb/vega-flight/fault"
)

// span is the snapshots of a window, all of them.
type span struct {
	from, to int64
	before   metadata.Snapshot // the one with the id from
	changes  []metadata.SnapshotChanges
	head     metadata.Snapshot // the newest
}

// readSpan reads the window (from, to].
func readSpan(ctx context.Context, tx metadata.Tx, from, to int64) (*span, error) {
	if from < 0 || to < from {
		return nil, fault.InternalError.Newf("(%d, %d] is no window of snapshots", from, to)
	}
	rows, err := tx.Query(ctx, `SELECT s.snapshot_id, s.schema_version, s.next_catalog_id, s.next_file_id, s.snapshot_time,
		c.changes_made, c.author, c.commit_message, c.commit_extra_info
		FROM {M}ducklake_snapshot s LEFT JOIN {M}ducklake_snapshot_changes c ON c.snapshot_id = s.snapshot_id
		WHERE (s.snapshot_id >= $1 AND s.snapshot_id <= $2) OR s.snapshot_id = (SELECT max(snapshot_id) FROM {M}ducklake_snapshot)
		ORDER BY s.snapshot_id`, from, to)
	if err != nil {
		return nil, err
	}
	s := &span{from: from, to: to}
	next := from
	for _, v := range rows {
		var r metadata.Row
		r.Take(v)
		c := metadata.SnapshotChanges{Snapshot: metadata.Snapshot{ID: r.Int(), SchemaVersion: r.Int(), NextCatalogID: r.Int(), NextFileID: r.Int(), Time: r.Time()}}
		made := r.Text()
		c.Author, c.Message, c.ExtraInfo = r.Text(), r.Text(), r.Text()
		if r.Err() != nil {
			return nil, r.Err()
		}
		s.head = c.Snapshot
		if c.ID > to {
			break
		}
		if c.ID != next {
			return nil, expired(from, to, next)
		}
		next++
		if c.ID == from {
			s.before = c.Snapshot
			continue
		}
		if c.Changes, err = metadata.ParseChanges(made); err != nil {
			return nil, err
		}
		s.changes = append(s.changes, c)
	}
	if s.head.ID < to {
		return nil, fault.InternalError.Newf("the lake has no snapshot %d yet, its newest is %d", to, s.head.ID)
	}
	if next != to+1 {
		return nil, expired(from, to, next)
	}
	return s, nil
}

func expired(from, to, missing int64) error {
	return fault.HistoryExpired.Newf("the changes from snapshot %d to %d are needed, but snapshot %d is expired", from, to, missing)
}

// at is a snapshot of the window; ok is false for others.
func (s *span) at(id int64) (metadata.SnapshotChanges, bool) {
	if id <= s.from || id > s.to {
		return metadata.SnapshotChanges{}, false
	}
	return s.changes[id-s.from-1], true
}

// committer is the snapshot of the window whose commit gave out a file id; 0 if that was before it or after it.
func (s *span) committer(file int64) int64 {
	if file < s.before.NextFileID {
		return 0
	}
	i := sort.Search(len(s.changes), func(i int) bool { return s.changes[i].NextFileID > file })
	if i == len(s.changes) {
		return 0
	}
	return s.changes[i].ID
}

// deeds are what a snapshot says that it did to one table.
type deeds struct {
	inserted, deleted               bool // in files
	inlinedInsert, inlinedDelete    bool
	flushed, merged, rewritten      bool
	created, altered, dropped, ours bool
}

func deedsOf(s metadata.SnapshotChanges, table int64) (d deeds) {
	for _, c := range s.Changes {
		if c.Kind == metadata.CreatedTable {
			d.created = true // of a table, be it this one or not
			continue
		}
		if c.ID != table {
			continue
		}
		switch c.Kind {
		case metadata.InsertedInto:
			d.inserted = true
		case metadata.DeletedFrom:
			d.deleted = true
		case metadata.InlinedInsert:
			d.inlinedInsert = true
		case metadata.InlinedDelete:
			d.inlinedDelete = true
		case metadata.InlineFlush:
			d.flushed = true
		case metadata.MergeAdjacent, metadata.CompactedTable:
			d.merged = true
		case metadata.RewriteDelete:
			d.rewritten = true
		case metadata.AlteredTable:
			d.altered = true
		case metadata.DroppedTable:
			d.dropped = true
		}
	}
	// A flush is recorded with the files it wrote; one that wrote only delete files is recorded by nothing else, but ours say what they are.
	if info, ok := s.Commit(); ok && info.Kind == metadata.CommitMaintain {
		d.ours = true
		d.flushed = d.flushed || d.deleted || d.inserted
	}
	return d
}

// moved says that rows went to other places.
func (d deeds) moved() bool { return d.flushed || d.merged || d.rewritten }

// deletesFromFiles says that rows of files were deleted, not only that their deletes went to other places.
func (d deeds) deletesFromFiles() bool { return d.deleted && !d.flushed && !d.rewritten && !d.merged }

// writes says that rows may have come or gone.
func (d deeds) writes() bool {
	return d.inlinedInsert || d.inlinedDelete || d.inserted && !d.ours || d.deletesFromFiles()
}
