package feed

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/vegadb/vega-flight/ducklake/duck"
	"github.com/vegadb/vega-flight/ducklake/metadata"
)

// planContent finds the table at a snapshot. What the extension shows of it is what it shows as of the newest snapshot then, which is looked up
// first, in the transaction that the rows are read in: what is hidden from it is known in all that come later.
func (s *Stream) planContent(at int64) (err error) {
	ctx, r := s.ctx, s.reader
	seen, err := s.pinLake()
	if err != nil {
		return err
	}
	if s.tx == nil {
		if s.tx, err = metadata.OpenReading(ctx, r.feed.Store, r.feed.conn); err != nil {
			return err
		}
	}
	t, found, err := metadata.TableByID(ctx, s.tx, r.table.ID, at)
	if err != nil {
		return err
	}
	if _, err := metadata.SnapshotAt(ctx, s.tx, at); err != nil {
		return err
	}
	if !found || t.UUID != r.table.UUID {
		return noTable(r.table, at)
	}
	hidden, err := s.hidden(ctx, s.tx, at, seen)
	if err != nil {
		return err
	}
	if s.tx.Dialect() == metadata.PostgreSQL { // the rest is read by the connection
		if err := s.tx.Close(); err != nil {
			return err
		}
	}
	values := r.pickAll(t.Columns, func(c metadata.ColumnInfo) string { return "t." + metadata.QuoteIdent(c.Name) })
	name := []string{metadata.QuoteIdent(r.feed.Lake), metadata.QuoteIdent(t.Schema), metadata.QuoteIdent(t.Name)}
	text := r.selection(fmt.Sprintf("CAST(%d AS BIGINT)", at), "1", values) + fmt.Sprintf(" FROM %s t AT (VERSION => %d)", strings.Join(name, "."), at)
	s.parts = append([]part{func(ctx context.Context) (*duck.Reader, error) { return s.conn().Query(ctx, text) }}, hidden...)
	return nil
}

// pinLake begins the transaction in which the rows are read, and gives the newest snapshot that it sees. On a DuckDB file it is the one that
// the catalog is read in, too.
func (s *Stream) pinLake() (seen int64, err error) {
	ctx, f := s.ctx, s.reader.feed
	if f.Store.Dialect() == metadata.PostgreSQL {
		if _, err = f.conn.Exec(context.WithoutCancel(ctx), `BEGIN TRANSACTION READ ONLY`); err != nil {
			return 0, err
		}
		s.pinned = true
	} else if s.tx, err = metadata.OpenReading(ctx, f.Store, f.conn); err != nil {
		return 0, err
	}
	rows, err := f.conn.Rows(ctx, "SELECT id FROM "+metadata.QuoteIdent(f.Lake)+".current_snapshot()")
	if err != nil {
		return 0, err
	}
	var r metadata.Row
	r.Take(rows[0])
	return r.Int(), r.Err()
}

// unpinLake ends that transaction where it is not the catalog's.
func (s *Stream) unpinLake() error {
	if !s.pinned {
		return nil
	}
	s.pinned = false
	_, err := s.conn().Exec(context.Background(), `ROLLBACK`)
	return err
}

// hidden are the parts with rows that the table had at a snapshot and that the extension does not show at it: a transaction that was
// retried has deleted them later, but in a snapshot that the extension has seen, and its stamp is of before.
func (s *Stream) hidden(ctx context.Context, tx metadata.Tx, at, seen int64) ([]part, error) {
	all, err := s.laterFiles(ctx, tx, at)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	ids := map[int64]bool{}
	entries := map[int64][]string{}
	for _, d := range all {
		for stamp, commit := range d.belongs {
			if stamp <= at && commit > at && commit <= seen {
				ids[d.of] = true
				entries[d.of] = append(entries[d.of], fmt.Sprintf("SELECT d.pos FROM %s d WHERE d.stamp = %d", readParquet([]string{d.path}, deleteSource), stamp))
			}
		}
	}
	files, err := s.filesByID(ctx, tx, keys(ids))
	if err != nil {
		return nil, err
	}
	var parts []part
	for _, f := range files {
		shape, err := s.shapeOf(ctx, tx, f)
		if err != nil {
			return nil, err
		}
		text := s.reader.selection(fmt.Sprintf("CAST(%d AS BIGINT)", at), "1", shape.values) + " FROM " + readParquet([]string{f.path}, shape.source) +
			" a WHERE a.file_row_number IN (" + strings.Join(entries[f.id], " UNION ") + ")"
		parts = append(parts, func(ctx context.Context) (*duck.Reader, error) { return s.conn().Query(ctx, text) })
	}
	return parts, nil
}

// laterFiles are the delete files that were written after a snapshot and have stamps up to it, settled; none, if what has those stamps is of before.
func (s *Stream) laterFiles(ctx context.Context, tx metadata.Tx, at int64) (_ []deleteFile, err error) {
	rows, err := tx.Query(ctx, `SELECT EXISTS (SELECT 1 FROM {M}ducklake_delete_file WHERE table_id = $1 AND begin_snapshot <= $2 AND partial_max IS NOT NULL
		AND delete_file_id >= (SELECT next_file_id FROM {M}ducklake_snapshot WHERE snapshot_id = $2))`, s.reader.table.ID, at)
	if err != nil {
		return nil, err
	}
	if some, _ := rows[0][0].(bool); !some {
		return nil, nil
	}
	head, err := metadata.Latest(ctx, tx)
	if err != nil {
		return nil, err
	}
	if s.span, err = readSpan(ctx, tx, at, head.ID); err != nil {
		return nil, err
	}
	if s.history, err = s.reader.historyAt(ctx, tx, head); err != nil {
		return nil, err
	}
	all, err := s.readDeleteFiles(ctx, tx, `d.delete_file_id >= $2 AND d.begin_snapshot <= $3`, s.span.before.NextFileID, at)
	if err != nil {
		return nil, err
	}
	ids := map[int64]bool{}
	for _, d := range all {
		ids[d.of] = true
	}
	files, err := s.filesByID(ctx, tx, keys(ids))
	if err != nil {
		return nil, err
	}
	s.begins = map[int64]int64{}
	for _, f := range files {
		s.begins[f.id] = f.begin
	}
	g := &gone{excused: map[int64]bool{}}
	return all, errors.Join(s.settleStamps(ctx, tx, g, all), s.settleEarlier(ctx, tx, all))
}

// Exact says whether the lake's own AT (VERSION => at) shows the reader's table as it was at a snapshot. It does not for snapshots before a
// delete in a file by a transaction that was retried, while the file is there: such rows are missing, and the feed takes them away once
// more when it comes to that delete. [Reader.Content] has them.
func (r *Reader) Exact(ctx context.Context, at int64) (exact bool, err error) {
	err = r.feed.view(ctx, func(tx metadata.Tx) error {
		s := &Stream{reader: r, ctx: ctx}
		all, err := s.laterFiles(ctx, tx, at)
		exact = true
		for _, d := range all {
			for stamp, commit := range d.belongs {
				exact = exact && !(stamp <= at && commit > at)
			}
		}
		return err
	})
	return exact && err == nil, err
}
