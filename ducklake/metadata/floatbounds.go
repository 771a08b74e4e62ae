package metadata

import "context"

// floatBounds finds the bounds of FLOAT and DOUBLE columns in files from an id on.
const floatBounds = `{M}ducklake_file_column_stats
	WHERE data_file_id >= $1 AND (min_value IS NOT NULL OR max_value IS NOT NULL) AND EXISTS (
		SELECT 1 FROM {M}ducklake_column c WHERE c.table_id = {M}ducklake_file_column_stats.table_id
		AND c.column_id = {M}ducklake_file_column_stats.column_id AND c.column_type IN ('float32', 'float64'))`

// HasFloatBounds says that files from an id on have bounds of FLOAT or DOUBLE columns.
func HasFloatBounds(ctx context.Context, tx Tx, fromFile int64) (bool, error) {
	rows, err := tx.Query(ctx, `SELECT count(*) FROM `+floatBounds, fromFile)
	if err != nil {
		return false, err
	}
	var r Row
	r.Take(rows[0])
	return r.Int() > 0, r.Err()
}

// ForgetFloatBounds removes them. DuckLake compares them as text with a filter's value as a decimal number, rounds the two
// differently, and skips files that have the rows; without bounds no file is skipped.
func ForgetFloatBounds(ctx context.Context, tx Tx, fromFile int64) error {
	_, err := tx.Exec(ctx, `UPDATE {M}ducklake_file_column_stats SET min_value = NULL, max_value = NULL`+floatBounds[len(`{M}ducklake_file_column_stats`):], fromFile)
	return err
}
