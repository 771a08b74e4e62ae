package lake

import (
	"context"
	"errors"
	"slices"

	"github.com/vegadb/vega-flight/ducklake/metadata"
	"github.com/vegadb/vega-flight/ducklake/publish"
	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/ivm/row"
	"github.com/vegadb/vega-flight/ivm/stream"
	"github.com/vegadb/vega-flight/ivm/zset"
)

const (
	// refileRows bounds how many rows a commit lays elsewhere, since the view waits meanwhile.
	refileRows = 1 << 16
	// manyWorn is how many files with dead rows a table may have; a merge of the lake's leaves those alone.
	manyWorn = 32
)

// wornFile is a data file some of whose rows are dead.
type wornFile struct{ id, rows, dead int64 }

// worn chooses the files whose living rows are to be laid elsewhere: those that are more than half dead, and when there are many, the
// emptiest. Files with more rows than one commit moves stay; they are few for all the rows that they have.
func worn(files []wornFile) (ids []int64) {
	files = slices.DeleteFunc(slices.Clone(files), func(f wornFile) bool { live := f.rows - f.dead; return live <= 0 || live > refileRows })
	slices.SortFunc(files, func(a, b wornFile) int { return int((a.rows - a.dead) - (b.rows - b.dead)) })
	many := len(files) > manyWorn
	moved := int64(0)
	for _, f := range files {
		if !many && 2*f.dead <= f.rows {
			continue
		}
		if moved += f.rows - f.dead; moved > refileRows {
			break
		}
		ids = append(ids, f.id)
	}
	return ids
}

// wornFiles reads which files have dead rows.
func (r *result) wornFiles(ctx context.Context) (out []wornFile, err error) {
	err = r.s.db.View(ctx, func(tx metadata.Tx) error {
		out = nil
		rows, err := tx.Query(ctx, `SELECT f.data_file_id, f.record_count, CAST(coalesce(d.delete_count, 0) + coalesce(x.n, 0) AS BIGINT)
			FROM {M}ducklake_data_file f LEFT JOIN {M}ducklake_delete_file d ON d.data_file_id = f.data_file_id AND d.end_snapshot IS NULL
			LEFT JOIN (SELECT file_id, count(*) AS n FROM {M}`+metadata.QuoteIdent(publish.InlinedDeletes(r.table.ID))+` GROUP BY file_id) x ON x.file_id = f.data_file_id
			WHERE f.table_id = $1 AND f.end_snapshot IS NULL AND (d.data_file_id IS NOT NULL OR x.n > 0)`, r.table.ID)
		for _, v := range rows {
			var at metadata.Row
			at.Take(v)
			out = append(out, wornFile{at.Int(), at.Int(), at.Int()})
			err = errors.Join(err, at.Err())
		}
		return err
	})
	return out, err
}

// Refile lays rows of files that are mostly dead elsewhere, in one commit that changes no content. Without any it gives nothing.
func (o Results) Refile(ctx context.Context, c stream.Commitment) ([]stream.Published, error) {
	b, err := o.steps(c)
	if err != nil {
		return nil, err
	}
	anything := false
	for _, st := range b.steps {
		some, err := st.refile(ctx)
		if err != nil {
			b.release()
			return nil, errors.Join(err, b.discard(ctx))
		}
		anything = anything || some
	}
	if !anything {
		return nil, nil
	}
	out, err := b.Commit(ctx)
	if errors.Is(err, errAside) {
		return nil, stream.ErrMoved
	}
	if err != nil {
		return nil, err
	}
	b.note(ctx)
	return out, nil
}

// refile makes the step one that lays rows elsewhere. It says whether there are any.
func (st *step) refile(ctx context.Context) (bool, error) {
	r := st.r
	st.aside = true // who finds that rows have moved does not follow them
	if err := st.prepare(ctx); err != nil {
		return false, err
	}
	files, err := r.wornFiles(ctx)
	if err != nil {
		return false, err
	}
	w := &wanted{files: worn(files)}
	if len(w.files) == 0 {
		return false, nil
	}
	if err := r.catchUp(ctx, moved); err != nil {
		return false, err
	}
	if r.theirs != nil {
		return false, r.theirs
	}
	p, err := r.look(ctx, r.seen)
	if err != nil {
		return false, err
	}
	gone := slices.ContainsFunc(w.files, func(id int64) bool { _, ok := p.files[id]; return !ok })
	if !p.known || p.class != metadata.Untouched || gone {
		return false, stream.ErrMoved
	}
	rows, places := zset.New(r.layout), []publish.Location(nil)
	err = r.read(ctx, p, w, false, func(words []uint64, h *row.Heap, at []place, _ []int64) error {
		for i, from := range at {
			words := words[i*r.layout.Words : (i+1)*r.layout.Words]
			st.old = append(st.old, goneRow{name: r.names.name(words, h), n: 1, row: rows.Len(), from: len(st.at), until: len(st.at) + 1})
			st.at = append(st.at, from)
			places = append(places, from.location())
			rows.Append(words, h, 1)
		}
		return nil
	})
	if errors.Is(err, errAgain) {
		return false, stream.ErrMoved
	}
	if err == nil && rows.Len() == 0 {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if len(places) > 2*refileRows {
		return false, fault.InternalError.Newf("%d rows of %s.%s live in files that have fewer", len(places), r.table.Schema, r.table.Name)
	}
	st.delta, st.comes, st.goes = rows, int64(rows.Len()), int64(rows.Len())
	st.pub.Table, st.pub.Seen = r.table, r.seen
	if err := st.takeIn(ctx, int64(r.s.Publisher.InlineRows)); err != nil {
		return false, err
	}
	d := &publish.Delta{Files: st.staged, Delete: places, Relocate: st.relocate}
	if st.rows != nil {
		d.Insert = append(d.Insert, st.rows)
	}
	st.pub.Delta = d
	return true, nil
}
