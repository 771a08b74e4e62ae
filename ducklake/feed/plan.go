package feed

import (
	"context"
	"fmt"

	"github.com/vegadb/vega-flight/ducklake/metadata"
	"github.com/vegadb/vega-flight/fault"
)

// Plan says which snapshots in (from, to] touched the tables, and how, from the catalog alone. A table whose uuid is no longer the reader's,
// because the lake is another one, is fault.SourceChanged; snapshots that are needed and expired are fault.HistoryExpired.
func (f *Feed) Plan(ctx context.Context, from, to int64, readers ...*Reader) (Plan, error) {
	p := Plan{From: from, To: to}
	err := f.view(ctx, func(tx metadata.Tx) error {
		s, err := readSpan(ctx, tx, from, to)
		if err != nil {
			return err
		}
		p.Changes = p.Changes[:0]
		for _, sc := range s.changes {
			for _, r := range readers {
				c, err := r.change(ctx, tx, s, sc)
				if err != nil {
					return err
				}
				if c.Kind != 0 {
					p.Changes = append(p.Changes, c)
				}
			}
		}
		for _, r := range readers {
			if err := r.check(ctx, tx, s.head); err != nil {
				return err
			}
		}
		return nil
	})
	return p, err
}

// change is the reader's table's part in a snapshot; its kind is 0 if there is none.
func (r *Reader) change(ctx context.Context, tx metadata.Tx, s *span, sc metadata.SnapshotChanges) (Change, error) {
	d := deedsOf(sc, r.table.ID)
	c := Change{Snapshot: sc.ID, Time: sc.Time, Table: r.table.ID, Author: sc.Author}
	c.Commit, _ = sc.Commit()
	if d.writes() {
		c.Kind |= Rows
	}
	if d.moved() {
		c.Kind |= Moved
	}
	if d.altered {
		c.Kind |= Altered
		h, err := r.historyAt(ctx, tx, s.head)
		if err != nil {
			return c, err
		}
		c.Columns = h.changed(sc.ID)
	}
	if d.created {
		name, err := r.renamed(ctx, tx, sc.ID)
		if err != nil {
			return c, err
		}
		if name != "" {
			c.Kind, c.Name = c.Kind|Renamed, name
		}
	}
	if d.dropped {
		c.Kind |= Dropped
		successor, err := r.successor(ctx, tx, sc.ID, s.to)
		if err != nil {
			return c, err
		}
		if successor != nil {
			c.Kind, c.Successor = c.Kind|Recreated, successor
		}
	}
	return c, nil
}

// renamed is the name that the table got in a snapshot, "" if none.
func (r *Reader) renamed(ctx context.Context, tx metadata.Tx, at int64) (string, error) {
	rows, err := tx.Query(ctx, `SELECT t.table_name FROM {M}ducklake_table t WHERE t.table_id = $1 AND t.begin_snapshot = $2
		AND EXISTS (SELECT 1 FROM {M}ducklake_table o WHERE o.table_id = $1 AND o.begin_snapshot < $2)`, r.table.ID, at)
	if err != nil || len(rows) == 0 {
		return "", err
	}
	name, ok := rows[0][0].(string)
	if !ok {
		return "", fmt.Errorf("feed: a table's name came as %T", rows[0][0])
	}
	return name, nil
}

// successor is the table that has the name which the reader's had when it was dropped, at the window's end.
func (r *Reader) successor(ctx context.Context, tx metadata.Tx, dropped, to int64) (*metadata.TableInfo, error) {
	last, found, err := metadata.TableByID(ctx, tx, r.table.ID, dropped-1)
	if err != nil || !found {
		return nil, err
	}
	t, found, err := metadata.TableByName(ctx, tx, last.Schema, last.Name, to)
	if err != nil || !found || t.ID == r.table.ID {
		return nil, err
	}
	return &t, nil
}

// check makes sure that the table with the id is the one that the reader was opened for. Ids are given out once in a lake, but a lake may be
// put back from a copy, or another put in its place.
func (r *Reader) check(ctx context.Context, tx metadata.Tx, head metadata.Snapshot) error {
	if r.checked == head.SchemaVersion {
		return nil
	}
	rows, err := tx.Query(ctx, `SELECT CAST(table_uuid AS VARCHAR) FROM {M}ducklake_table WHERE table_id = $1`, r.table.ID)
	if err != nil {
		return err
	}
	for _, v := range rows {
		if uuid, _ := v[0].(string); uuid != r.table.UUID {
			return fault.SourceChanged.Newf("the table with the id %d is %s, not %s of %s.%s", r.table.ID, uuid, r.table.UUID, r.table.Schema, r.table.Name)
		}
	}
	r.checked = head.SchemaVersion
	return nil
}
