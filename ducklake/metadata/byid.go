package metadata

import (
	"context"
	"fmt"
	"strings"

	"github.com/vegadb/vega-flight/fault"
)

// altered is the snapshot of a change of the schema after s.
func (s Snapshot) altered() Snapshot {
	return Snapshot{ID: s.ID + 1, SchemaVersion: s.SchemaVersion + 1, NextCatalogID: s.NextCatalogID, NextFileID: s.NextFileID + 1}
}

// record writes the snapshot's rows.
func (s Snapshot) record(ctx context.Context, tx Tx, changes []string, c CommitInfo) error {
	if _, err := tx.Exec(ctx, `INSERT INTO {M}ducklake_snapshot (snapshot_id, snapshot_time, schema_version, next_catalog_id, next_file_id)
		VALUES ($1, now(), $2, $3, $4)`, s.ID, s.SchemaVersion, s.NextCatalogID, s.NextFileID); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, `INSERT INTO {M}ducklake_snapshot_changes (snapshot_id, changes_made, author, commit_message, commit_extra_info)
		VALUES ($1, $2, $3, NULL, $4)`, s.ID, strings.Join(changes, ","), Author, c.ExtraInfo())
	return err
}

// byID begins a change of the table with that id, whatever its name is by now.
func byID(ctx context.Context, tx Tx, id int64) (next Snapshot, err error) {
	if err := CheckVersion(ctx, tx); err != nil {
		return next, err
	}
	last, err := Latest(ctx, tx)
	if err != nil {
		return next, err
	}
	if _, found, err := TableByID(ctx, tx, id, last.ID); err != nil {
		return next, err
	} else if !found {
		return next, fault.ObjectNotFound.Newf("the table was dropped")
	}
	return last.altered(), nil
}

// Drop drops the table with that id in a snapshot of its own; fault.ObjectNotFound when it is not there. The extension knows names only, and
// another table may have that one by then. The caller holds the commit lock.
func Drop(ctx context.Context, tx Tx, id int64, c CommitInfo) (Snapshot, error) {
	next, err := byID(ctx, tx, id)
	if err != nil {
		return next, err
	}
	if err := drop(ctx, tx, id, next.ID); err != nil {
		return next, err
	}
	return next, next.record(ctx, tx, []string{fmt.Sprintf("%s:%d", DroppedTable, id)}, c)
}

// Comment gives the table with that id a comment, as [Drop] drops it.
func Comment(ctx context.Context, tx Tx, id int64, text string, c CommitInfo) (Snapshot, error) {
	next, err := byID(ctx, tx, id)
	if err != nil {
		return next, err
	}
	if err := comment(ctx, tx, id, next.ID, text); err != nil {
		return next, err
	}
	return next, next.record(ctx, tx, []string{fmt.Sprintf("%s:%d", AlteredTable, id)}, c)
}

// comment gives an object a comment from a snapshot on.
func comment(ctx context.Context, tx Tx, id, at int64, text string) error {
	if _, err := tx.Exec(ctx, `UPDATE {M}ducklake_tag SET end_snapshot = $2 WHERE object_id = $1 AND key = 'comment' AND end_snapshot IS NULL`, id, at); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, `INSERT INTO {M}ducklake_tag (object_id, begin_snapshot, end_snapshot, key, value) VALUES ($1, $2, NULL, 'comment', $3)`, id, at, text)
	return err
}
