package publish

import (
	"context"

	"github.com/vegadb/vega-flight/ducklake/metadata"
	"github.com/vegadb/vega-flight/fault"
)

// checkFence fails with fault.Fenced unless the owner's registration is the newest of its server. Within a transaction it
// also holds off whoever wants to raise the epoch until this transaction has ended: on PostgreSQL by a row lock, on a
// DuckDB file because transactions that write come one after the other.
func checkFence(ctx context.Context, tx metadata.Tx, f Fence) error {
	if f.ServerID == "" {
		return nil
	}
	lock := ""
	if tx.Dialect() == metadata.PostgreSQL {
		lock = ` FOR SHARE`
	}
	rows, err := tx.Query(ctx, `SELECT epoch FROM {M}vega_servers WHERE id = $1`+lock, f.ServerID)
	if err != nil {
		return err
	}
	if len(rows) == 0 {
		return fault.Fenced.Newf("server %s is not registered with the lake", f.ServerID)
	}
	if epoch, _ := rows[0][0].(int64); epoch != f.Epoch {
		return fault.Fenced.Newf("server %s has the epoch %d now, not %d: its work was taken over", f.ServerID, epoch, f.Epoch)
	}
	return nil
}
