package feed

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/vegadb/vega-flight/ducklake/duck"
	"github.com/vegadb/vega-flight/ducklake/metadata"
)

// Up to so many deleted rows of a chunk are looked for at their positions, of which the first few are told to the Parquet reader one by
// one: it then reads only the row groups that have them. It does not do so for a join.
const (
	fewRows      = 2048
	fewPositions = 64
)

// deleteSource is how delete files are read.
var deleteSource = schemaOf([]schemaField{{positionField, "pos", "BIGINT", ""}, {stampField, "stamp", "BIGINT", ""}})

// went are the parts of the stream with the rows of files that were deleted in the window.
func (s *Stream) went(ctx context.Context, tx metadata.Tx, g *gone) ([]part, error) {
	retired, others := []dataFile{}, []dataFile{}
	for _, f := range g.files {
		if g.retired[f.id] {
			retired = append(retired, f)
		} else {
			others = append(others, f)
		}
	}
	var out []part
	a, err := s.chunks(ctx, tx, retired)
	if err != nil {
		return nil, err
	}
	for _, c := range a {
		out = append(out, s.wentWithFiles(c, g))
	}
	b, err := s.chunks(ctx, tx, others)
	for _, c := range b {
		out = append(out, s.wentFromFiles(c, g))
	}
	return out, err
}

// deleted is the query of a chunk's deletes: the file by its place in the chunk (i), the position (p) and the commit (c). ok is false if there are none.
func (g *gone) deleted(c chunk) (sql string, args []any, files bool, ok bool) {
	var paths []string
	var of, begins []int64
	var belongs strings.Builder
	var in, positions, commits []int64
	for i, f := range c.files {
		for _, d := range g.deletes[f.id] {
			for stamp, commit := range d.belongs {
				fmt.Fprintf(&belongs, " WHEN d.file_index = %d AND d.stamp = %d THEN %d", len(paths), stamp, commit)
			}
			paths, of, begins = append(paths, d.path), append(of, int64(i)), append(begins, d.begin)
		}
		x := g.inlined[f.id]
		for range x.positions {
			in = append(in, int64(i))
		}
		positions, commits = append(positions, x.positions...), append(commits, x.commits...)
	}
	var parts []string
	if len(paths) > 0 {
		commit := "coalesce(d.stamp, " + numbers(begins) + "[CAST(d.file_index AS BIGINT) + 1])"
		if belongs.Len() > 0 {
			commit = "CASE" + belongs.String() + " ELSE " + commit + " END"
		}
		parts = append(parts, "SELECT "+numbers(of)+"[CAST(d.file_index AS BIGINT) + 1] AS i, d.pos AS p, "+commit+" AS c FROM "+readParquet(paths, deleteSource)+" d")
	}
	if len(in) > 0 {
		parts = append(parts, "SELECT unnest(CAST(? AS BIGINT[])) AS i, unnest(CAST(? AS BIGINT[])) AS p, unnest(CAST(? AS BIGINT[])) AS c")
		args = []any{in, positions, commits}
	}
	if len(parts) == 0 {
		return "", nil, false, false
	}
	return "SELECT CAST(i AS BIGINT) AS i, p, CAST(min(c) AS BIGINT) AS c FROM (" + strings.Join(parts, " UNION ALL ") + ") GROUP BY ALL", args, len(paths) > 0, true
}

// wentFromFiles is for files that stay.
func (s *Stream) wentFromFiles(c chunk, g *gone) part {
	return func(ctx context.Context) (*duck.Reader, error) {
		if rows, before, ok := s.inlinedOnly(c, g); ok {
			if len(rows) == 0 {
				return nil, nil
			}
			return s.wentFew(ctx, c, g, rows, before)
		}
		sql, args, _, ok := g.deleted(c)
		if !ok {
			return nil, nil
		}
		window := fmt.Sprintf("c BETWEEN %d AND %d", s.span.from+1, s.span.to)
		rows, err := s.conn().Rows(ctx, fmt.Sprintf("SELECT i, p, c FROM (%s) WHERE %s LIMIT %d", sql, window, fewRows+1), args...)
		if err != nil || len(rows) == 0 {
			return nil, err
		}
		if len(rows) <= fewRows {
			return s.wentFew(ctx, c, g, rows, nil)
		}
		if err := s.note(ctx, g, c, sql, args, window); err != nil {
			return nil, err
		}
		text := "WITH gone AS (" + sql + ") " + s.reader.selection("g.c", "-1", c.shape.values) + " FROM " + c.from() +
			" a JOIN gone g ON CAST(a.file_index AS BIGINT) = g.i AND a.file_row_number = g.p WHERE g." + window + s.reader.later(c.began())
		return s.conn().Query(ctx, text, args...)
	}
}

// inlinedOnly are a chunk's deletes when all those of the window are inlined, and the delete files are of before: which rows they have
// already taken is then looked at together with the rows.
func (s *Stream) inlinedOnly(c chunk, g *gone) (rows [][]any, before map[int64][]string, ok bool) {
	before = map[int64][]string{}
	for i, f := range c.files {
		for _, d := range g.deletes[f.id] {
			if d.id >= s.span.before.NextFileID {
				return nil, nil, false
			}
			before[int64(i)] = append(before[int64(i)], d.path)
		}
		x := g.inlined[f.id]
		first := make(map[int64]int64, len(x.positions))
		for j, p := range x.positions {
			if c, known := first[p]; !known || x.commits[j] < c {
				first[p] = x.commits[j]
			}
		}
		for _, p := range slices.Sorted(maps.Keys(first)) {
			if commit := first[p]; commit > s.span.from && commit <= s.span.to {
				if rows = append(rows, []any{int64(i), p, commit}); len(rows) > fewRows {
					return nil, nil, false
				}
			}
		}
	}
	return rows, before, true
}

// wentFew reads rows at known positions, but for those that are in the delete files of before, by the file's place in the chunk.
func (s *Stream) wentFew(ctx context.Context, c chunk, g *gone, rows [][]any, before map[int64][]string) (*duck.Reader, error) {
	var in, positions, commits []int64
	for _, v := range rows {
		var r metadata.Row
		r.Take(v)
		in, positions, commits = append(in, r.Int()), append(positions, r.Int()), append(commits, r.Int())
		if r.Err() != nil {
			return nil, r.Err()
		}
		if err := s.noteOne(g, c.files[in[len(in)-1]], commits[len(commits)-1]); err != nil {
			return nil, err
		}
	}
	// Only the files that have any are opened.
	place := map[int64]int64{}
	var files []dataFile
	var paths []string
	var of []int64
	for i, n := range in {
		p, ok := place[n]
		if !ok {
			p = int64(len(files))
			place[n], files = p, append(files, c.files[n])
			for _, path := range before[n] {
				paths, of = append(paths, path), append(of, p)
			}
		}
		in[i] = p
	}
	c.files = files
	where := fmt.Sprintf("a.file_row_number BETWEEN %d AND %d", slices.Min(positions), slices.Max(positions))
	if len(positions) <= fewPositions {
		where = "a.file_row_number IN (" + strings.Join(texts(positions), ", ") + ")"
	}
	if len(paths) > 0 {
		where += " AND NOT EXISTS (SELECT 1 FROM " + readParquet(paths, deleteSource) + " d WHERE d.pos = a.file_row_number"
		if len(files) > 1 {
			where += " AND " + numbers(of) + "[CAST(d.file_index AS BIGINT) + 1] = CAST(a.file_index AS BIGINT)"
		}
		if len(positions) <= fewPositions {
			where += " AND d.pos IN (" + strings.Join(texts(positions), ", ") + ")"
		}
		where += ")"
	}
	where += s.reader.later(c.began())
	text := s.reader.selection("g.c", "-1", c.shape.values) + " FROM " + c.from() +
		" a JOIN (SELECT unnest(CAST(? AS BIGINT[])) AS i, unnest(CAST(? AS BIGINT[])) AS p, unnest(CAST(? AS BIGINT[])) AS c) g" +
		" ON CAST(a.file_index AS BIGINT) = g.i AND a.file_row_number = g.p WHERE " + where
	if len(positions) == 1 {
		text = s.reader.selection(fmt.Sprintf("CAST(%d AS BIGINT)", commits[0]), "-1", c.shape.values) + " FROM " + c.from() + " a WHERE " + where
		return s.conn().Query(ctx, text)
	}
	return s.conn().Query(ctx, text, in, positions, commits)
}

// wentWithFiles is for files that were retired in the window: what was not deleted before goes then.
func (s *Stream) wentWithFiles(c chunk, g *gone) part {
	return func(ctx context.Context) (*duck.Reader, error) {
		end := c.perFile(func(f dataFile) int64 { return f.end })
		sql, args, files, ok := g.deleted(c)
		if !ok {
			return s.conn().Query(ctx, s.reader.selection(end, "-1", c.shape.values)+" FROM "+c.from()+" a WHERE true"+s.reader.later(c.began()))
		}
		if files {
			if err := s.note(ctx, g, c, sql, args, fmt.Sprintf("c BETWEEN %d AND %d", s.span.from+1, s.span.to)); err != nil {
				return nil, err
			}
		}
		snapshot := "least(g.c, " + end + ")" // NULL is left out
		text := "WITH gone AS (" + sql + ") " + s.reader.selection(snapshot, "-1", c.shape.values) + " FROM " + c.from() +
			" a LEFT JOIN gone g ON CAST(a.file_index AS BIGINT) = g.i AND a.file_row_number = g.p WHERE " +
			snapshot + fmt.Sprintf(" BETWEEN %d AND %d", s.span.from+1, s.span.to) + s.reader.later(c.began())
		return s.conn().Query(ctx, text, args...)
	}
}

// note looks at which commits a chunk's rows were deleted by.
func (s *Stream) note(ctx context.Context, g *gone, c chunk, sql string, args []any, window string) error {
	rows, err := s.conn().Rows(ctx, "SELECT DISTINCT i, c FROM ("+sql+") WHERE "+window, args...)
	if err != nil {
		return err
	}
	for _, v := range rows {
		var r metadata.Row
		r.Take(v)
		i, commit := r.Int(), r.Int()
		if r.Err() != nil {
			return r.Err()
		}
		if end := c.files[i].end; end != 0 && commit >= end {
			continue // it went with the file
		}
		if err := s.noteOne(g, c.files[i], commit); err != nil {
			return err
		}
	}
	return nil
}

// noteOne refuses a commit that says it deleted nothing: the stamp is of a transaction that was retried, and it is not known which.
// What a transaction deletes of its own it does not say.
func (s *Stream) noteOne(g *gone, f dataFile, commit int64) error {
	c, ok := s.span.at(commit)
	if d := deedsOf(c, s.reader.table.ID); !ok || !d.deleted && !d.inlinedDelete && f.begin != commit {
		return s.rewritten(commit)
	}
	g.seen[commit] = true
	return nil
}

// missed refuses commits that say they deleted rows of files when none were found: a later commit's delete file has them, under the
// stamp of a transaction that was retried. A flush that wrote delete files alone says the same, and deleted nothing.
func (s *Stream) missed(g *gone) error {
	for _, c := range s.span.changes {
		d := deedsOf(c, s.reader.table.ID)
		info, ours := c.Commit()
		if !d.deletesFromFiles() || g.seen[c.ID] || g.excused[c.ID] || ours && info.Kind == metadata.CommitPublish {
			continue
		}
		flush, err := s.flushed(g, c.ID)
		if err != nil {
			return err
		}
		if !flush {
			return s.rewritten(c.ID)
		}
	}
	return nil
}

// flushed says that a commit without deletes was a flush: each stamp before it is of a commit that deleted rows, some of them inlined.
func (s *Stream) flushed(g *gone, commit int64) (bool, error) {
	var c chunk
	for _, f := range g.files {
		if len(g.deletes[f.id]) > 0 {
			c.files = append(c.files, f)
		}
	}
	sql, args, _, ok := g.deleted(c)
	if !ok {
		return false, nil
	}
	begins := make([]int64, len(c.files))
	for i, f := range c.files {
		begins[i] = f.begin
	}
	rows, err := s.conn().Rows(s.ctx, fmt.Sprintf("SELECT DISTINCT c FROM (%s) WHERE c <= %d AND c <> %s[i + 1]", sql, commit, numbers(begins)), args...)
	if err != nil {
		return false, lost(err)
	}
	inlined := false
	err = s.reader.feed.Store.View(s.ctx, func(tx metadata.Tx) error {
		for _, v := range rows {
			var r metadata.Row
			r.Take(v)
			stamp := r.Int()
			found, err := metadata.Changes(s.ctx, tx, stamp-1, stamp)
			if err := errors.Join(r.Err(), err); err != nil {
				return err
			}
			if len(found) == 0 {
				continue // expired, and with it what it could be mistaken for
			}
			d := deedsOf(found[0], s.reader.table.ID)
			if !d.deleted && !d.inlinedDelete {
				return s.rewritten(commit)
			}
			inlined = inlined || d.inlinedDelete
		}
		return nil
	})
	return inlined, err
}
