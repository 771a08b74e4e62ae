package metadata

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"github.com/vegadb/vega-flight/fault"
)

// Making is a table to be made. Of the columns, Name, Type and Children count; their ids come with the table.
type Making struct {
	Schema, Name string
	Comment      string
	Columns      []ColumnInfo
	Commit       CommitInfo
}

// Create makes an empty table, with its comment, in a snapshot of its own that other rows of the catalog can share: the extension's CREATE TABLE
// is one commit, and all that is to go with it others. The caller holds the commit lock, and makes the table for inlined rows, if there is
// to be one.
func Create(ctx context.Context, tx Tx, m Making) (s Snapshot, t TableInfo, err error) {
	if err := CheckVersion(ctx, tx); err != nil {
		return s, t, err
	}
	last, err := Latest(ctx, tx)
	if err != nil {
		return s, t, err
	}
	if t, err = m.place(ctx, tx, last.ID); err != nil {
		return s, t, err
	}
	next := last.altered()
	next.NextCatalogID++
	id, err := uuid.NewV7()
	if err != nil {
		return s, t, err
	}
	// The extension calls a folder as the table, if it can. Under its own name no other one's files are ever in it.
	t.ID, t.UUID, t.Begin, t.Path, t.PathRelative = last.NextCatalogID, id.String(), next.ID, id.String()+"/", true
	if err := next.record(ctx, tx, []string{string(CreatedTable) + ":" + QuoteIdent(t.Schema) + "." + QuoteIdent(t.Name)}, m.Commit); err != nil {
		return s, t, err
	}
	if _, err := tx.Exec(ctx, `INSERT INTO {M}ducklake_table (table_id, table_uuid, begin_snapshot, end_snapshot, schema_id, table_name, path, path_is_relative)
		VALUES ($1, $2, $3, NULL, $4, $5, $6, TRUE)`, t.ID, t.UUID, next.ID, t.SchemaID, t.Name, t.Path); err != nil {
		return s, t, err
	}
	if _, err := tx.Exec(ctx, `INSERT INTO {M}ducklake_schema_versions (begin_snapshot, schema_version, table_id) VALUES ($1, $2, $3)`,
		next.ID, next.SchemaVersion, t.ID); err != nil {
		return s, t, err
	}
	t.Columns = numbered(m.Columns, new(int64))
	var rows []string
	for _, c := range t.Columns {
		rows = c.rows(rows, next.ID, t.ID, 0)
	}
	if _, err := tx.Exec(ctx, `INSERT INTO {M}ducklake_column (column_id, begin_snapshot, end_snapshot, table_id, column_order, column_name, column_type,
		initial_default, default_value, nulls_allowed, parent_column, default_value_type, default_value_dialect) VALUES `+strings.Join(rows, ", ")); err != nil {
		return s, t, err
	}
	if m.Comment != "" {
		t.Comment = m.Comment
		err = comment(ctx, tx, t.ID, next.ID, m.Comment)
	}
	return next, t, err
}

// place finds the schema and makes sure that the name is free.
func (m Making) place(ctx context.Context, tx Tx, at int64) (t TableInfo, err error) {
	rows, err := tx.Query(ctx, `SELECT schema_id, schema_name, path, path_is_relative FROM {M}ducklake_schema WHERE end_snapshot IS NULL AND lower(schema_name) = lower($1)`, m.Schema)
	if err != nil {
		return t, err
	}
	if len(rows) == 0 {
		return t, fault.ObjectNotFound.Newf("there is no schema %s", QuoteIdent(m.Schema)).WithHint("CREATE SCHEMA %s", QuoteIdent(m.Schema))
	}
	var r Row
	r.Take(rows[0])
	t = TableInfo{SchemaID: r.Int(), Schema: r.Text(), Name: m.Name, SchemaPath: r.Text(), SchemaPathRel: r.Bool()}
	if r.Err() != nil {
		return t, r.Err()
	}
	if old, taken, err := TableByName(ctx, tx, t.Schema, m.Name, at); err != nil {
		return t, err
	} else if taken {
		return t, fault.ObjectExists.Newf("a table %s.%s exists already", QuoteIdent(t.Schema), QuoteIdent(old.Name))
	}
	return t, noView(ctx, tx, t, m.Name)
}

// noView refuses a name that a view of the table's schema has.
func noView(ctx context.Context, tx Tx, t TableInfo, name string) error {
	views, err := tx.Query(ctx, `SELECT 1 FROM {M}ducklake_view WHERE schema_id = $1 AND lower(view_name) = lower($2) AND end_snapshot IS NULL`, t.SchemaID, name)
	if err == nil && len(views) > 0 {
		err = fault.ObjectExists.Newf("a view %s.%s exists already", QuoteIdent(t.Schema), QuoteIdent(name))
	}
	return err
}

// numbered are the columns with ids, each before its parts.
func numbered(columns []ColumnInfo, last *int64) []ColumnInfo {
	out := make([]ColumnInfo, len(columns))
	for i, c := range columns {
		*last++
		out[i] = ColumnInfo{ID: *last, Name: c.Name, Type: c.Type, Nullable: true}
		if len(c.Children) > 0 {
			out[i].Children = numbered(c.Children, last)
		}
	}
	return out
}

// rows are the catalog's rows of a column and its parts.
func (c ColumnInfo) rows(out []string, at, table, parent int64) []string {
	above, kind := "NULL", "literal"
	if parent != 0 {
		above = fmt.Sprint(parent)
	}
	if len(c.Children) > 0 {
		kind = ""
	}
	out = append(out, fmt.Sprintf(`(%d, %d, NULL, %d, %d, %s, %s, NULL, 'NULL', TRUE, %s, '%s', 'duckdb')`,
		c.ID, at, table, c.ID, QuoteLiteral(c.Name), QuoteLiteral(c.Type), above, kind))
	for _, child := range c.Children {
		out = child.rows(out, at, table, c.ID)
	}
	return out
}

// LakeType is DuckLake's name of a SQL type that is not nested, as DuckDB spells it with its arguments.
func LakeType(sqlType string) string {
	for lake, sql := range sqlTypes {
		if sql == sqlType {
			return lake
		}
	}
	return strings.ToLower(sqlType)
}
