package store

import (
	"context"

	"github.com/vegadb/vega-flight/ducklake/metadata"
)

// TakeUp makes a server the owner of a streaming view, whoever was. The transaction that makes the row does it too: the view need not be claimed
// in another one.
func (s *Store) TakeUp(ctx context.Context, tx metadata.Tx, uuid string, owner Owner) error {
	_, err := tx.Exec(ctx, `UPDATE {M}vega_streams SET server_id = $2, fence = $3 WHERE uuid = $1`, uuid, owner.ServerID, owner.Fence)
	return err
}
