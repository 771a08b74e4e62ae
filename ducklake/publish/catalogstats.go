package publish

import (
	"context"

	"github.com/vegadb/vega-flight/fault"
)

// readStats reads what the catalog says about the table as a whole.
func (x *writer) readStats(ctx context.Context) error {
	x.stats = tableStats{columns: map[int64]columnStats{}}
	rows, err := x.tx.Query(ctx, `SELECT record_count, next_row_id, file_size_bytes FROM {M}ducklake_table_stats WHERE table_id = $1`, x.table)
	if err != nil {
		return err
	}
	if len(rows) == 1 {
		x.stats.known = true
		x.stats.records, _ = rows[0][0].(int64)
		x.stats.nextRowID, _ = rows[0][1].(int64)
		x.stats.bytes, _ = rows[0][2].(int64)
	} else if len(rows) > 1 {
		return fault.LakeUnreadable.Newf("the catalog has %d rows of statistics for table %d", len(rows), x.table)
	}
	rows, err = x.tx.Query(ctx, `SELECT column_id, contains_null, contains_nan, min_value, max_value FROM {M}ducklake_table_column_stats WHERE table_id = $1`, x.table)
	if err != nil {
		return err
	}
	for _, r := range rows {
		id, _ := r[0].(int64)
		x.stats.columns[id] = columnStats{null: optional[bool](r[1]), nan: optional[bool](r[2]), min: optional[string](r[3]), max: optional[string](r[4])}
	}
	return nil
}

func optional[T any](v any) *T {
	if x, ok := v.(T); ok {
		return &x
	}
	return nil
}

// writeStats adds what the publication adds to the table's statistics.
func (x *writer) writeStats(ctx context.Context) error {
	if len(x.added) == 0 {
		return nil
	}
	next, exact, err := merge(leavesOf(x.w.pub.Table.Columns), x.stats, x.added)
	if err != nil {
		return err
	}
	if x.p.broken(RuleRecordCount) && x.w.pub.Replace != nil {
		next.records = x.w.pub.Replace.Rows
	} else if !exact {
		// Some bounds are not values of the column. A count that is never the number of rows keeps readers from
		// answering min and max from them.
		next.records++
	}
	if x.p.broken(RuleWiden) && x.w.pub.Replace != nil {
		fresh, _, err := merge(leavesOf(x.w.pub.Table.Columns), tableStats{}, x.added)
		if err != nil {
			return err
		}
		next.columns = fresh.columns
	}
	if x.stats.known {
		_, err = x.tx.Exec(ctx, `UPDATE {M}ducklake_table_stats SET record_count = $2, next_row_id = $3, file_size_bytes = $4 WHERE table_id = $1`,
			x.table, next.records, next.nextRowID, next.bytes)
	} else {
		_, err = x.tx.Exec(ctx, `INSERT INTO {M}ducklake_table_stats (table_id, record_count, next_row_id, file_size_bytes) VALUES ($1, $2, $3, $4)`,
			x.table, next.records, next.nextRowID, next.bytes)
	}
	if err != nil {
		return err
	}
	var fresh [][]any
	before := x.stats
	x.stats = next
	x.stats.known = true
	for id, c := range next.columns {
		old, known := before.columns[id]
		switch {
		case !known:
			fresh = append(fresh, []any{x.table, id, orNull(c.null), orNull(c.nan), orNull(c.min), orNull(c.max)})
		case !sameStats(old, c):
			if _, err := x.tx.Exec(ctx, `UPDATE {M}ducklake_table_column_stats SET contains_null = $3, contains_nan = $4, min_value = $5, max_value = $6
				WHERE table_id = $1 AND column_id = $2`, x.table, id, orNull(c.null), orNull(c.nan), orNull(c.min), orNull(c.max)); err != nil {
				return err
			}
		}
	}
	return insertRows(ctx, x.tx, "ducklake_table_column_stats", "table_id, column_id, contains_null, contains_nan, min_value, max_value", fresh)
}

// merge adds files and batches to a table's statistics. A leaf that an addition says nothing of becomes unknown only if
// it never had statistics.
func merge(leaves []leaf, old tableStats, additions []addition) (next tableStats, exact bool, err error) {
	next, exact = old, true
	next.columns = map[int64]columnStats{}
	for id, c := range old.columns {
		next.columns[id] = c
	}
	types := map[int64]string{}
	for _, l := range leaves {
		types[l.id] = l.typ
	}
	for _, a := range additions {
		next.records += a.rows
		next.bytes += a.bytes
		for _, s := range a.stats {
			var before *columnStats
			if c, ok := next.columns[s.leaf]; ok {
				before = &c
			}
			c, ok, err := widen(types[s.leaf], before, s)
			if err != nil {
				return next, false, err
			}
			exact = exact && ok
			next.columns[s.leaf] = c
		}
	}
	return next, exact, nil
}
