package lake

import (
	"context"
	"slices"

	"github.com/vegadb/vega-flight/ducklake/metadata"
	"github.com/vegadb/vega-flight/ducklake/publish"
)

// picture is what the catalog says of a table's rows at a snapshot, and of what was done to it since another.
type picture struct {
	at        int64
	table     metadata.TableInfo
	nextRowID int64
	files     map[int64]dataFile
	inlined   map[int64]bool // ids of the inlined rows that live; true: they came since
	deaths    []place        // rows of files that were deleted since, but for those that a delete file has
	total     int64          // rows
	history
}

type dataFile struct {
	name        string // without its folder
	rows        int64
	deleteFile  int64 // -1: none
	positionsOf int64 // how many are in that
}

// history is what snapshots say was done to the table.
type history struct {
	known   bool // no snapshot between is gone
	class   metadata.Class
	foreign int64 // the first snapshot in which somebody else wrote to it; 0: none
}

// look makes the picture of now. since is the snapshot that the table was known at; with -1 nothing is asked about what happened.
func (r *result) look(ctx context.Context, since int64) (*picture, error) {
	var p *picture
	err := r.s.db.View(ctx, func(tx metadata.Tx) error {
		p = &picture{files: map[int64]dataFile{}, inlined: map[int64]bool{}}
		newest, err := metadata.Latest(ctx, tx)
		if err != nil {
			return err
		}
		p.at = newest.ID
		if p.table, err = tableOf(ctx, tx, r.table.ID, r.table.Name); err != nil {
			return err
		}
		if since >= 0 {
			if p.history, err = readHistory(ctx, tx, p.table.ID, since, p.at); err != nil {
				return err
			}
		}
		if err := p.readFiles(ctx, tx); err != nil {
			return err
		}
		return p.readInlined(ctx, tx, since)
	})
	return p, err
}

func readHistory(ctx context.Context, tx metadata.Tx, table, since, at int64) (history, error) {
	h := history{known: true}
	changes, err := metadata.Changes(ctx, tx, since, at)
	if err != nil {
		return h, err
	}
	next := since + 1
	for _, c := range changes {
		h.known = h.known && c.ID == next
		next = c.ID + 1
		class := c.Class(table)
		h.class = max(h.class, class)
		if class != metadata.Written && class != metadata.Rewritten {
			continue
		}
		if info, ours := c.Commit(); (!ours || info.Kind != metadata.CommitPublish) && h.foreign == 0 {
			h.foreign = c.ID
		}
	}
	h.known = h.known && next == at+1
	return h, nil
}

func (p *picture) readFiles(ctx context.Context, tx metadata.Tx) error {
	rows, err := tx.Query(ctx, `SELECT f.data_file_id, f.path, f.record_count, coalesce(d.delete_file_id, -1), coalesce(d.delete_count, 0),
			coalesce((SELECT next_row_id FROM {M}ducklake_table_stats s WHERE s.table_id = $1), 0)
		FROM {M}ducklake_data_file f LEFT JOIN {M}ducklake_delete_file d ON d.data_file_id = f.data_file_id AND d.end_snapshot IS NULL
		WHERE f.table_id = $1 AND f.end_snapshot IS NULL`, p.table.ID)
	if err != nil {
		return err
	}
	for _, v := range rows {
		var r metadata.Row
		r.Take(v)
		id, f := r.Int(), dataFile{name: baseName(r.Text()), rows: r.Int(), deleteFile: r.Int(), positionsOf: r.Int()}
		p.nextRowID = r.Int()
		if r.Err() != nil {
			return r.Err()
		}
		p.files[id] = f
		p.total += f.rows - f.positionsOf
	}
	return nil
}

func baseName(path string) string {
	for i := len(path) - 1; i >= 0; i-- {
		if path[i] == '/' || path[i] == '\\' {
			return path[i+1:]
		}
	}
	return path
}

func (p *picture) readInlined(ctx context.Context, tx metadata.Tx, since int64) error {
	tables, err := publish.InlinedTables(ctx, tx, p.table.ID)
	if err != nil {
		return err
	}
	if len(p.files) == 0 {
		rows, err := tx.Query(ctx, `SELECT next_row_id FROM {M}ducklake_table_stats WHERE table_id = $1`, p.table.ID)
		if err != nil {
			return err
		}
		if len(rows) == 1 {
			p.nextRowID, _ = rows[0][0].(int64)
		}
	}
	for _, t := range tables {
		rows, err := tx.Query(ctx, `SELECT row_id, begin_snapshot > $1 FROM {M}`+metadata.QuoteIdent(t)+` WHERE end_snapshot IS NULL`, since)
		if err != nil {
			return err
		}
		for _, v := range rows {
			id, _ := v[0].(int64)
			p.inlined[id], _ = v[1].(bool)
		}
	}
	p.total += int64(len(p.inlined))
	rows, err := tx.Query(ctx, `SELECT file_id, row_id, begin_snapshot > $1 FROM {M}`+metadata.QuoteIdent(publish.InlinedDeletes(p.table.ID)), since)
	if err != nil {
		return err
	}
	for _, v := range rows {
		file, _ := v[0].(int64)
		if _, live := p.files[file]; !live {
			continue
		}
		p.total--
		if fresh, _ := v[2].(bool); !fresh {
			continue
		}
		position, _ := v[1].(int64)
		at, err := placeOf(publish.Location{File: file, Position: position})
		if err != nil {
			return err
		}
		p.deaths = append(p.deaths, at)
	}
	return nil
}

// came are the inlined rows that came since.
func (p *picture) came() map[int64]bool {
	out := map[int64]bool{}
	for id, fresh := range p.inlined {
		if fresh {
			out[id] = true
		}
	}
	return out
}

// names are the names of files.
func (p *picture) names(ids []int64) []string {
	out := make([]string, len(ids))
	for i, id := range ids {
		out[i] = p.files[id].name
	}
	slices.Sort(out)
	return out
}
