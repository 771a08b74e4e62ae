package publish

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"github.com/vegadb/vega-flight/ducklake/metadata"
	"github.com/vegadb/vega-flight/fault"
)

// deadFiles are a table's files of which every row is in a delete file. A merge leaves them alone, so readers would pass over them for ever.
const deadFiles = ` FROM {M}ducklake_data_file f JOIN {M}ducklake_delete_file d ON d.data_file_id = f.data_file_id AND d.end_snapshot IS NULL
	WHERE f.table_id = $1 AND f.end_snapshot IS NULL AND d.delete_count >= f.record_count`

// Dead counts the files of a table that have no row any more.
func Dead(ctx context.Context, tx metadata.Tx, tableID int64) (int64, error) {
	rows, err := tx.Query(ctx, `SELECT count(*)`+deadFiles, tableID)
	if err != nil {
		return 0, err
	}
	n, _ := rows[0][0].(int64)
	return n, nil
}

// Retire ends the files of a table that have no row any more, in a commit that changes no content. Older snapshots have them as before.
func (p *Publisher) Retire(ctx context.Context, table metadata.TableInfo) (files int64, err error) {
	unlock, err := p.Lock.Lock(ctx)
	if err != nil {
		return 0, err
	}
	defer unlock()
	info := metadata.CommitInfo{ID: uuid.Must(uuid.NewV7()).String(), Kind: metadata.CommitMaintain, Server: p.ServerID}
	var snap metadata.Snapshot
	err = p.Store.Update(ctx, func(tx metadata.Tx) error {
		files = 0
		if err := metadata.CheckVersion(ctx, tx); err != nil {
			return err
		}
		if snap, err = metadata.Latest(ctx, tx); err != nil {
			return err
		}
		if _, found, err := metadata.TableByID(ctx, tx, table.ID, snap.ID); err != nil {
			return err
		} else if !found {
			return fault.ObjectNotFound.Newf("table %s.%s was dropped", table.Schema, table.Name)
		}
		rows, err := tx.Query(ctx, `SELECT f.data_file_id`+deadFiles, table.ID)
		if err != nil || len(rows) == 0 {
			return err
		}
		ids := make([]int64, len(rows))
		for i, r := range rows {
			ids[i], _ = r[0].(int64)
		}
		snap.ID++
		snap.NextFileID++ // readers cache a table's statistics by this number
		for _, of := range []string{"ducklake_data_file", "ducklake_delete_file"} {
			n, err := tx.Exec(ctx, `UPDATE {M}`+of+` SET end_snapshot = $1 WHERE table_id = $2 AND end_snapshot IS NULL
				AND data_file_id IN (SELECT unnest($3::BIGINT[]))`, snap.ID, table.ID, ids)
			if err != nil {
				return err
			}
			files = n
		}
		if _, err := tx.Exec(ctx, `INSERT INTO {M}ducklake_snapshot (snapshot_id, snapshot_time, schema_version, next_catalog_id, next_file_id)
			VALUES ($1, now(), $2, $3, $4)`, snap.ID, snap.SchemaVersion, snap.NextCatalogID, snap.NextFileID); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `INSERT INTO {M}ducklake_snapshot_changes (snapshot_id, changes_made, author, commit_message, commit_extra_info)
			VALUES ($1, $2, $3, $4, $5)`, snap.ID, fmt.Sprintf("%s:%d", metadata.DeletedFrom, table.ID), metadata.Author, "maintenance", info.ExtraInfo())
		return err
	})
	if err == nil && files > 0 && p.Notify != nil {
		p.Notify(snap.ID)
	}
	return files, err
}
