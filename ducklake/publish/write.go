package publish

import (
	"context"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/vegadb/vega-flight/ducklake/metadata"
	"github.com/vegadb/vega-flight/fault"
)

// writer writes one publication's rows into the catalog, as part of the snapshot that is being made.
type writer struct {
	p     *Publisher
	tx    metadata.Tx
	w     *work
	snap  *metadata.Snapshot // the new one; its NextFileID grows
	table int64
	made  []metadata.ChangeKind // what was done, for changes_made
	stats tableStats
	added []addition

	recalled *remembered     // what need not be read
	inlined  []string        // the registered tables of inlined rows
	files    map[int64]int64 // rows of the live data files; nil when they were not read, or are not these any more
}

// addition is what one file or batch adds to the statistics.
type addition struct {
	rows, bytes int64
	stats       []added
}

func (x *writer) did(kind metadata.ChangeKind) {
	if !slices.Contains(x.made, kind) {
		x.made = append(x.made, kind)
	}
}

// write does the whole of a publication but the snapshot and the swap.
func (x *writer) write(ctx context.Context) error {
	pub := x.w.pub
	if pub.Replace == nil && pub.Delta == nil {
		return nil
	}
	err := x.read(ctx)
	if err != nil {
		return err
	}
	firstFile := x.snap.NextFileID
	if pub.Replace != nil {
		err = x.replace(ctx)
	} else {
		err = x.delta(ctx)
	}
	if err != nil {
		return err
	}
	if err := x.writeStats(ctx); err != nil {
		return err
	}
	x.w.result.NextRowID = x.stats.nextRowID
	if x.snap.NextFileID == firstFile && !x.p.broken(RuleFileID) {
		// Readers cache a table's statistics by this number.
		x.snap.NextFileID++
	}
	return nil
}

// read finds what is there, unless it is remembered.
func (x *writer) read(ctx context.Context) (err error) {
	if r := x.recalled; r != nil {
		x.inlined, x.stats, x.files = r.inlined, r.stats, r.files
		return nil
	}
	if x.inlined, err = InlinedTables(ctx, x.tx, x.table); err != nil {
		return err
	}
	return x.readStats(ctx)
}

// liveFiles are the rows of the table's data files.
func (x *writer) liveFiles(ctx context.Context) (map[int64]int64, error) {
	if x.files != nil {
		return x.files, nil
	}
	rows, err := x.tx.Query(ctx, `SELECT data_file_id, record_count FROM {M}ducklake_data_file WHERE table_id = $1 AND end_snapshot IS NULL`, x.table)
	if err != nil {
		return nil, err
	}
	x.files = make(map[int64]int64, len(rows))
	for _, r := range rows {
		id, _ := r[0].(int64)
		x.files[id], _ = r[1].(int64)
	}
	return x.files, nil
}

// replace ends everything the table has and adds the staged files.
func (x *writer) replace(ctx context.Context) error {
	files, err := x.tx.Exec(ctx, `UPDATE {M}ducklake_data_file SET end_snapshot = $2 WHERE table_id = $1 AND end_snapshot IS NULL`, x.table, x.snap.ID)
	if err != nil {
		return err
	}
	if _, err := x.tx.Exec(ctx, `UPDATE {M}ducklake_delete_file SET end_snapshot = $2 WHERE table_id = $1 AND end_snapshot IS NULL`, x.table, x.snap.ID); err != nil {
		return err
	}
	rows := int64(0)
	for _, t := range x.inlined {
		n, err := x.tx.Exec(ctx, `UPDATE {M}`+metadata.QuoteIdent(t)+` SET end_snapshot = $1 WHERE end_snapshot IS NULL`, x.snap.ID)
		if err != nil {
			return err
		}
		rows += n
	}
	if len(x.w.pub.Replace.Files) > 0 {
		x.did(metadata.InsertedInto)
	}
	if files > 0 {
		x.did(metadata.DeletedFrom)
	}
	if rows > 0 {
		x.did(metadata.InlinedDelete)
	}
	x.w.result.Rows = x.w.pub.Replace.Rows
	return x.addFiles(ctx, x.w.pub.Replace)
}

// delta ends the deleted rows where they lie and adds the new ones.
func (x *writer) delta(ctx context.Context) error {
	if err := x.deleteRows(ctx); err != nil {
		return err
	}
	enc := x.w.enc
	x.w.result.Rows = enc.rows
	switch {
	case enc.rows == 0:
		return nil
	case enc.staged != nil:
		x.did(metadata.InsertedInto)
		return x.addFiles(ctx, enc.staged)
	}
	into := x.w.into.name
	if x.w.into.schemaVersion != x.snap.SchemaVersion {
		x.p.forgetTarget(x.table)
		now, err := inlineInto(ctx, x.tx, x.table)
		if err != nil {
			return err
		}
		if now.name != into {
			return errRestage
		}
	}
	if len(x.inlined) == 0 || x.inlined[len(x.inlined)-1] != into {
		return errRestage
	}
	x.did(metadata.InlinedInsert)
	x.added = append(x.added, addition{rows: enc.rows, stats: enc.stats})
	return x.insertInlined(ctx, into)
}

// errRestage says that the delta's rows cannot be inlined any more.
var errRestage = fmt.Errorf("publish: the table for inlined rows is gone")

// idChunk bounds the ids in one statement.
const idChunk = 5000

func (x *writer) deleteRows(ctx context.Context) error {
	var inFiles, inCatalog []Location
	for _, l := range x.w.locations {
		if l.File == Inlined {
			inCatalog = append(inCatalog, l)
		} else {
			inFiles = append(inFiles, l)
		}
	}
	if len(inFiles)+len(inCatalog) == 0 {
		return nil
	}
	x.did(metadata.InlinedDelete)
	if err := x.deleteInFiles(ctx, inFiles); err != nil {
		return err
	}
	for part := range slices.Chunk(inCatalog, idChunk) {
		ids := make([]int64, len(part))
		for i, l := range part {
			ids[i] = l.Position
		}
		ended := int64(0)
		which, named := `IN (SELECT unnest($2::BIGINT[]))`, any(ids)
		if len(ids) == 1 { // without a join
			which, named = `= $2`, ids[0]
		}
		for _, t := range x.inlined {
			n, err := x.tx.Exec(ctx, `UPDATE {M}`+metadata.QuoteIdent(t)+` SET end_snapshot = $1
				WHERE end_snapshot IS NULL AND begin_snapshot <> $1 AND row_id `+which, x.snap.ID, named)
			if err != nil {
				return err
			}
			ended += n
		}
		if ended != int64(len(part)) {
			return x.stray(int64(len(part))-ended, "in the catalog")
		}
	}
	return nil
}

// deleteInFiles adds inlined deletes, after it has made sure that each names a row that is there.
func (x *writer) deleteInFiles(ctx context.Context, at []Location) error {
	if len(at) == 0 {
		return nil
	}
	live, err := x.liveFiles(ctx)
	if err != nil {
		return err
	}
	named := make(map[Location]bool, len(at))
	stray := int64(0)
	for _, l := range at {
		if l.Position < 0 || l.Position >= live[l.File] || named[l] {
			stray++
		}
		named[l] = true
	}
	if stray > 0 {
		return x.stray(stray, "in files")
	}
	table := InlinedDeletes(x.table)
	for part := range slices.Chunk(at, idChunk) {
		files, places := make([]int64, len(part)), make([]int64, len(part))
		for i, l := range part {
			files[i], places[i] = l.File, l.Position
		}
		n, err := x.insertDeletes(ctx, table, files, places)
		if err != nil {
			return err
		}
		if n != int64(len(part)) {
			return x.stray(int64(len(part))-n, "in files")
		}
	}
	return nil
}

// insertDeletes adds inlined deletes and returns how many of them were not there.
func (x *writer) insertDeletes(ctx context.Context, name string, files, places []int64) (int64, error) {
	table := `{M}` + metadata.QuoteIdent(name)
	to, ok := x.tx.(metadata.Appender)
	if !ok {
		return x.tx.Exec(ctx, `INSERT INTO `+table+` (file_id, row_id, begin_snapshot) SELECT f, p, $3::BIGINT
			FROM (SELECT unnest($1::BIGINT[]) AS f, unnest($2::BIGINT[]) AS p) AS v
			WHERE NOT EXISTS (SELECT 1 FROM `+table+` AS d WHERE d.file_id = v.f AND d.row_id = v.p)`, files, places, x.snap.ID)
	}
	var there [][]any
	var err error
	if len(files) == 1 {
		there, err = x.tx.Query(ctx, `SELECT count(*) FROM `+table+` WHERE file_id = $1 AND row_id = $2`, files[0], places[0])
	} else {
		there, err = x.tx.Query(ctx, `SELECT count(*) FROM `+table+` AS d
			SEMI JOIN (SELECT unnest($1::BIGINT[]) AS f, unnest($2::BIGINT[]) AS p) AS v ON d.file_id = v.f AND d.row_id = v.p`, files, places)
	}
	if err != nil {
		return 0, err
	}
	n, _ := there[0][0].(int64)
	return int64(len(files)) - n, appendIntegers(ctx, to, name, files, places, repeated(x.snap.ID, len(files)))
}

// stray is the error of rows that are not where they were said to be.
func (x *writer) stray(n int64, where string) error {
	e := moved(x.w.pub.Table, metadata.Written, x.w.pub.Seen, "are not where they were said to be")
	e.fault.Message = fmt.Sprintf("%d of the rows to delete from %s are not %s any more, or were named twice", n, x.w.pub.name(), where)
	return e
}

// addFiles registers staged files as the table's.
func (x *writer) addFiles(ctx context.Context, s *Staged) error {
	x.files = nil
	if n, err := x.tx.Exec(ctx, `DELETE FROM {M}vega_staged WHERE folder = $1 AND table_id = $2 AND job_id <> $3`, s.Folder, x.table, discarded); err != nil {
		return err
	} else if n != 1 {
		return fault.Fenced.Newf("the files staged for %s in %s were discarded", x.w.pub.name(), s.Folder)
	}
	var files, stats [][]any
	for _, f := range s.Files {
		id := x.snap.NextFileID
		x.snap.NextFileID++
		files = append(files, []any{id, x.table, x.snap.ID, path.Join(s.within, f.Name), true, "parquet", f.Rows, f.Bytes, f.Footer, x.stats.nextRowID})
		x.stats.nextRowID += f.Rows
		x.w.result.Inserted = append(x.w.result.Inserted, Span{File: id, Rows: f.Rows})
		for _, a := range f.stats {
			var values, nulls any = a.values - a.nulls, a.nulls
			if a.nulls > a.values {
				values, nulls = nil, nil
			}
			if a.nan != nil { // of a FLOAT or DOUBLE, see metadata.ForgetFloatBounds
				a.min, a.max = nil, nil
			}
			stats = append(stats, []any{id, x.table, a.leaf, a.bytes, values, nulls, storable(a.min), storable(a.max), orNull(a.nan)})
		}
		x.added = append(x.added, addition{rows: f.Rows, bytes: f.Bytes, stats: f.stats})
	}
	if err := insertRows(ctx, x.tx, "ducklake_data_file", "data_file_id, table_id, begin_snapshot, path, path_is_relative, "+
		"file_format, record_count, file_size_bytes, footer_size, row_id_start", files); err != nil {
		return err
	}
	return insertRows(ctx, x.tx, "ducklake_file_column_stats", "data_file_id, table_id, column_id, column_size_bytes, "+
		"value_count, null_count, min_value, max_value, contains_nan", stats)
}

// insertChunk bounds the rows of one INSERT.
const insertChunk = 500

// insertRows writes rows as literals: for DuckDB many parameters cost several times more to bind than the text to parse.
func insertRows(ctx context.Context, tx metadata.Tx, table, columns string, rows [][]any) error {
	for part := range slices.Chunk(rows, insertChunk) {
		var text strings.Builder
		text.WriteString(`INSERT INTO {M}` + table + ` (` + columns + `) VALUES `)
		for i, r := range part {
			if i > 0 {
				text.WriteByte(',')
			}
			text.WriteByte('(')
			for j, v := range r {
				if j > 0 {
					text.WriteByte(',')
				}
				switch v := v.(type) {
				case nil:
					text.WriteString("NULL")
				case string:
					text.WriteString(metadata.QuoteLiteral(v))
				case int64, bool:
					fmt.Fprint(&text, v)
				default:
					return fmt.Errorf("publish: a %T for table %s", v, table)
				}
			}
			text.WriteByte(')')
		}
		if _, err := tx.Exec(ctx, text.String()); err != nil {
			return err
		}
	}
	return nil
}

// insertInlined writes the delta's rows into a table of inlined rows.
func (x *writer) insertInlined(ctx context.Context, name string) (err error) {
	enc := x.w.enc
	target := `INSERT INTO {M}` + metadata.QuoteIdent(name)
	first := x.stats.nextRowID
	x.stats.nextRowID += enc.rows
	x.w.result.Inserted = []Span{{File: Inlined, First: first, Rows: enc.rows}}
	var n int64
	if to, ok := x.tx.(metadata.Appender); ok && enc.exact {
		n, err = x.appendInlined(ctx, to, name, first)
	} else if x.tx.Dialect() == metadata.PostgreSQL {
		args := []any{first - 1, x.snap.ID}
		arrays, names, casts := make([]string, len(enc.wire)), make([]string, len(enc.wire)), make([]string, len(enc.wire))
		for i, c := range enc.wire {
			if c.array == "bytea[]" {
				args = append(args, c.bytes)
			} else {
				args = append(args, c.texts)
			}
			arrays[i] = fmt.Sprintf("$%d::%s", i+3, c.array)
			names[i] = fmt.Sprintf("c%d", i)
			casts[i] = fmt.Sprintf("c%d::%s", i, c.cast)
		}
		n, err = x.tx.Exec(ctx, target+` SELECT $1::bigint + n, $2::bigint, NULL::bigint, `+strings.Join(casts, ", ")+
			` FROM unnest(`+strings.Join(arrays, ", ")+`) WITH ORDINALITY AS q(`+strings.Join(names, ", ")+`, n)`, args...)
	} else {
		n, err = x.insertArrow(ctx, target, first)
	}
	if err == nil && n != enc.rows {
		err = fmt.Errorf("publish: %d of %d rows were inlined", n, enc.rows)
	}
	return err
}

// insertArrow hands the delta's batches to DuckDB as they are.
func (x *writer) insertArrow(ctx context.Context, target string, first int64) (n int64, err error) {
	conn, ok := metadata.TxConn(x.tx).(interface {
		RegisterArrow(name string, r array.RecordReader) (func() error, error)
	})
	if !ok {
		return 0, fmt.Errorf("publish: the catalog's connection takes no Arrow batches")
	}
	batches := x.w.enc.batches
	reader, err := array.NewRecordReader(batches[0].Schema(), batches)
	if err != nil {
		return 0, err
	}
	defer reader.Release()
	release, err := conn.RegisterArrow(deltaView, reader)
	if err != nil {
		return 0, err
	}
	defer func() {
		if e := release(); err == nil {
			err = e
		}
	}()
	casts := make([]string, len(x.w.pub.Table.Columns))
	for i, c := range x.w.pub.Table.Columns {
		casts[i] = fmt.Sprintf("CAST(c%d AS %s)", i, c.SQLType())
	}
	return x.tx.Exec(ctx, target+fmt.Sprintf(` SELECT $1::BIGINT + row_number() OVER () - 1, $2::BIGINT, NULL, %s FROM temp.main.%s AS q(%s)`,
		strings.Join(casts, ", "), deltaView, positions(len(casts))), first, x.snap.ID)
}

// changesMade is the publication's part of the snapshot's changes_made.
func (x *writer) changesMade() []string {
	out := make([]string, len(x.made))
	for i, kind := range x.made {
		out[i] = fmt.Sprintf("%s:%d", kind, x.table)
	}
	return out
}

// Paths lists the staged files' paths on disk.
func (s *Staged) Paths(dataPath string) []string {
	out := make([]string, len(s.Files))
	for i, f := range s.Files {
		out[i] = filepath.Join(dataPath, s.Folder, f.Name)
	}
	return out
}
