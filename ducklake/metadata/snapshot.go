package metadata

import (
	"context"
	"time"

	"github.com/vegadb/vega-flight/fault"
)

// Snapshot is one commit of a lake, as DuckLake records it.
type Snapshot struct {
	ID            int64
	SchemaVersion int64
	NextCatalogID int64
	NextFileID    int64
	Time          time.Time
}

const snapshotColumns = `snapshot_id, schema_version, next_catalog_id, next_file_id, snapshot_time`

// Latest is the newest snapshot that tx sees.
func Latest(ctx context.Context, tx Tx) (Snapshot, error) {
	rows, err := tx.Query(ctx, newest(tx.Dialect()))
	if err != nil {
		return Snapshot{}, err
	}
	if len(rows) != 1 {
		return Snapshot{}, fault.LakeUnreadable.Newf("the catalog has %d newest snapshots", len(rows))
	}
	return scanSnapshot(rows[0])
}

// newest selects the newest snapshot: for DuckDB in one pass over the table, which is twice as fast as a join with its maximum.
func newest(d Dialect) string {
	if d == PostgreSQL {
		return `SELECT ` + snapshotColumns + ` FROM {M}ducklake_snapshot WHERE snapshot_id = (SELECT max(snapshot_id) FROM {M}ducklake_snapshot)`
	}
	return `SELECT max(snapshot_id), arg_max(schema_version, snapshot_id), arg_max(next_catalog_id, snapshot_id), arg_max(next_file_id, snapshot_id),
		arg_max(snapshot_time, snapshot_id) FROM {M}ducklake_snapshot HAVING count(*) > 0`
}

// SnapshotAt is one snapshot by its id; it is fault.HistoryExpired when the catalog no longer has it.
func SnapshotAt(ctx context.Context, tx Tx, id int64) (Snapshot, error) {
	rows, err := tx.Query(ctx, `SELECT `+snapshotColumns+` FROM {M}ducklake_snapshot WHERE snapshot_id = $1`, id)
	if err != nil {
		return Snapshot{}, err
	}
	if len(rows) == 0 {
		return Snapshot{}, fault.HistoryExpired.Newf("lake snapshot %d does not exist", id)
	}
	return scanSnapshot(rows[0])
}

func scanSnapshot(v []any) (Snapshot, error) {
	var r Row
	r.Take(v)
	s := Snapshot{ID: r.Int(), SchemaVersion: r.Int(), NextCatalogID: r.Int(), NextFileID: r.Int(), Time: r.Time()}
	return s, r.Err()
}
