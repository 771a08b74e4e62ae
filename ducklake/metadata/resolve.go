package metadata

import (
	"context"

	"github.com/vegadb/vega-flight/fault"
)

// Resolve finds out what became of a COMMIT without an answer: the snapshot it made, or that it made none. It is
// conclusive: on PostgreSQL it waits for a transaction that may still be committing. When the catalog cannot be asked
// it is fault.CommitUnknown with the commit id.
func Resolve(ctx context.Context, s Store, commitID string, after int64) (snapshot int64, committed bool, err error) {
	err = s.Update(ctx, func(tx Tx) error {
		if tx.Dialect() == PostgreSQL {
			// Whoever inserts a snapshot holds ROW EXCLUSIVE until its end; waiting comes before this transaction's view.
			if _, err := tx.Exec(ctx, `LOCK TABLE {M}ducklake_snapshot IN SHARE MODE`); err != nil {
				return err
			}
		}
		var err error
		snapshot, committed, err = LookupCommit(ctx, tx, commitID, after)
		return err
	})
	if err != nil {
		return 0, false, fault.CommitUnknown.Wrap(err, "the catalog did not answer COMMIT and cannot be asked; the commit id is %s", commitID).
			WithHint("look for it in commit_extra_info of the lake's snapshots")
	}
	return snapshot, committed, nil
}
