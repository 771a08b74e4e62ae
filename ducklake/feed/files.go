package feed

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/vegadb/vega-flight/ducklake/metadata"
	"github.com/vegadb/vega-flight/fault"
)

// dataFile is a data file as the catalog has it.
type dataFile struct {
	id, begin  int64
	end        int64 // 0: live
	partialMax int64 // of the snapshots that its rows came in, if they are several
	mapping    int64 // names its columns, if it has no field ids; -1: it has
	path       string
}

const dataFileColumns = `f.data_file_id, f.begin_snapshot, f.end_snapshot, f.partial_max, f.mapping_id, f.path, f.path_is_relative, f.file_format`

// readFiles runs a query that gives dataFileColumns.
func (s *Stream) readFiles(ctx context.Context, tx metadata.Tx, sql string, args ...any) ([]dataFile, error) {
	rows, err := tx.Query(ctx, sql, args...)
	if err != nil {
		return nil, err
	}
	out := make([]dataFile, 0, len(rows))
	for _, v := range rows {
		var r metadata.Row
		r.Take(v)
		f := dataFile{id: r.Int(), begin: r.Int(), end: r.NullInt(0), partialMax: r.NullInt(0), mapping: r.NullInt(-1)}
		f.path = s.path(r.Text(), r.Bool())
		format := r.Text()
		if r.Err() != nil {
			return nil, r.Err()
		}
		if format != "parquet" {
			return nil, fault.LakeUnsupported.Newf("the data file %d has the format %q", f.id, format)
		}
		out = append(out, f)
	}
	return out, nil
}

func (s *Stream) path(path string, relative bool) string {
	if relative {
		return filepath.Join(s.reader.table.Dir(s.reader.feed.DataPath), path)
	}
	return path
}

// windowFiles are the files that have rows which came in the window, and those that were retired in it.
func (s *Stream) windowFiles(ctx context.Context, tx metadata.Tx) (came, retired []dataFile, err error) {
	all, err := s.readFiles(ctx, tx, `SELECT `+dataFileColumns+` FROM {M}ducklake_data_file f WHERE f.table_id = $1 AND (
		(f.begin_snapshot <= $3 AND (f.begin_snapshot > $2 OR f.partial_max > $2)) OR (f.end_snapshot > $2 AND f.end_snapshot <= $3))
		ORDER BY f.data_file_id`, s.reader.table.ID, s.span.from, s.span.to)
	if err != nil {
		return nil, nil, err
	}
	for _, f := range all {
		if f.begin <= s.span.to && (f.begin > s.span.from || f.partialMax > s.span.from) && !s.rewrote(f.begin) {
			came = append(came, f)
		}
		if f.end > s.span.from && f.end <= s.span.to && !s.rewrote(f.end) {
			retired = append(retired, f)
		}
	}
	return came, retired, nil
}

// rewrote says that a snapshot of the window put rows of files into others.
func (s *Stream) rewrote(snapshot int64) bool {
	c, ok := s.span.at(snapshot)
	return ok && deedsOf(c, s.reader.table.ID).rewritten
}

// filesByID are data files by their ids. One that is not there was merged, which takes files without deletes only.
func (s *Stream) filesByID(ctx context.Context, tx metadata.Tx, ids []int64) ([]dataFile, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	return s.readFiles(ctx, tx, `SELECT `+dataFileColumns+` FROM {M}ducklake_data_file f
		WHERE f.table_id = $1 AND f.data_file_id IN (SELECT unnest(CAST($2 AS BIGINT[]))) ORDER BY f.data_file_id`, s.reader.table.ID, ids)
}

// shape is how rows are read from files that are alike.
type shape struct {
	source string   // what follows the list of files in read_parquet
	stamp  string   // the expression for the snapshot embedded in a file, NULL when there is none
	values []string // the reader's columns
}

// stampField and positionField are the field ids of what DuckLake writes into data and delete files beside the table's columns.
const (
	stampField    = 2147483539
	positionField = 2147483645
)

// shapeOf says how a file is read.
func (s *Stream) shapeOf(ctx context.Context, tx metadata.Tx, f dataFile) (shape, error) {
	if f.mapping >= 0 {
		return s.mappedShape(ctx, tx, f.mapping)
	}
	fields := []schemaField{{stampField, "stamp", "BIGINT", ""}}
	values := make([]string, len(s.reader.columns))
	var then []metadata.ColumnInfo
	for i, c := range s.reader.columns {
		name := fmt.Sprintf("c%d", c.ID)
		if len(c.Children) == 0 {
			field := schemaField{id: c.ID, name: name, typ: c.SQLType()}
			if c.HasDefault {
				field.def = metadata.QuoteLiteral(c.InitialDefault)
			}
			fields = append(fields, field)
			values[i] = "a." + name
			continue
		}
		// Within a column the fields of a file are found by their names, which must be those of its time.
		if then == nil {
			then = s.history.at(f.begin)
		}
		if have, ok := find(then, c.ID); ok {
			fields = append(fields, schemaField{id: c.ID, name: name, typ: have.SQLType()})
		}
		values[i] = pick(c, then, func(metadata.ColumnInfo) string { return "a." + name })
	}
	return shape{source: schemaOf(fields), stamp: "a.stamp", values: values}, nil
}

// mappedShape is for files that were added as they are.
func (s *Stream) mappedShape(ctx context.Context, tx metadata.Tx, mapping int64) (shape, error) {
	rows, err := tx.Query(ctx, `SELECT target_field_id, source_name, is_partition FROM {M}ducklake_name_mapping
		WHERE mapping_id = $1 AND parent_column IS NULL ORDER BY column_id`, mapping)
	if err != nil {
		return shape{}, err
	}
	out := shape{stamp: "CAST(NULL AS BIGINT)", values: make([]string, len(s.reader.columns))}
	for i, c := range s.reader.columns {
		out.values[i] = missing(c)
	}
	for _, v := range rows {
		var r metadata.Row
		r.Take(v)
		id, name, partition := r.Int(), r.Text(), r.Bool()
		if r.Err() != nil {
			return shape{}, r.Err()
		}
		if partition {
			out.source = ", hive_partitioning = true, hive_types_autocast = false"
		}
		if i := slices.IndexFunc(s.reader.columns, func(c metadata.ColumnInfo) bool { return c.ID == id }); i >= 0 {
			out.values[i] = "CAST(a." + metadata.QuoteIdent(name) + " AS " + s.reader.columns[i].SQLType() + ")"
		}
	}
	return out, nil
}
