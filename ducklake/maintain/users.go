package maintain

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/vegadb/vega-flight/ducklake/duck"
	"github.com/vegadb/vega-flight/ducklake/metadata"
	"github.com/vegadb/vega-flight/ducklake/publish"
)

// plainTables are the users' tables with inlined rows that a flush may take. It leaves those alone that others decide about, whose
// owners keep the lake from compacting them or have them partitioned or sorted; and those that were altered: a flush drops their earlier
// tables of inlined rows, and programs that have the lake open go on scanning these.
const plainTables = `SELECT t.table_id, min(i.table_name) FROM {M}ducklake_table t JOIN {M}ducklake_inlined_data_tables i ON i.table_id = t.table_id
	WHERE t.end_snapshot IS NULL
		AND NOT EXISTS (SELECT 1 FROM {M}vega_published p WHERE p.table_id = t.table_id)
		AND NOT EXISTS (SELECT 1 FROM {M}ducklake_partition_info p WHERE p.table_id = t.table_id AND p.end_snapshot IS NULL)
		AND NOT EXISTS (SELECT 1 FROM {M}ducklake_sort_info s WHERE s.table_id = t.table_id AND s.end_snapshot IS NULL)
		AND NOT EXISTS (SELECT 1 FROM {M}ducklake_metadata m WHERE m.key = 'auto_compact' AND m.value = 'false' AND m.scope = 'table' AND m.scope_id = t.table_id)
	GROUP BY t.table_id HAVING count(*) = 1 ORDER BY t.table_id`

// flushUsers flushes the users' tables that have many pending rows, or deletes that are hidden, and that nobody is writing.
func (m *Maintainer) flushUsers(ctx context.Context, r *Report) error {
	if m.Flushable == nil {
		return nil
	}
	var due []metadata.TableInfo
	err := m.Store.View(ctx, func(tx metadata.Tx) error {
		due = nil
		rows, err := tx.Query(ctx, plainTables)
		if err != nil {
			return err
		}
		for _, v := range rows {
			id, _ := v[0].(int64)
			inlined, _ := v[1].(string)
			pending, err := pendingOf(ctx, tx, id, inlined)
			if err != nil {
				return err
			}
			if pending < m.FlushRows {
				if hidden, err := hiddenOf(ctx, tx, id); err != nil || !hidden {
					if err != nil {
						return err
					}
					continue
				}
			}
			t, found, err := metadata.TableByID(ctx, tx, id, 0)
			if err != nil {
				return err
			}
			if found && m.Flushable(t) {
				due = append(due, t)
			}
		}
		return nil
	})
	errs := []error{err}
	for _, t := range due {
		err := m.Publisher.Relocate(ctx, t, publish.Flush)
		if err == nil {
			r.Flushed = append(r.Flushed, t.ID)
		}
		errs = append(errs, unlessGone(err))
	}
	return errors.Join(errs...)
}

// pendingOf counts a table's inlined rows and deletes. The table for the deletes is there once one was inlined.
func pendingOf(ctx context.Context, tx metadata.Tx, tableID int64, inlined string) (int64, error) {
	n, err := count(ctx, tx, inlined)
	if err != nil {
		return 0, err
	}
	d, err := ofDeletes(ctx, tx, tableID, `SELECT count(*) FROM {D}`)
	return n + d, err
}

// hiddenOf says whether a flush of another program has left inlined deletes that it has written into a file as well. DuckLake's readers pass
// over other inlined deletes of such a file; the next flush puts that right.
func hiddenOf(ctx context.Context, tx metadata.Tx, tableID int64) (bool, error) {
	n, err := ofDeletes(ctx, tx, tableID, `SELECT count(*) FROM {D} i JOIN {M}ducklake_delete_file d ON d.data_file_id = i.file_id
		WHERE d.end_snapshot IS NULL AND d.partial_max >= i.begin_snapshot`)
	return n > 0, err
}

// ofDeletes asks for a number about a table's inlined deletes, {D}: 0 when none was inlined yet.
func ofDeletes(ctx context.Context, tx metadata.Tx, tableID int64, query string) (int64, error) {
	deletes := fmt.Sprintf("ducklake_inlined_delete_%d", tableID)
	if tx.Dialect() == metadata.PostgreSQL {
		rows, err := tx.Query(ctx, `SELECT to_regclass($1) IS NOT NULL`, tx.Table(deletes))
		if err != nil {
			return 0, err
		}
		if there, _ := rows[0][0].(bool); !there {
			return 0, nil
		}
	}
	rows, err := tx.Query(ctx, strings.ReplaceAll(query, "{D}", "{M}"+metadata.QuoteIdent(deletes)))
	var missing *duck.Error
	if errors.As(err, &missing) && missing.Type == "Catalog" {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	n, _ := rows[0][0].(int64)
	return n, nil
}

func count(ctx context.Context, tx metadata.Tx, table string) (int64, error) {
	rows, err := tx.Query(ctx, `SELECT count(*) FROM {M}`+metadata.QuoteIdent(table))
	if err != nil {
		return 0, err
	}
	n, _ := rows[0][0].(int64)
	return n, nil
}
