package metadata

import "context"

// DoubtfulInlining are the live tables whose rows may be inlined and that have columns which a catalog may change then: floating-point
// numbers, and what is nested.
func DoubtfulInlining(ctx context.Context, tx Tx) ([]TableInfo, error) {
	rows, err := tx.Query(ctx, `SELECT DISTINCT c.table_id FROM {M}ducklake_column c
		WHERE c.end_snapshot IS NULL AND (c.column_type IN ('float32', 'float64') OR c.parent_column IS NOT NULL) AND c.table_id NOT IN (
			SELECT o.scope_id FROM {M}ducklake_metadata o
			WHERE o.key = 'data_inlining_row_limit' AND o.scope = 'table' AND o.value = '0' AND o.scope_id IS NOT NULL)`)
	if err != nil {
		return nil, err
	}
	var tables []TableInfo
	for _, v := range rows {
		var r Row
		r.Take(v)
		id := r.Int()
		if r.Err() != nil {
			return nil, r.Err()
		}
		t, found, err := TableByID(ctx, tx, id, 0)
		if err != nil {
			return nil, err
		}
		if found {
			tables = append(tables, t)
		}
	}
	return tables, nil
}
