package store

import (
	"context"

	"github.com/vegadb/vega-flight/ducklake/metadata"
	"github.com/vegadb/vega-flight/ivm/catalog"
)

// RowByUUID reads one view's row in a transaction.
func (s *Store) RowByUUID(ctx context.Context, tx metadata.Tx, uuid string) (r catalog.Row, found bool, err error) {
	all, err := viewRows(ctx, tx)
	if err != nil {
		return r, false, err
	}
	for i := range all {
		if all[i].UUID == uuid {
			return all[i], true, nil
		}
	}
	return r, false, nil
}

// MoveJobs makes the jobs of one subject those of another, which took its place.
func (s *Store) MoveJobs(ctx context.Context, tx metadata.Tx, from, to string) error {
	_, err := tx.Exec(ctx, `UPDATE {M}vega_jobs SET subject = $2 WHERE subject = $1`, from, to)
	return err
}
