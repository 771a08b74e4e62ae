package publish

import (
	"context"
	"time"

	"github.com/vegadb/vega-flight/ducklake/metadata"
	"github.com/vegadb/vega-flight/fault"
)

// Published is what a table's content is: a row of vega_published.
type Published struct {
	UUID       string
	Generation int64
	Epoch      int64 // 0: nothing was published yet
	Frontier   []byte
	TableID    int64
	Snapshot   int64
	Rows       int64
	CommitID   string
	ServerID   string
	At         time.Time
}

func (p Published) result() Result {
	return Result{Snapshot: p.Snapshot, Epoch: p.Epoch, Generation: p.Generation, Rows: p.Rows, At: p.At}
}

// ReadPublished reads the published state of one uuid.
func ReadPublished(ctx context.Context, tx metadata.Tx, uuid string) (p Published, found bool, err error) {
	all, err := readPublished(ctx, tx, ` WHERE uuid = $1`, uuid)
	if err != nil || len(all) == 0 {
		return Published{}, false, err
	}
	return all[0], true, nil
}

// AllPublished reads the published states of all tables, by uuid.
func AllPublished(ctx context.Context, tx metadata.Tx) ([]Published, error) {
	return readPublished(ctx, tx, ` ORDER BY uuid`)
}

func readPublished(ctx context.Context, tx metadata.Tx, where string, args ...any) ([]Published, error) {
	rows, err := tx.Query(ctx, `SELECT uuid, generation, epoch, frontier, table_id, snapshot_id, row_count, commit_id, server_id, published_at
		FROM {M}vega_published`+where, args...)
	if err != nil {
		return nil, err
	}
	out := make([]Published, len(rows))
	for i, r := range rows {
		p := &out[i]
		p.UUID, _ = r[0].(string)
		p.Generation, _ = r[1].(int64)
		p.Epoch, _ = r[2].(int64)
		p.Frontier, _ = r[3].([]byte)
		p.TableID, _ = r[4].(int64)
		p.Snapshot, _ = r[5].(int64)
		p.Rows, _ = r[6].(int64)
		p.CommitID, _ = r[7].(string)
		p.ServerID, _ = r[8].(string)
		p.At, _ = r[9].(time.Time)
	}
	return out, nil
}

// register makes the row of a first publication, so that what follows always has a row to lock. It is a transaction
// of its own: the row alone says nothing.
func (p *Publisher) register(ctx context.Context, pub *Publication) error {
	found := false
	err := p.Store.View(ctx, func(tx metadata.Tx) (err error) {
		_, found, err = ReadPublished(ctx, tx, pub.Swap.UUID)
		return err
	})
	if err != nil || found {
		return err
	}
	return p.Store.Update(ctx, func(tx metadata.Tx) error {
		_, found, err := ReadPublished(ctx, tx, pub.Swap.UUID)
		if err != nil || found {
			return err
		}
		return registerRow(ctx, tx, pub.Swap.UUID, pub.Swap.Generation, pub.Table.ID)
	})
}

func registerRow(ctx context.Context, tx metadata.Tx, uuid string, generation, tableID int64) error {
	_, err := tx.Exec(ctx, `INSERT INTO {M}vega_published (uuid, generation, epoch, table_id) VALUES ($1, $2, 0, $3)`, uuid, generation, tableID)
	return err
}

// conflict is the loser's error.
func (p Publication) conflict(now Published) error {
	return fault.RefreshConflict.Newf("%s was published by commit %s first: it is at generation %d, epoch %d, not %d, %d",
		p.name(), now.CommitID, now.Generation, now.Epoch, p.Swap.Generation, p.Swap.Epoch).WithHint("run it again")
}

// swap is the compare-and-swap itself, last in the transaction.
func (p Publication) swap(ctx context.Context, tx metadata.Tx, snapshot int64, rows int64, serverID string) (generation int64, err error) {
	generation = p.Swap.NextGeneration
	if generation == 0 {
		generation = p.Swap.Generation
	}
	frontier := any(p.Swap.Frontier)
	if p.Swap.Frontier == nil {
		frontier = nil
	}
	n, err := tx.Exec(ctx, `UPDATE {M}vega_published SET epoch = epoch + 1, generation = $4, frontier = $5, table_id = $6,
			snapshot_id = $7, row_count = $8, commit_id = $9, server_id = $10, published_at = now()
		WHERE uuid = $1 AND generation = $2 AND epoch = $3`,
		p.Swap.UUID, p.Swap.Generation, p.Swap.Epoch, generation, frontier, p.Table.ID, snapshot, rows, p.CommitID, serverID)
	if err != nil {
		return 0, err
	}
	if n != 1 {
		return 0, fault.RefreshConflict.Newf("%s is no longer at generation %d, epoch %d", p.name(), p.Swap.Generation, p.Swap.Epoch)
	}
	return generation, nil
}
