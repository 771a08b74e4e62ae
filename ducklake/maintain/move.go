package maintain

import (
	"context"
	"errors"

	"github.com/vegadb/vega-flight/ducklake/metadata"
	"github.com/vegadb/vega-flight/ducklake/publish"
	"github.com/vegadb/vega-flight/fault"
)

// state is what is measured of a published table.
type state struct {
	table   metadata.TableInfo
	pending int64 // inlined rows and inlined deletes, dead ones too: readers pass over them
	small   int64 // files that a merge would take
	dead    int64 // files without a row
}

// smallFile is below what merges take; larger files are left as they are.
const smallFile = 32 << 20

// managed are the published tables that still exist.
func managed(ctx context.Context, tx metadata.Tx) ([]metadata.TableInfo, error) {
	all, err := publish.AllPublished(ctx, tx)
	if err != nil {
		return nil, err
	}
	var out []metadata.TableInfo
	seen := map[int64]bool{}
	for _, p := range all {
		if p.TableID == 0 || seen[p.TableID] {
			continue
		}
		seen[p.TableID] = true
		t, found, err := metadata.TableByID(ctx, tx, p.TableID, 0)
		if err != nil {
			return nil, err
		}
		if found {
			out = append(out, t)
		}
	}
	return out, nil
}

// measure reads what decides about flush and merge, for all published tables.
func (m *Maintainer) measure(ctx context.Context) ([]state, error) {
	var out []state
	err := m.Store.View(ctx, func(tx metadata.Tx) error {
		out = nil
		tables, err := managed(ctx, tx)
		if err != nil {
			return err
		}
		for _, t := range tables {
			s := state{table: t}
			if s.pending, err = publish.Pending(ctx, tx, t.ID); err != nil {
				return err
			}
			rows, err := tx.Query(ctx, `SELECT count(*) FROM {M}ducklake_data_file f WHERE f.table_id = $1 AND f.end_snapshot IS NULL AND f.file_size_bytes < $2
				AND NOT EXISTS (SELECT 1 FROM {M}ducklake_delete_file d WHERE d.data_file_id = f.data_file_id)`, t.ID, int64(smallFile))
			if err != nil {
				return err
			}
			s.small, _ = rows[0][0].(int64)
			if s.dead, err = publish.Dead(ctx, tx, t.ID); err != nil {
				return err
			}
			out = append(out, s)
		}
		return nil
	})
	return out, err
}

// move flushes and merges the tables that need it, and ends their files that have no row any more.
func (m *Maintainer) move(ctx context.Context, r *Report) error {
	states, err := m.measure(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for _, s := range states {
		if s.pending >= m.FlushRows {
			// Rows that nobody can see any more need not become a file.
			purged, err := m.purge(ctx, s.table.ID)
			r.Purged += purged
			if err == nil && s.pending-purged >= m.FlushRows {
				if err = m.Publisher.Relocate(ctx, s.table, publish.Flush); err == nil {
					r.Flushed = append(r.Flushed, s.table.ID)
				}
			}
			errs = append(errs, unlessGone(err))
		}
		if s.small >= m.MergeFiles {
			err := m.Publisher.Relocate(ctx, s.table, publish.Merge)
			if err == nil {
				r.Merged = append(r.Merged, s.table.ID)
			}
			errs = append(errs, unlessGone(err))
		}
		if s.dead > 0 {
			_, err := m.Publisher.Retire(ctx, s.table)
			errs = append(errs, unlessGone(err))
		}
	}
	return errors.Join(errs...)
}

// unlessGone forgets that a table was dropped meanwhile.
func unlessGone(err error) error {
	if fault.CodeOf(err) == fault.ObjectNotFound {
		return nil
	}
	return err
}

// purge removes a table's inlined rows and deletes that no snapshot shows.
func (m *Maintainer) purge(ctx context.Context, tableID int64) (int64, error) {
	unlock, err := m.Lock.Lock(ctx)
	if err != nil {
		return 0, err
	}
	defer unlock()
	var n int64
	err = m.Store.Update(ctx, func(tx metadata.Tx) error {
		n, err = publish.Purge(ctx, tx, tableID)
		return err
	})
	return n, err
}
