package metadata

import (
	"context"
	"path/filepath"
	"strings"
)

// TableInfo is a lake table as of one snapshot.
type TableInfo struct {
	ID            int64
	UUID          string
	SchemaID      int64
	Schema        string
	Name          string
	Path          string // below the schema's path, or absolute; empty for none
	PathRelative  bool
	SchemaPath    string // of its schema, below the data path, or absolute
	SchemaPathRel bool
	Begin         int64 // the snapshot that made this version of the row (creation or rename)
	Columns       []ColumnInfo
	Comment       string
}

// Dir is the folder of the table's files, when the lake's are below dataPath.
func (t TableInfo) Dir(dataPath string) string {
	dir := dataPath
	for _, part := range []struct {
		path     string
		relative bool
	}{{t.SchemaPath, t.SchemaPathRel}, {t.Path, t.PathRelative}} {
		if part.relative {
			dir = filepath.Join(dir, part.path)
		} else if part.path != "" {
			dir = filepath.Clean(part.path)
		}
	}
	return dir
}

// ColumnInfo is a column, or a child of a nested one, in DuckLake's words.
type ColumnInfo struct {
	ID             int64 // the field id in Parquet files
	Name           string
	Type           string // DuckLake's name: int64, decimal(10,2), list, …
	InitialDefault string // the literal that rows older than the column have; HasDefault tells it from NULL
	HasDefault     bool
	Default        string // the SQL expression that a column left out of an INSERT gets; "" for NULL
	Nullable       bool
	Children       []ColumnInfo
	Comment        string
}

// Column finds a top-level column by its name, as DuckDB does: without regard to case.
func (t TableInfo) Column(name string) (ColumnInfo, bool) {
	for _, c := range t.Columns {
		if strings.EqualFold(c.Name, name) {
			return c, true
		}
	}
	return ColumnInfo{}, false
}

// SQLType is the column's type in SQL.
func (c ColumnInfo) SQLType() string {
	child := func(i int) string {
		if i < len(c.Children) {
			return c.Children[i].SQLType()
		}
		return "NULL"
	}
	switch c.Type {
	case "list":
		return child(0) + "[]"
	case "map":
		return "MAP(" + child(0) + ", " + child(1) + ")"
	case "struct":
		fields := make([]string, len(c.Children))
		for i, f := range c.Children {
			fields[i] = QuoteIdent(f.Name) + " " + f.SQLType()
		}
		return "STRUCT(" + strings.Join(fields, ", ") + ")"
	}
	if name, ok := sqlTypes[c.Type]; ok {
		return name
	}
	return strings.ToUpper(c.Type)
}

var sqlTypes = map[string]string{
	"boolean": "BOOLEAN", "int8": "TINYINT", "int16": "SMALLINT", "int32": "INTEGER", "int64": "BIGINT", "int128": "HUGEINT",
	"uint8": "UTINYINT", "uint16": "USMALLINT", "uint32": "UINTEGER", "uint64": "UBIGINT", "uint128": "UHUGEINT",
	"float32": "FLOAT", "float64": "DOUBLE", "time": "TIME", "timetz": "TIME WITH TIME ZONE", "time_ns": "TIME_NS", "date": "DATE",
	"timestamp": "TIMESTAMP", "timestamptz": "TIMESTAMP WITH TIME ZONE", "timestamp_s": "TIMESTAMP_S",
	"timestamp_ms": "TIMESTAMP_MS", "timestamp_ns": "TIMESTAMP_NS", "interval": "INTERVAL", "varchar": "VARCHAR", "blob": "BLOB",
	"uuid": "UUID", "json": "JSON", "geometry": "GEOMETRY", "variant": "VARIANT",
}

// Filter says which tables to read; the zero value is all of the newest snapshot.
type Filter struct {
	At     int64  // a snapshot id; 0 is the newest
	ID     int64  // one table by id; 0 is any
	Schema string // with Name: one table by name, compared as DuckDB does
	Name   string
}

// Tables reads the lake tables that exist at a snapshot, ordered by schema and name.
func Tables(ctx context.Context, tx Tx, f Filter) ([]TableInfo, error) {
	at := f.At
	if at == 0 {
		newest, err := Latest(ctx, tx)
		if err != nil {
			return nil, err
		}
		at = newest.ID
	}
	where, args := "", []any{at}
	if f.ID != 0 {
		where += ` AND t.table_id = $2`
		args = append(args, f.ID)
	} else if f.Name != "" {
		where += ` AND lower(s.schema_name) = lower($2) AND lower(t.table_name) = lower($3)`
		args = append(args, f.Schema, f.Name)
	}
	rows, err := tx.Query(ctx, `SELECT t.table_id, CAST(t.table_uuid AS VARCHAR), s.schema_id, s.schema_name, t.table_name,
			t.path, t.path_is_relative, s.path, s.path_is_relative, t.begin_snapshot, g.value
		FROM {M}ducklake_table t
		JOIN {M}ducklake_schema s ON s.schema_id = t.schema_id AND s.begin_snapshot <= $1 AND (s.end_snapshot IS NULL OR s.end_snapshot > $1)
		LEFT JOIN {M}ducklake_tag g ON g.object_id = t.table_id AND g.key = 'comment' AND g.begin_snapshot <= $1 AND (g.end_snapshot IS NULL OR g.end_snapshot > $1)
		WHERE t.begin_snapshot <= $1 AND (t.end_snapshot IS NULL OR t.end_snapshot > $1)`+where+` ORDER BY s.schema_name, t.table_name`, args...)
	if err != nil {
		return nil, err
	}
	out := make([]TableInfo, 0, len(rows))
	index := map[int64]int{}
	for _, v := range rows {
		var r Row
		r.Take(v)
		t := TableInfo{ID: r.Int(), UUID: r.Text(), SchemaID: r.Int(), Schema: r.Text(), Name: r.Text(), Path: r.Text(), PathRelative: r.Bool(),
			SchemaPath: r.Text(), SchemaPathRel: r.Bool(), Begin: r.Int(), Comment: r.Text()}
		if r.Err() != nil {
			return nil, r.Err()
		}
		index[t.ID] = len(out)
		out = append(out, t)
	}
	one := int64(0)
	if len(out) == 1 {
		one = out[0].ID
	}
	if len(out) == 0 {
		return out, nil
	}
	columns, err := columnsAt(ctx, tx, at, one)
	if err != nil {
		return nil, err
	}
	for id, cols := range columns {
		if i, ok := index[id]; ok {
			out[i].Columns = cols
		}
	}
	return out, nil
}

// TableByID is one table at a snapshot (0: the newest); found is false when it does not exist there.
func TableByID(ctx context.Context, tx Tx, id, at int64) (t TableInfo, found bool, err error) {
	all, err := Tables(ctx, tx, Filter{ID: id, At: at})
	if err != nil || len(all) == 0 {
		return TableInfo{}, false, err
	}
	return all[0], true, nil
}

// TableByName is one table at a snapshot (0: the newest); found is false when it does not exist there.
func TableByName(ctx context.Context, tx Tx, schema, name string, at int64) (t TableInfo, found bool, err error) {
	all, err := Tables(ctx, tx, Filter{Schema: schema, Name: name, At: at})
	if err != nil || len(all) == 0 {
		return TableInfo{}, false, err
	}
	return all[0], true, nil
}

// columnsAt reads the columns of one table (0: of all), children below their parents, in their order.
func columnsAt(ctx context.Context, tx Tx, at, table int64) (map[int64][]ColumnInfo, error) {
	where, args := "", []any{at}
	if table != 0 {
		where, args = ` AND c.table_id = $2`, append(args, table)
	}
	rows, err := tx.Query(ctx, `SELECT c.table_id, c.column_id, c.parent_column, c.column_name, c.column_type, c.initial_default, c.default_value, c.default_value_type, c.nulls_allowed, g.value
		FROM {M}ducklake_column c
		LEFT JOIN {M}ducklake_column_tag g ON g.table_id = c.table_id AND g.column_id = c.column_id AND g.key = 'comment'
			AND g.begin_snapshot <= $1 AND (g.end_snapshot IS NULL OR g.end_snapshot > $1)
		WHERE c.begin_snapshot <= $1 AND (c.end_snapshot IS NULL OR c.end_snapshot > $1)`+where+`
		ORDER BY c.table_id, c.column_order, c.column_id`, args...)
	if err != nil {
		return nil, err
	}
	type child struct {
		column ColumnInfo
		parent int64
	}
	byTable := map[int64][]child{}
	for _, v := range rows {
		var r Row
		r.Take(v)
		id := r.Int()
		c := child{column: ColumnInfo{ID: r.Int()}, parent: r.NullInt(0)}
		c.column.Name, c.column.Type = r.Text(), r.Text()
		if def := r.Next(); def != nil {
			c.column.HasDefault = true
			c.column.InitialDefault, _ = def.(string)
		}
		value, kind := r.Text(), r.Text()
		if value != "" && value != "NULL" {
			c.column.Default = value
			if kind == "literal" {
				c.column.Default = `CAST(` + QuoteLiteral(value) + ` AS ` + c.column.SQLType() + `)`
			}
		}
		c.column.Nullable, c.column.Comment = r.Bool(), r.Text()
		if r.Err() != nil {
			return nil, r.Err()
		}
		byTable[id] = append(byTable[id], c)
	}
	out := make(map[int64][]ColumnInfo, len(byTable))
	for id, all := range byTable {
		var below func(parent int64) []ColumnInfo
		below = func(parent int64) []ColumnInfo {
			var cols []ColumnInfo
			for _, c := range all {
				if c.parent == parent {
					c.column.Children = below(c.column.ID)
					cols = append(cols, c.column)
				}
			}
			return cols
		}
		out[id] = below(0)
	}
	return out, nil
}
