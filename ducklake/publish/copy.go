package publish

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/vegadb/vega-flight/ducklake/duck"
	"github.com/vegadb/vega-flight/ducklake/metadata"
	"github.com/vegadb/vega-flight/fault"
)

// defaultTargetFileBytes is DuckLake's own.
const defaultTargetFileBytes = 512 << 20

// copyOptions are the lake's options that the extension passes on to the Parquet writer.
var copyOptions = map[string]string{
	"parquet_compression":          "COMPRESSION",
	"parquet_version":              "PARQUET_VERSION",
	"parquet_compression_level":    "COMPRESSION_LEVEL",
	"parquet_row_group_size":       "ROW_GROUP_SIZE",
	"parquet_row_group_size_bytes": "ROW_GROUP_SIZE_BYTES",
	"per_thread_output":            "PER_THREAD_OUTPUT",
	"target_file_size":             "FILE_SIZE_BYTES",
}

// options reads the lake's Parquet options as they hold for a table: its own before its schema's before the lake's.
func options(ctx context.Context, tx metadata.Tx, table metadata.TableInfo) (map[string]string, error) {
	rows, err := tx.Query(ctx, `SELECT key, value, CASE scope WHEN 'table' THEN 2 WHEN 'schema' THEN 1 ELSE 0 END AS near FROM {M}ducklake_metadata
		WHERE scope IS NULL OR (scope = 'schema' AND scope_id = $1) OR (scope = 'table' AND scope_id = $2) ORDER BY near`, table.SchemaID, table.ID)
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for _, r := range rows {
		key, _ := r[0].(string)
		value, _ := r[1].(string)
		if copyOptions[key] != "" {
			out[key] = value
		}
	}
	return out, nil
}

// copyText is the COPY that writes query's rows as data files of the table into folder, as the extension's INSERT would.
func copyText(table metadata.TableInfo, query, folder string, lake map[string]string, targetBytes int64) (string, error) {
	columns, names := make([]string, len(table.Columns)), make([]string, len(table.Columns))
	for i, c := range table.Columns {
		names[i] = "c" + strconv.Itoa(i)
		columns[i] = fmt.Sprintf("CAST(%s AS %s) AS %s", names[i], c.SQLType(), metadata.QuoteIdent(c.Name))
	}
	size := targetBytes
	var extra []string
	for key, name := range copyOptions {
		value, ok := lake[key]
		switch {
		case !ok:
		case key == "target_file_size":
			n, err := strconv.ParseInt(value, 10, 64)
			if err != nil {
				return "", fault.LakeUnsupported.Newf("the lake's option target_file_size is %q", value)
			}
			if size == 0 {
				size = n
			}
		case key == "parquet_row_group_size_bytes":
			extra = append(extra, name+" "+metadata.QuoteLiteral(value+" bytes"))
		default:
			extra = append(extra, name+" "+metadata.QuoteLiteral(value))
		}
	}
	if size == 0 {
		size = defaultTargetFileBytes
	}
	return fmt.Sprintf(`COPY (SELECT %s FROM (
%s
) AS q(%s)) TO %s (FORMAT parquet, FIELD_IDS %s, GEOPARQUET_VERSION 'NONE', RETURN_STATS true, WRITE_EMPTY_FILE false,
FILE_SIZE_BYTES %d, FILENAME_PATTERN 'ducklake-{uuidv7}', OVERWRITE_OR_IGNORE true%s)`,
		strings.Join(columns, ", "), query, strings.Join(names, ", "), metadata.QuoteLiteral(folder), fieldIDs(table.Columns), size,
		strings.Join(append([]string{""}, extra...), ", ")), nil
}

// StagedFile is one data file that no commit has yet.
type StagedFile struct {
	Name   string // below the staging folder
	Rows   int64
	Bytes  int64
	Footer int64
	stats  []added
}

// readWritten reads COPY's answer: a row for each file.
func readWritten(r *duck.Reader, table metadata.TableInfo) ([]StagedFile, error) {
	leaves := map[string]leaf{}
	for _, l := range leavesOf(table.Columns) {
		leaves[l.key()] = l
	}
	var files []StagedFile
	for r.Next() {
		batch := r.RecordBatch()
		columns := map[string]arrow.Array{}
		for i, f := range batch.Schema().Fields() {
			columns[f.Name] = batch.Column(i)
		}
		stats, ok := columns["column_statistics"].(*array.Map)
		if !ok {
			return nil, fmt.Errorf("publish: COPY's answer has no column_statistics: %v", batch.Schema())
		}
		for i := range int(batch.NumRows()) {
			f := StagedFile{Name: filepath.Base(columns["filename"].ValueStr(i))}
			for name, to := range map[string]*int64{"count": &f.Rows, "file_size_bytes": &f.Bytes, "footer_size_bytes": &f.Footer} {
				n, err := strconv.ParseInt(columns[name].ValueStr(i), 10, 64)
				if err != nil {
					return nil, fmt.Errorf("publish: COPY's answer, %s: %w", name, err)
				}
				*to = n
			}
			var err error
			if f.stats, err = readFileStats(stats, i, leaves); err != nil {
				return nil, err
			}
			files = append(files, f)
		}
	}
	return files, r.Err()
}

func readFileStats(m *array.Map, i int, leaves map[string]leaf) ([]added, error) {
	var out []added
	keys, _ := m.Keys().(*array.String)
	inner, _ := m.Items().(*array.Map)
	if keys == nil || inner == nil {
		return nil, fmt.Errorf("publish: COPY's column_statistics are a %v", m.DataType())
	}
	names, _ := inner.Keys().(*array.String)
	texts, _ := inner.Items().(*array.String)
	if names == nil || texts == nil {
		return nil, fmt.Errorf("publish: COPY's column_statistics are a %v", m.DataType())
	}
	from, to := m.ValueOffsets(i)
	for j := int(from); j < int(to); j++ {
		l, ok := leaves[keys.Value(j)]
		if !ok {
			return nil, fmt.Errorf("publish: COPY gives statistics of %s, which is no column of the table", keys.Value(j))
		}
		a := added{leaf: l.id}
		first, end := inner.ValueOffsets(j)
		for k := int(first); k < int(end); k++ {
			text := strings.Clone(texts.Value(k)) // the batch's memory is freed
			var err error
			switch names.Value(k) {
			case "min":
				a.min = &text
			case "max":
				a.max = &text
			case "null_count":
				a.nulls, err = strconv.ParseInt(text, 10, 64)
			case "num_values":
				a.values, err = strconv.ParseInt(text, 10, 64)
			case "column_size_bytes":
				a.bytes, err = strconv.ParseInt(text, 10, 64)
			case "has_nan":
				nan := text == "true"
				a.nan = &nan
			default:
				err = fmt.Errorf("the statistic %q is unknown", names.Value(k))
			}
			if err != nil {
				return nil, fmt.Errorf("publish: COPY's statistics of %s: %w", l.key(), err)
			}
		}
		out = append(out, a)
	}
	return out, nil
}
