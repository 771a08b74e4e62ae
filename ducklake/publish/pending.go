package publish

import (
	"context"

	"github.com/vegadb/vega-flight/ducklake/metadata"
)

// Pending counts a table's inlined rows and inlined deletes, also those that are over: every reader passes over them.
// The table must have been prepared.
func Pending(ctx context.Context, tx metadata.Tx, tableID int64) (int64, error) {
	inlined, err := InlinedTables(ctx, tx, tableID)
	if err != nil {
		return 0, err
	}
	total := int64(0)
	for _, name := range append(inlined, InlinedDeletes(tableID)) {
		rows, err := tx.Query(ctx, `SELECT count(*) FROM {M}`+metadata.QuoteIdent(name))
		if err != nil {
			return 0, err
		}
		n, _ := rows[0][0].(int64)
		total += n
	}
	return total, nil
}

// Purge removes a table's inlined rows that no snapshot shows any more, as the extension's expiry does with files, and inlined
// deletes of files that are gone. It needs the commit lock.
func Purge(ctx context.Context, tx metadata.Tx, tableID int64) (int64, error) {
	inlined, err := InlinedTables(ctx, tx, tableID)
	if err != nil {
		return 0, err
	}
	total := int64(0)
	for _, t := range inlined {
		n, err := tx.Exec(ctx, `DELETE FROM {M}`+metadata.QuoteIdent(t)+` WHERE end_snapshot IS NOT NULL AND NOT EXISTS (
			SELECT 1 FROM {M}ducklake_snapshot s WHERE s.snapshot_id >= begin_snapshot AND s.snapshot_id < end_snapshot)`)
		if err != nil {
			return 0, err
		}
		total += n
	}
	n, err := tx.Exec(ctx, `DELETE FROM {M}`+metadata.QuoteIdent(InlinedDeletes(tableID))+` WHERE file_id NOT IN (
		SELECT data_file_id FROM {M}ducklake_data_file WHERE table_id = $1)`, tableID)
	return total + n, err
}
