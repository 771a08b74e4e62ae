package publish

import (
	"context"
	"fmt"
	"strings"

	"github.com/vegadb/vega-flight/ducklake/duck"
	"github.com/vegadb/vega-flight/ducklake/metadata"
)

// Furnish is [Publisher.Prepare] for a table that the same transaction has made, in the snapshot at: it gets a table for inlined rows too, as the
// extension's CREATE TABLE makes one, and the row of what will be published.
func (p *Publisher) Furnish(ctx context.Context, tx metadata.Tx, table metadata.TableInfo, at metadata.Snapshot) error {
	if err := checkTypes(table); err != nil {
		return err
	}
	inlined, err := inlines(ctx, tx, table)
	if err != nil {
		return err
	}
	if inlined {
		if err := makeInlined(ctx, tx, table, at.SchemaVersion); err != nil {
			return err
		}
	}
	if err := makeInlinedDeletes(ctx, tx, table.ID); err != nil {
		return err
	}
	tx.OnCommit(func() { p.notePrepared(table.ID) })
	if _, err := tx.Exec(ctx, `INSERT INTO {M}ducklake_metadata (key, value, scope, scope_id) VALUES ('auto_compact', 'false', 'table', $1)`, table.ID); err != nil {
		return err
	}
	return registerRow(ctx, tx, table.UUID, 0, table.ID)
}

// Furnished tells this process's extension what Furnish has written: it has read the options of tables when it attached the lake, and would
// flush and merge this one. Other processes of before do not know it either; what they move is found where it lies then.
func (p *Publisher) Furnished(ctx context.Context, table metadata.TableInfo) {
	err := p.own(context.WithoutCancel(ctx), func(c *duck.Conn) error { return p.setCompact(context.WithoutCancel(ctx), c, table, false) })
	if err != nil {
		p.log.Warn("until the next start, a flush or merge of all tables moves the rows of a view", "table", table.Schema+"."+table.Name, "error", err)
	}
}

// extensionInlines is how many rows the extension inlines in a lake that does not say.
const extensionInlines = "10"

// inlines says whether the extension would keep rows of a new table in the catalog. It can for all types that are published.
func inlines(ctx context.Context, tx metadata.Tx, table metadata.TableInfo) (bool, error) {
	rows, err := tx.Query(ctx, `SELECT value FROM {M}ducklake_metadata WHERE key = 'data_inlining_row_limit' AND (scope IS NULL OR scope = 'schema' AND scope_id = $1)
		ORDER BY scope IS NULL LIMIT 1`, table.SchemaID)
	if err != nil {
		return false, err
	}
	limit := extensionInlines
	if len(rows) > 0 {
		limit, _ = rows[0][0].(string)
	}
	return limit != "0", nil
}

// makeInlined makes the table of a table's inlined rows.
func makeInlined(ctx context.Context, tx metadata.Tx, table metadata.TableInfo, schemaVersion int64) error {
	columns := make([]string, len(table.Columns))
	for i, c := range table.Columns {
		typ := c.SQLType()
		if tx.Dialect() == metadata.PostgreSQL {
			_, typ = wireType(c.Type)
		}
		columns[i] = ", " + metadata.QuoteIdent(c.Name) + " " + typ
	}
	name := fmt.Sprintf("ducklake_inlined_data_%d_%d", table.ID, schemaVersion)
	if _, err := tx.Exec(ctx, `CREATE TABLE {M}`+metadata.QuoteIdent(name)+`(row_id BIGINT, begin_snapshot BIGINT, end_snapshot BIGINT`+strings.Join(columns, "")+`)`); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, `INSERT INTO {M}ducklake_inlined_data_tables (table_id, table_name, schema_version) VALUES ($1, $2, $3)`, table.ID, name, schemaVersion)
	return err
}
