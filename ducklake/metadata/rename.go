package metadata

import (
	"context"
	"fmt"

	"github.com/vegadb/vega-flight/fault"
)

// Rename gives a table another name within its schema, in place of the table r.Replaced if that is set, in one snapshot. The extension can do
// that only in a transaction with explicit DDL, which corrupts its memory. The caller holds the commit lock. It returns the new snapshot and
// the id of the table that was dropped, 0 for none.
func Rename(ctx context.Context, tx Tx, r Renaming) (s Snapshot, dropped int64, err error) {
	if err := CheckVersion(ctx, tx); err != nil {
		return s, 0, err
	}
	last, err := Latest(ctx, tx)
	if err != nil {
		return s, 0, err
	}
	t, found, err := TableByName(ctx, tx, r.Schema, r.From, last.ID)
	if err != nil {
		return s, 0, err
	}
	if !found || r.ID != 0 && t.ID != r.ID {
		return s, 0, fault.ObjectNotFound.Newf("the table %s.%s does not exist", QuoteIdent(r.Schema), QuoteIdent(r.From))
	}
	old, taken, err := TableByName(ctx, tx, r.Schema, r.To, last.ID)
	if err != nil {
		return s, 0, err
	}
	switch {
	case taken && r.Replaced == 0:
		return s, 0, fault.ObjectExists.Newf("a table %s.%s exists already", QuoteIdent(t.Schema), QuoteIdent(old.Name))
	case r.Replaced != old.ID: // 0 when there is none
		return s, 0, fault.CommitConflict.Newf("the table %s.%s that was to be replaced is not there any more", QuoteIdent(t.Schema), QuoteIdent(r.To)).
			WithHint("run it again")
	}
	if err := noView(ctx, tx, t, r.To); err != nil {
		return s, 0, err
	}

	next := last.altered()
	var changes []string
	if taken {
		if err := drop(ctx, tx, old.ID, next.ID); err != nil {
			return s, 0, err
		}
		changes = append(changes, fmt.Sprintf("%s:%d", DroppedTable, old.ID))
		dropped = old.ID
	}
	changes = append(changes, string(CreatedTable)+":"+QuoteIdent(t.Schema)+"."+QuoteIdent(r.To))
	if err := next.record(ctx, tx, changes, r.Commit); err != nil {
		return s, 0, err
	}
	// The row moves on as a copy, so that all its other columns stay what they are. Its columns, and so the tables of its
	// inlined rows, do not change: as after a comment, the newest registered one goes on being used.
	if _, err := tx.Exec(ctx, `INSERT INTO {M}ducklake_table (table_id, table_uuid, begin_snapshot, end_snapshot, schema_id, table_name, path, path_is_relative)
		SELECT table_id, table_uuid, $2, NULL, schema_id, $3, path, path_is_relative FROM {M}ducklake_table WHERE table_id = $1 AND end_snapshot IS NULL`,
		t.ID, next.ID, r.To); err != nil {
		return s, 0, err
	}
	if _, err := tx.Exec(ctx, `UPDATE {M}ducklake_table SET end_snapshot = $2 WHERE table_id = $1 AND end_snapshot IS NULL AND begin_snapshot < $2`, t.ID, next.ID); err != nil {
		return s, 0, err
	}
	if r.Comment != "" {
		if err := comment(ctx, tx, t.ID, next.ID, r.Comment); err != nil {
			return s, 0, err
		}
	}
	return next, dropped, nil
}

// Renaming says which table gets which name.
type Renaming struct {
	Schema, From, To string
	Comment          string // that the table gets; "" leaves it as it is
	ID               int64  // of the table, so that no other one of its name is taken; 0 is any
	Replaced         int64  // id of the table that has the name To and is dropped; 0: the name is free
	Commit           CommitInfo
}

// ended are the tables with rows that end when their table does, by the column with its id.
var ended = []struct{ table, key string }{
	{"ducklake_table", "table_id"},
	{"ducklake_column", "table_id"},
	{"ducklake_column_tag", "table_id"},
	{"ducklake_tag", "object_id"},
	{"ducklake_data_file", "table_id"},
	{"ducklake_delete_file", "table_id"},
	{"ducklake_partition_info", "table_id"},
	{"ducklake_sort_info", "table_id"},
}

// drop ends a table at a snapshot, as DROP TABLE of the extension does.
func drop(ctx context.Context, tx Tx, id, at int64) error {
	for _, e := range ended {
		if _, err := tx.Exec(ctx, `UPDATE {M}`+e.table+` SET end_snapshot = $2 WHERE `+e.key+` = $1 AND end_snapshot IS NULL`, id, at); err != nil {
			return err
		}
	}
	return nil
}
