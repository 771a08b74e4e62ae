package maintain

import (
	"context"
	"time"

	"github.com/vegadb/vega-flight/ducklake/metadata"
	"github.com/vegadb/vega-flight/ducklake/publish"
)

// Entry is an operation of several steps that cannot be one transaction. It is written before the first step and removed with
// the last; whoever finds one that its owner left behind finishes or undoes it.
type Entry struct {
	ID      string
	Kind    string
	Payload string
	Owner   publish.Fence
	At      time.Time
}

// WriteEntry adds an entry, or replaces the payload of one that is there.
func WriteEntry(ctx context.Context, tx metadata.Tx, e Entry) error {
	n, err := tx.Exec(ctx, `UPDATE {M}vega_journal SET kind = $2, payload = $3, server_id = $4, server_epoch = $5 WHERE id = $1`,
		e.ID, e.Kind, e.Payload, e.Owner.ServerID, e.Owner.Epoch)
	if err != nil || n == 1 {
		return err
	}
	_, err = tx.Exec(ctx, `INSERT INTO {M}vega_journal (id, kind, payload, server_id, server_epoch, created_at) VALUES ($1, $2, $3, $4, $5, now())`,
		e.ID, e.Kind, e.Payload, e.Owner.ServerID, e.Owner.Epoch)
	return err
}

// RemoveEntry removes an entry.
func RemoveEntry(ctx context.Context, tx metadata.Tx, id string) error {
	_, err := tx.Exec(ctx, `DELETE FROM {M}vega_journal WHERE id = $1`, id)
	return err
}

// Entries reads the entries of a server ("" for all), oldest first.
func Entries(ctx context.Context, tx metadata.Tx, serverID string) ([]Entry, error) {
	rows, err := tx.Query(ctx, `SELECT id, kind, payload, server_id, server_epoch, created_at FROM {M}vega_journal
		WHERE $1 = '' OR server_id = $1 ORDER BY created_at, id`, serverID)
	if err != nil {
		return nil, err
	}
	out := make([]Entry, len(rows))
	for i, r := range rows {
		e := &out[i]
		e.ID, _ = r[0].(string)
		e.Kind, _ = r[1].(string)
		e.Payload, _ = r[2].(string)
		e.Owner.ServerID, _ = r[3].(string)
		e.Owner.Epoch, _ = r[4].(int64)
		e.At, _ = r[5].(time.Time)
	}
	return out, nil
}
