package publish

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/vegadb/vega-flight/ducklake/duck"
	"github.com/vegadb/vega-flight/ducklake/metadata"
)

// Located gives a table's rows with their locations, batch by batch: the batch has the asked columns, locations has an
// entry for each row.
type Located func(batch arrow.RecordBatch, locations []Location) error

// Locate reads the table's rows and where each of them lies, at the newest snapshot, which it returns. columns are
// SQL expressions over the table; where, if not empty, is a condition.
func (p *Publisher) Locate(ctx context.Context, conn *duck.Conn, table metadata.TableInfo, columns []string, where string, each Located) (seen int64, err error) {
	end := context.WithoutCancel(ctx)
	if _, err := conn.Exec(ctx, `BEGIN`); err != nil {
		return 0, err
	}
	defer func() {
		_, e := conn.Exec(end, `ROLLBACK`)
		err = errors.Join(err, e)
	}()
	// The transaction reads one snapshot from here on; the files are looked up as of the same one.
	rows, err := conn.Rows(ctx, `SELECT id FROM `+metadata.QuoteIdent(p.Lake)+`.current_snapshot()`)
	if err != nil {
		return 0, err
	}
	seen, ok := rows[0][0].(int64)
	if !ok {
		return 0, fmt.Errorf("publish: the current snapshot came as %T", rows[0][0])
	}
	files := map[string]int64{}
	err = p.Store.View(ctx, func(tx metadata.Tx) error {
		rows, err := tx.Query(ctx, `SELECT data_file_id, path, path_is_relative FROM {M}ducklake_data_file
			WHERE table_id = $1 AND begin_snapshot <= $2 AND (end_snapshot IS NULL OR end_snapshot > $2)`, table.ID, seen)
		for _, r := range rows {
			id, _ := r[0].(int64)
			path, _ := r[1].(string)
			if relative, _ := r[2].(bool); relative {
				path = filepath.Join(p.tableDir(table), path)
			}
			files[filepath.Clean(path)] = id
		}
		return err
	})
	if err != nil {
		return 0, err
	}
	head := ""
	if len(columns) > 0 {
		head = strings.Join(columns, ", ") + ", "
	}
	if where != "" {
		where = " WHERE " + where
	}
	r, err := conn.Query(ctx, `SELECT `+head+`rowid, `+fileNumber(files)+`, file_row_number FROM `+metadata.QuoteIdent(p.Lake)+`.`+
		metadata.QuoteIdent(table.Schema)+`.`+metadata.QuoteIdent(table.Name)+where)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	for r.Next() {
		if err := locateBatch(r.RecordBatch(), len(columns), files, each); err != nil {
			return 0, err
		}
	}
	return seen, r.Err()
}

// fewFiles is how many files are told apart by DuckDB, which has a file's name once for many rows. It compares names one after the other.
const fewFiles = 32

// unknownFile is the number of a data file that is not in the catalog.
const unknownFile = Inlined - 1

// fileNumber is an expression for the number of the file that a row lies in, or for the file's name.
func fileNumber(files map[string]int64) string {
	var whens strings.Builder
	known := map[string]bool{}
	for path, id := range files {
		name := filepath.Base(path)
		known[name] = true
		fmt.Fprintf(&whens, ` WHEN %s THEN %d`, metadata.QuoteLiteral(name), id)
	}
	if len(files) == 0 || len(files) > fewFiles || len(known) < len(files) {
		return `filename`
	}
	return fmt.Sprintf(`CAST(CASE parse_filename(filename)%s ELSE CASE WHEN filename LIKE '%%.parquet' THEN %d ELSE %d END END AS BIGINT)`, whens.String(), unknownFile, Inlined)
}

func locateBatch(batch arrow.RecordBatch, width int, files map[string]int64, each Located) error {
	ids, ok1 := batch.Column(width).(*array.Int64)
	positions, ok2 := batch.Column(width + 2).(*array.Int64)
	if !ok1 || !ok2 {
		return fmt.Errorf("publish: locations came as %v", batch.Schema())
	}
	out := make([]Location, batch.NumRows())
	put := func(i int, file int64) {
		if file == Inlined {
			out[i] = Location{File: Inlined, Position: ids.Value(i)}
		} else {
			out[i] = Location{File: file, Position: positions.Value(i)}
		}
	}
	switch in := batch.Column(width + 1).(type) {
	case *array.Int64:
		for i := range out {
			file := in.Value(i)
			if file == unknownFile {
				return fmt.Errorf("publish: rows lie in a file that is not in the catalog")
			}
			put(i, file)
		}
	case *array.String:
		last, file := "", int64(Inlined) // the rows of a file come one after the other
		for i := range out {
			if name := in.Value(i); name != last {
				last, file = name, Inlined
				if strings.HasSuffix(name, ".parquet") {
					id, ok := files[filepath.Clean(name)]
					if !ok {
						return fmt.Errorf("publish: the file %s is not in the catalog", name)
					}
					file = id
				}
			}
			put(i, file)
		}
	default:
		return fmt.Errorf("publish: locations came as %v", batch.Schema())
	}
	fields := batch.Schema().Fields()[:width]
	part := array.NewRecordBatch(arrow.NewSchema(fields, nil), batch.Columns()[:width], batch.NumRows())
	defer part.Release()
	return each(part, out)
}
