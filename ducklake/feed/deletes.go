package feed

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sort"

	"github.com/vegadb/vega-flight/ducklake/duck"
	"github.com/vegadb/vega-flight/ducklake/metadata"
	"github.com/vegadb/vega-flight/fault"
)

// deleteFile is a delete file as the catalog has it. Its rows have stamps of their own, or all its begin.
type deleteFile struct {
	id, begin, of int64
	partialMax    int64 // the last stamp, if they are several
	path          string
	belongs       map[int64]int64 // the commits that stamps belong to which are not theirs
}

// inlinedDeletes are the inlined deletes of one data file.
type inlinedDeletes struct{ positions, commits []int64 }

// gone is what is known of the deletes in a window.
type gone struct {
	files   []dataFile // that have any, or that were retired
	retired map[int64]bool
	deletes map[int64][]deleteFile // by data file
	inlined map[int64]inlinedDeletes
	// seen are the commits that rows were found to be deleted by; excused those of which none need be.
	seen, excused map[int64]bool
}

// readDeletes finds all that may have deleted rows of files in the window.
// written is false when no delete file can have been written since the window began.
func (s *Stream) readDeletes(ctx context.Context, tx metadata.Tx, retired []dataFile, inlined, written bool) (*gone, error) {
	g := &gone{retired: map[int64]bool{}, deletes: map[int64][]deleteFile{}, inlined: map[int64]inlinedDeletes{}, seen: map[int64]bool{}, excused: map[int64]bool{}}
	ids := map[int64]bool{}
	for _, f := range retired {
		g.retired[f.id], ids[f.id], g.seen[f.end] = true, true, true
	}
	// Whatever a commit of the window deleted lies in a file that was written by it or later.
	if written {
		files, err := s.readDeleteFiles(ctx, tx, `d.delete_file_id >= $2 AND d.begin_snapshot <= $3`, s.span.before.NextFileID, s.span.to)
		if err != nil {
			return nil, err
		}
		for _, d := range files {
			ids[d.of] = true
		}
	}
	if inlined || len(ids) > 0 {
		if err := s.readInlinedDeletes(ctx, tx, g, keys(ids)); err != nil {
			return nil, err
		}
		for id := range g.inlined {
			ids[id] = true
		}
	}
	if len(ids) == 0 {
		return g, nil
	}
	list := keys(ids)
	// A row may have been deleted twice, by transactions that did not see each other: the first counts, so all deletes of these files are needed.
	all, err := s.readDeleteFiles(ctx, tx, `d.data_file_id IN (SELECT unnest(CAST($2 AS BIGINT[])))`, list)
	if err != nil {
		return nil, err
	}
	known := map[int64]dataFile{}
	for _, f := range retired {
		known[f.id] = f
	}
	list = slices.DeleteFunc(list, func(id int64) bool { _, ok := known[id]; return ok })
	others, err := s.filesByID(ctx, tx, list)
	if err != nil {
		return nil, err
	}
	g.files = append(slices.Clone(retired), others...)
	s.begins = map[int64]int64{}
	for _, f := range g.files {
		s.begins[f.id] = f.begin
	}
	if err := errors.Join(s.settleStamps(ctx, tx, g, all), s.settleEarlier(ctx, tx, all)); err != nil {
		return nil, err
	}
	for _, d := range all {
		g.deletes[d.of] = append(g.deletes[d.of], d)
		if c := s.span.committer(d.id); c != 0 {
			g.seen[c] = true
		}
	}
	return g, nil
}

func (s *Stream) readDeleteFiles(ctx context.Context, tx metadata.Tx, where string, args ...any) ([]deleteFile, error) {
	rows, err := tx.Query(ctx, `SELECT d.delete_file_id, d.begin_snapshot, d.data_file_id, d.partial_max, d.path, d.path_is_relative, d.format
		FROM {M}ducklake_delete_file d WHERE d.table_id = $1 AND `+where+` ORDER BY d.delete_file_id`, append([]any{s.reader.table.ID}, args...)...)
	if err != nil {
		return nil, err
	}
	out := make([]deleteFile, 0, len(rows))
	for _, v := range rows {
		var r metadata.Row
		r.Take(v)
		d := deleteFile{id: r.Int(), begin: r.Int(), of: r.Int(), partialMax: r.NullInt(0)}
		d.path = s.path(r.Text(), r.Bool())
		format := r.Text()
		if r.Err() != nil {
			return nil, r.Err()
		}
		if format != "parquet" {
			return nil, fault.LakeUnsupported.Newf("the delete file %d has the format %q", d.id, format).
				WithHint("set write_deletion_vectors to false")
		}
		out = append(out, d)
	}
	return out, nil
}

func keys(ids map[int64]bool) []int64 { return slices.Sorted(maps.Keys(ids)) }

// readInlinedDeletes reads all inlined deletes of the files, and of those that have any in the window.
func (s *Stream) readInlinedDeletes(ctx context.Context, tx metadata.Tx, g *gone, files []int64) error {
	name := fmt.Sprintf("ducklake_inlined_delete_%d", s.reader.table.ID)
	if there, err := s.hasInlinedDeletes(ctx, tx, name); err != nil || !there {
		return err
	}
	name = metadata.QuoteIdent(name)
	rows, err := tx.Query(ctx, `SELECT file_id, row_id, begin_snapshot FROM {M}`+name+` WHERE file_id IN (
		SELECT file_id FROM {M}`+name+` WHERE begin_snapshot > $1 AND begin_snapshot <= $2 UNION ALL SELECT unnest(CAST($3 AS BIGINT[])))`,
		s.span.from, s.span.to, files)
	var missing *duck.Error
	if errors.As(err, &missing) && missing.Type == "Catalog" {
		return nil // no delete was inlined yet
	}
	if err != nil {
		return err
	}
	s.reader.deletes = true
	for _, v := range rows {
		var r metadata.Row
		r.Take(v)
		id := r.Int()
		d := g.inlined[id]
		d.positions, d.commits = append(d.positions, r.Int()), append(d.commits, r.Int())
		if r.Err() != nil {
			return r.Err()
		}
		g.inlined[id] = d
	}
	return nil
}

// settleStamps finds the commits that what has the last stamp in each delete file belongs to.
func (s *Stream) settleStamps(ctx context.Context, tx metadata.Tx, g *gone, all []deleteFile) error {
	later, err := s.laterDeletes(ctx, tx, all)
	if err != nil {
		return err
	}
	verdicts := map[int64]bool{}
	for i := range all {
		d := &all[i]
		if d.partialMax == 0 || d.partialMax > s.span.to || d.id < s.span.before.NextFileID {
			continue // one commit, or what is not of this window either way
		}
		owner, ok := s.span.at(s.span.committer(d.id))
		if !ok {
			if owner, ok = later.committer(d.id); !ok {
				continue
			}
		}
		if owner.ID == d.partialMax || !deedsOf(owner, s.reader.table.ID).deletesFromFiles() {
			continue
		}
		if d.partialMax <= s.span.from && owner.ID > s.span.to {
			continue // it is not of this window either way
		}
		retried, known := verdicts[owner.ID]
		if !known {
			if retried, err = s.retried(ctx, tx, owner); err != nil {
				return err
			}
			verdicts[owner.ID] = retried
		}
		if !retried {
			g.excused[owner.ID] = true
			continue
		}
		d.belong(d.partialMax, owner.ID)
		// Another file that was replaced since may have entries with this stamp too, of either commit.
		if c, ok := s.span.at(d.partialMax); ok && deedsOf(c, s.reader.table.ID).deletesFromFiles() {
			for _, o := range all {
				if o.begin <= d.partialMax && o.partialMax > d.partialMax && o.id >= owner.NextFileID {
					return s.rewritten(owner.ID)
				}
			}
		}
	}
	return nil
}

func (d *deleteFile) belong(stamp, commit int64) {
	if d.belongs == nil {
		d.belongs = map[int64]int64{}
	}
	d.belongs[stamp] = commit
}

// settleEarlier finds the commits that the other stamps of delete files belong to: files that were replaced since had them last. One of a
// commit that did not delete rows of the table is of a transaction that was retried; it committed before the next one that deleted from
// the file began.
func (s *Stream) settleEarlier(ctx context.Context, tx metadata.Tx, all []deleteFile) error {
	var of []*deleteFile
	var paths []string
	first := s.span.before.NextFileID
	if len(s.span.changes) > 0 {
		first = s.span.changes[0].NextFileID // a commit's own file has no others that could be of this window
	}
	for i := range all {
		if d := &all[i]; d.partialMax != 0 && d.id >= first && d.begin <= s.span.to {
			of, paths = append(of, d), append(paths, d.path)
		}
	}
	if len(of) == 0 {
		return nil
	}
	rows, err := s.conn().Rows(ctx, "SELECT d.file_index, d.stamp FROM "+readParquet(paths, deleteSource)+" d WHERE d.stamp IS NOT NULL GROUP BY ALL ORDER BY ALL")
	if err != nil {
		return lost(err)
	}
	type entry struct {
		file  int
		stamp int64
	}
	entries := make([]entry, len(rows))
	// The first deletes of a file have the right snapshot always. If later ones have a commit's own, that one was not retried.
	own := map[int64]bool{}
	for i, v := range rows {
		e := &entries[i]
		if e.file, e.stamp, err = stampOf(v); err != nil {
			return err
		}
		own[e.stamp] = own[e.stamp] || i > 0 && entries[i-1].file == e.file
	}
	for i, e := range entries {
		d, stamp, next := of[e.file], e.stamp, int64(0)
		if i+1 < len(entries) && entries[i+1].file == e.file {
			next = entries[i+1].stamp
		}
		if _, settled := d.belongs[stamp]; settled || next == 0 || next <= s.span.from+1 || stamp > s.span.to {
			continue
		}
		what, known, err := s.deedsAt(ctx, tx, stamp)
		if err != nil {
			return err
		}
		if !known || what.deleted || what.inlinedDelete || what.inserted && s.begins[d.of] == stamp {
			continue
		}
		between, err := metadata.Changes(ctx, tx, stamp, next-1)
		if err != nil {
			return err
		}
		between = slices.DeleteFunc(between, func(c metadata.SnapshotChanges) bool {
			d := deedsOf(c, s.reader.table.ID)
			return !d.deletesFromFiles() || own[c.ID] && !d.inlinedDelete
		})
		switch {
		case len(between) == 1:
			d.belong(stamp, between[0].ID)
		case len(between) == 0, slices.ContainsFunc(between, func(c metadata.SnapshotChanges) bool { _, in := s.span.at(c.ID); return in }):
			return s.rewritten(stamp)
		}
	}
	return nil
}

func stampOf(v []any) (file int, stamp int64, err error) {
	n, ok1 := v[0].(uint64)
	stamp, ok2 := v[1].(int64)
	if m, ok := v[0].(int64); ok {
		n, ok1 = uint64(m), true
	}
	if !ok1 || !ok2 {
		return 0, 0, fmt.Errorf("feed: a delete file's stamp came as %T", v[1])
	}
	return int(n), stamp, nil
}

// retried says whether the delete files of a commit, of which at least one has a last stamp before it, are from a transaction that was
// retried. Otherwise they are from a flush of inlined deletes, which DuckLake records in the same way.
func (s *Stream) retried(ctx context.Context, tx metadata.Tx, owner metadata.SnapshotChanges) (bool, error) {
	of, err := s.readDeleteFiles(ctx, tx, `d.delete_file_id < $2 AND d.delete_file_id >= (
		SELECT coalesce(max(next_file_id), 0) FROM {M}ducklake_snapshot WHERE snapshot_id < $3)`, owner.NextFileID, owner.ID)
	if err != nil {
		return false, err
	}
	stamp := int64(0)
	for _, d := range of {
		switch {
		case d.partialMax == 0 && d.begin == owner.ID:
			return true, nil // a flush has nothing of its own
		case d.partialMax == 0:
		case stamp != 0 && stamp != d.partialMax:
			return false, nil // a transaction has one stamp
		default:
			stamp = d.partialMax
		}
	}
	d, known, err := s.deedsAt(ctx, tx, stamp)
	switch {
	case err != nil || !known:
		return false, err // no transaction is open for as long as it takes a snapshot to expire
	case d.inlinedDelete:
		return false, nil
	case !d.deletesFromFiles():
		return true, nil
	}
	// The stamp's own commit deleted from files: from these, and a flush put them together, or from others. A flush has brought inlined
	// deletes into each of its files.
	oldest := stamp
	for _, d := range of {
		rows, err := s.conn().Rows(ctx, "SELECT DISTINCT coalesce(d.stamp, "+fmt.Sprint(d.begin)+") FROM "+readParquet([]string{d.path}, deleteSource)+" d")
		if err != nil {
			return false, lost(err)
		}
		inlined := false
		for _, v := range rows {
			var r metadata.Row
			r.Take(v)
			at := r.Int()
			d, known, err := s.deedsAt(ctx, tx, at)
			if err := errors.Join(r.Err(), err); err != nil {
				return false, err
			}
			if !known || d.inlinedDelete {
				inlined, oldest = true, min(oldest, at)
			}
		}
		if !inlined {
			return true, nil
		}
	}
	// They may have come there in a flush before.
	between, err := metadata.Changes(ctx, tx, oldest, stamp-1)
	if err != nil {
		return false, err
	}
	for _, c := range between {
		if d := deedsOf(c, s.reader.table.ID); d.flushed || d.deleted {
			return false, s.rewritten(owner.ID)
		}
	}
	return false, nil
}

// deedsAt is what a snapshot did to the table; known is false when it is expired.
func (s *Stream) deedsAt(ctx context.Context, tx metadata.Tx, at int64) (d deeds, known bool, err error) {
	c, ok := s.span.at(at)
	if !ok {
		found, err := metadata.Changes(ctx, tx, at-1, at)
		if err != nil || len(found) == 0 {
			return d, false, err
		}
		c = found[0]
	}
	return deedsOf(c, s.reader.table.ID), true, nil
}

func (s *Stream) rewritten(snapshot int64) error {
	return fault.HistoryRewritten.Newf("what snapshot %d deleted from the table %s.%s cannot be told from what others deleted since",
		snapshot, s.reader.table.Schema, s.reader.table.Name)
}

// later are snapshots after the window that wrote delete files of the table.
type later []metadata.SnapshotChanges

func (s *Stream) laterDeletes(ctx context.Context, tx metadata.Tx, all []deleteFile) (later, error) {
	end := s.span.before.NextFileID
	if n := len(s.span.changes); n > 0 {
		end = s.span.changes[n-1].NextFileID
	}
	if !slices.ContainsFunc(all, func(d deleteFile) bool { return d.id >= end }) {
		return nil, nil
	}
	rows, err := tx.Query(ctx, `SELECT s.snapshot_id, s.next_file_id, c.changes_made, c.commit_extra_info FROM {M}ducklake_snapshot s
		JOIN {M}ducklake_snapshot_changes c ON c.snapshot_id = s.snapshot_id
		WHERE s.snapshot_id > $1 AND (c.changes_made LIKE $2 OR c.changes_made LIKE $3) ORDER BY s.snapshot_id`, s.span.to,
		fmt.Sprintf("%%%s:%d%%", metadata.DeletedFrom, s.reader.table.ID), fmt.Sprintf("%%%s:%d%%", metadata.InlineFlush, s.reader.table.ID))
	if err != nil {
		return nil, err
	}
	var out later
	for _, v := range rows {
		var r metadata.Row
		r.Take(v)
		var c metadata.SnapshotChanges
		c.ID, c.NextFileID = r.Int(), r.Int()
		made := r.Text()
		c.ExtraInfo = r.Text()
		if r.Err() != nil {
			return nil, r.Err()
		}
		if c.Changes, err = metadata.ParseChanges(made); err != nil {
			return nil, err
		}
		out = append(out, c)
	}
	return out, nil
}

func (l later) committer(file int64) (metadata.SnapshotChanges, bool) {
	i := sort.Search(len(l), func(i int) bool { return l[i].NextFileID > file })
	if i == len(l) {
		return metadata.SnapshotChanges{}, false
	}
	return l[i], true
}

// hasInlinedDeletes says whether the table for inlined deletes may be there. DuckLake makes it when it needs it, and DuckDB does not list it.
func (s *Stream) hasInlinedDeletes(ctx context.Context, tx metadata.Tx, name string) (bool, error) {
	if s.reader.deletes {
		return true, nil
	}
	var rows [][]any
	var err error
	if tx.Dialect() == metadata.PostgreSQL {
		rows, err = tx.Query(ctx, `SELECT to_regclass($1) IS NOT NULL`, tx.Table(name))
	} else {
		rows, err = tx.Query(ctx, `SELECT EXISTS (SELECT 1 FROM {M}ducklake_data_file WHERE table_id = $1)`, s.reader.table.ID)
	}
	if err != nil {
		return false, err
	}
	there, _ := rows[0][0].(bool)
	return there, nil
}
