package publish

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/vegadb/vega-flight/ducklake/duck"
	"github.com/vegadb/vega-flight/ducklake/metadata"
)

// encoded is a delta's new rows, ready to be written: inlined with their statistics, or staged as files.
type encoded struct {
	rows    int64
	batches []arrow.RecordBatch // DuckDB file: written as they are
	exact   bool                // the batches have the columns' own types
	wire    []wireColumn        // PostgreSQL: as texts and bytes
	stats   []added
	staged  *Staged
}

// wireColumn is a column of inlined rows in PostgreSQL: an array parameter and the expression over it.
type wireColumn struct {
	array string // the parameter's type
	cast  string // the column's type
	texts []*string
	bytes [][]byte
}

const (
	deltaView  = "vega_delta"      // the registered batches, a view in temp.main
	deltaTable = "vega_delta_rows" // in temp.main, the same rows in the table's types, to be read more than once
)

// encode reads a delta's new rows once, computes their statistics and, for PostgreSQL, their texts, outside the
// commit lock. Many rows are staged as files.
func (p *Publisher) encode(ctx context.Context, w *work) error {
	pub := w.pub
	rows := int64(0)
	for _, b := range pub.Delta.Insert {
		if int(b.NumCols()) != len(pub.Table.Columns) {
			return fmt.Errorf("publish: %s: a batch has %d columns, the table %d", pub.name(), b.NumCols(), len(pub.Table.Columns))
		}
		rows += b.NumRows()
	}
	w.enc = &encoded{rows: rows}
	if files := pub.Delta.Files; files != nil {
		w.enc.rows, w.enc.staged = files.Rows, files
		return nil
	}
	if rows == 0 {
		return nil
	}
	many := rows > int64(p.InlineRows) || w.into.name == ""
	if !many && p.Store.Dialect() == metadata.DuckDB {
		if stats, ok := exactStats(pub.Table, pub.Delta.Insert); ok {
			w.enc.batches, w.enc.stats, w.enc.exact = pub.Delta.Insert, stats, true
			return nil
		}
	}
	return p.own(ctx, func(c *duck.Conn) (err error) {
		reader, err := array.NewRecordReader(pub.Delta.Insert[0].Schema(), pub.Delta.Insert)
		if err != nil {
			return err
		}
		defer reader.Release()
		release, err := c.RegisterArrow(deltaView, reader)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, release()) }()
		if many {
			return p.stageDelta(ctx, c, w, deltaView)
		}
		w.enc.batches = pub.Delta.Insert
		return p.encodeInlined(ctx, c, w)
	})
}

// stageDelta makes files of a delta's rows.
func (p *Publisher) stageDelta(ctx context.Context, c *duck.Conn, w *work, from string) (err error) {
	w.enc.staged, err = p.Stage(ctx, c, StageSpec{Table: w.pub.Table, Query: `SELECT * FROM temp.main.` + from, JobID: w.pub.CommitID, Owner: w.pub.Owner}, nil)
	return err
}

func (p *Publisher) encodeInlined(ctx context.Context, c *duck.Conn, w *work) (err error) {
	table := w.pub.Table
	if p.Store.Dialect() == metadata.DuckDB && isFlat(table) {
		w.enc.stats, err = flatStats(ctx, c, table)
		return err
	}
	columns := make([]string, len(table.Columns))
	for i, col := range table.Columns {
		columns[i] = fmt.Sprintf("CAST(c%d AS %s) AS c%d", i, col.SQLType(), i)
	}
	_, err = c.Exec(ctx, `CREATE OR REPLACE TEMP TABLE `+deltaTable+` AS SELECT `+strings.Join(columns, ", ")+` FROM temp.main.`+deltaView+` AS q(`+positions(len(columns))+`)`)
	if err != nil {
		return err
	}
	defer func() {
		_, dropErr := c.Exec(context.WithoutCancel(ctx), `DROP TABLE IF EXISTS temp.main.`+deltaTable)
		err = errors.Join(err, dropErr)
	}()
	if p.Store.Dialect() == metadata.PostgreSQL {
		ok, err := readBack(ctx, c, table)
		if err != nil {
			return err
		}
		if !ok {
			return p.stageDelta(ctx, c, w, deltaTable)
		}
		if w.enc.wire, err = wireColumns(ctx, c, table); err != nil {
			return err
		}
	}
	w.enc.stats, err = inlinedStats(ctx, c, table)
	return err
}

// readBack reports whether the nested values, which PostgreSQL catalogs have as DuckDB's text, are read back as they are.
// DuckDB cannot do that with all texts inside two levels of nesting, and a value that it cannot read makes the whole table unreadable. PostgreSQL has no
// zero bytes in texts.
func readBack(ctx context.Context, c *duck.Conn, table metadata.TableInfo) (bool, error) {
	var checks []string
	for i, col := range table.Columns {
		if len(col.Children) > 0 {
			checks = append(checks, fmt.Sprintf("TRY_CAST(CAST(c%[1]d AS VARCHAR) AS %[2]s) IS NOT DISTINCT FROM c%[1]d AND strpos(coalesce(CAST(c%[1]d AS VARCHAR), ''), chr(0)) = 0",
				i, col.SQLType()))
		}
	}
	if len(checks) == 0 {
		return true, nil
	}
	rows, err := c.Rows(ctx, `SELECT count(*) FROM temp.main.`+deltaTable+` WHERE NOT (`+strings.Join(checks, ` AND `)+`)`)
	if err != nil {
		return false, err
	}
	n, ok := rows[0][0].(int64)
	return ok && n == 0, nil
}

func positions(n int) string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("c%d", i)
	}
	return strings.Join(names, ", ")
}

// inlinedStats computes the statistics of the rows in deltaTable, leaf by leaf, in one query.
func inlinedStats(ctx context.Context, c *duck.Conn, table metadata.TableInfo) ([]added, error) {
	leaves := leavesOf(table.Columns)
	parts := make([]string, len(leaves))
	for i, l := range leaves {
		from := "SELECT " + topOf(table.Columns, l) + " AS v FROM temp.main." + deltaTable
		for _, s := range l.steps {
			switch s.kind {
			case "struct":
				from = "SELECT struct_extract(v, " + metadata.QuoteLiteral(s.name) + ") AS v FROM (" + from + ")"
			case "list":
				from = "SELECT unnest(v) AS v FROM (" + from + ")"
			case "key":
				from = "SELECT unnest(map_keys(v)) AS v FROM (" + from + ")"
			case "value":
				from = "SELECT unnest(map_values(v)) AS v FROM (" + from + ")"
			}
		}
		low, high, nan := bounds("v", l.typ)
		parts[i] = fmt.Sprintf("SELECT %d, count(*), count(*) - count(v), %s, %s, %s FROM (%s)", i, low, high, nan, from)
	}
	rows, err := c.Rows(ctx, strings.Join(parts, " UNION ALL "))
	if err != nil {
		return nil, err
	}
	out := make([]added, len(leaves))
	for _, r := range rows {
		i, ok := r[0].(int64)
		if !ok {
			return nil, fmt.Errorf("publish: statistics of a delta: %v", r)
		}
		out[i] = scanAdded(leaves[i].id, r[1:])
	}
	return out, nil
}

// bounds are the expressions of a column's least and greatest value, as texts, and of whether it has a NaN.
func bounds(v, typ string) (low, high, nan string) {
	switch orderOf(typ) {
	case unordered:
		return "NULL::VARCHAR", "NULL::VARCHAR", "NULL::BOOLEAN"
	case byFloat:
		return fmt.Sprintf("CAST(min(%[1]s) FILTER (NOT isnan(%[1]s)) AS VARCHAR)", v), fmt.Sprintf("CAST(max(%[1]s) FILTER (NOT isnan(%[1]s)) AS VARCHAR)", v),
			fmt.Sprintf("coalesce(bool_or(isnan(%s)), false)", v)
	}
	low, high = fmt.Sprintf("CAST(min(%s) AS VARCHAR)", v), fmt.Sprintf("CAST(max(%s) AS VARCHAR)", v)
	if typ == "json" { // compared as text, as in the catalog
		low, high = fmt.Sprintf("min(CAST(%s AS VARCHAR))", v), fmt.Sprintf("max(CAST(%s AS VARCHAR))", v)
	}
	return low, high, "NULL::BOOLEAN"
}

// scanAdded reads values, nulls, min, max and nan of a leaf.
func scanAdded(leaf int64, r []any) added {
	a := added{leaf: leaf, min: optional[string](r[2]), max: optional[string](r[3]), nan: optional[bool](r[4])}
	a.values, _ = r[0].(int64)
	a.nulls, _ = r[1].(int64)
	return a
}

// isFlat reports whether no column is nested.
func isFlat(table metadata.TableInfo) bool {
	for _, c := range table.Columns {
		if len(c.Children) > 0 {
			return false
		}
	}
	return true
}

// flatStats computes the statistics of a delta whose columns are not nested, in one pass over the registered rows.
func flatStats(ctx context.Context, c *duck.Conn, table metadata.TableInfo) ([]added, error) {
	casts, parts := make([]string, len(table.Columns)), make([]string, 0, 5*len(table.Columns))
	for i, col := range table.Columns {
		casts[i] = fmt.Sprintf("CAST(c%d AS %s) AS c%d", i, col.SQLType(), i)
		v := fmt.Sprintf("c%d", i)
		low, high, nan := bounds(v, col.Type)
		parts = append(parts, "count(*)", fmt.Sprintf("count(*) - count(%s)", v), low, high, nan)
	}
	rows, err := c.Rows(ctx, `SELECT `+strings.Join(parts, ", ")+` FROM (SELECT `+strings.Join(casts, ", ")+
		` FROM temp.main.`+deltaView+` AS q(`+positions(len(casts))+`))`)
	if err != nil {
		return nil, err
	}
	out := make([]added, len(table.Columns))
	for i, col := range table.Columns {
		out[i] = scanAdded(col.ID, rows[0][5*i:5*i+5])
	}
	return out, nil
}

// topOf is the column of deltaTable that a leaf is in.
func topOf(columns []metadata.ColumnInfo, l leaf) string {
	for i, c := range columns {
		if c.Name == l.path[0] {
			return fmt.Sprintf("c%d", i)
		}
	}
	return "NULL"
}

// wireTypes are the columns of inlined rows in a PostgreSQL catalog, as the extension makes and reads them: PostgreSQL's own type where its
// range is not less than DuckDB's, else text, and bytes for texts, which may hold zero bytes.
func wireType(typ string) (array, cast string) {
	switch typ {
	case "varchar", "json", "blob":
		return "bytea[]", "bytea"
	case "boolean":
		return "text[]", "boolean"
	case "int8", "int16":
		return "text[]", "smallint"
	case "int32", "uint8", "uint16":
		return "text[]", "integer"
	case "int64", "uint32":
		return "text[]", "bigint"
	case "float32":
		return "text[]", "real"
	case "float64":
		return "text[]", "double precision"
	case "time":
		return "text[]", "time"
	case "uuid":
		return "text[]", "uuid"
	}
	if strings.HasPrefix(typ, "decimal(") {
		return "text[]", typ
	}
	return "text[]", "varchar" // uint64, dates and timestamps, nested values
}

// wireColumns reads the rows of deltaTable as texts and bytes.
func wireColumns(ctx context.Context, c *duck.Conn, table metadata.TableInfo) ([]wireColumn, error) {
	out := make([]wireColumn, len(table.Columns))
	exprs := make([]string, len(table.Columns))
	for i, col := range table.Columns {
		out[i].array, out[i].cast = wireType(col.Type)
		switch {
		case col.Type == "blob":
			exprs[i] = fmt.Sprintf("c%d", i)
		case out[i].array == "bytea[]":
			exprs[i] = fmt.Sprintf("encode(CAST(c%d AS VARCHAR))", i)
		default:
			exprs[i] = fmt.Sprintf("CAST(c%d AS VARCHAR)", i)
		}
	}
	rows, err := c.Rows(ctx, `SELECT `+strings.Join(exprs, ", ")+` FROM temp.main.`+deltaTable)
	if err != nil {
		return nil, err
	}
	for _, r := range rows {
		for i, v := range r {
			col := &out[i]
			if col.array == "bytea[]" {
				b, _ := v.([]byte)
				col.bytes = append(col.bytes, b)
				continue
			}
			var text *string
			switch x := v.(type) {
			case nil:
			case string:
				text = &x
			case *big.Int:
				s := x.String()
				text = &s
			default:
				return nil, fmt.Errorf("publish: a text came as %T", v)
			}
			col.texts = append(col.texts, text)
		}
	}
	return out, nil
}
