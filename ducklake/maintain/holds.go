package maintain

import (
	"context"
	"time"

	"github.com/vegadb/vega-flight/ducklake/metadata"
	"github.com/vegadb/vega-flight/fault"
)

// Hold says that somebody needs a snapshot of a table. A holder has one hold for each table.
type Hold struct {
	Holder   string // a view's uuid, a job's id, …
	TableID  int64  // 0: the whole lake
	Snapshot int64
	// Exact is for who reads this very snapshot. Otherwise the holder follows the changes from it on, and needs it and
	// every later one.
	Exact   bool
	MovedAt time.Time
}

// SetHold adds a hold, or moves the holder's hold of that table. The snapshot must still be there (fault.HistoryExpired):
// a hold cannot bring it back.
func SetHold(ctx context.Context, tx metadata.Tx, h Hold) error {
	// The write comes first: it waits for an expiry that is under way. The snapshot is looked for after it, and
	// on PostgreSQL with a lock, which fails when the row was deleted since this transaction began.
	n, err := tx.Exec(ctx, `UPDATE {M}vega_holds SET snapshot_id = $3, exact = $4, moved_at = now() WHERE holder = $1 AND table_id = $2`,
		h.Holder, h.TableID, h.Snapshot, h.Exact)
	if err != nil {
		return err
	}
	if n == 0 {
		if _, err = tx.Exec(ctx, `INSERT INTO {M}vega_holds (holder, table_id, snapshot_id, exact, moved_at) VALUES ($1, $2, $3, $4, now())`,
			h.Holder, h.TableID, h.Snapshot, h.Exact); err != nil {
			return err
		}
	}
	lock := ""
	if tx.Dialect() == metadata.PostgreSQL {
		lock = ` FOR SHARE`
	}
	rows, err := tx.Query(ctx, `SELECT snapshot_id FROM {M}ducklake_snapshot WHERE snapshot_id = $1`+lock, h.Snapshot)
	if err != nil {
		return err
	}
	if len(rows) == 0 {
		return fault.HistoryExpired.Newf("lake snapshot %d does not exist any more", h.Snapshot)
	}
	return nil
}

// ReleaseHolds removes all holds of a holder.
func ReleaseHolds(ctx context.Context, tx metadata.Tx, holder string) error {
	_, err := tx.Exec(ctx, `DELETE FROM {M}vega_holds WHERE holder = $1`, holder)
	return err
}

// KeepHolds removes a holder's holds of other tables than these.
func KeepHolds(ctx context.Context, tx metadata.Tx, holder string, tables map[int64]int64) error {
	rows, err := tx.Query(ctx, `SELECT table_id FROM {M}vega_holds WHERE holder = $1`, holder)
	if err != nil {
		return err
	}
	for _, r := range rows {
		id, _ := r[0].(int64)
		if _, keep := tables[id]; keep {
			continue
		}
		if _, err := tx.Exec(ctx, `DELETE FROM {M}vega_holds WHERE holder = $1 AND table_id = $2`, holder, id); err != nil {
			return err
		}
	}
	return nil
}

// Holds reads all holds, the oldest snapshot first.
func Holds(ctx context.Context, tx metadata.Tx) ([]Hold, error) {
	rows, err := tx.Query(ctx, `SELECT holder, table_id, snapshot_id, exact, moved_at FROM {M}vega_holds ORDER BY snapshot_id, holder, table_id`)
	if err != nil {
		return nil, err
	}
	out := make([]Hold, len(rows))
	for i, r := range rows {
		h := &out[i]
		var ok1, ok2, ok3 bool
		h.Holder, ok1 = r[0].(string)
		h.TableID, ok2 = r[1].(int64)
		h.Snapshot, ok3 = r[2].(int64)
		if !ok1 || !ok2 || !ok3 {
			return nil, fault.LakeUnreadable.Newf("vega_holds has a malformed row: %v", r)
		}
		h.Exact, _ = r[3].(bool)
		h.MovedAt, _ = r[4].(time.Time)
	}
	return out, nil
}
