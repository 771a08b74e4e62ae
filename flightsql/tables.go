package flightsql

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql/schema_ref"

	"github.com/vegadb/vega-flight/ducklake"
	"github.com/vegadb/vega-flight/ducklake/duck"
	"github.com/vegadb/vega-flight/ducklake/gate"
	"github.com/vegadb/vega-flight/ivm/catalog"
)

// tableKey names a table.
type tableKey struct{ catalog, schema, name string }

// tableEntry is a table or view of the list.
type tableEntry struct {
	tableKey
	kind     string
	required map[string]bool // columns that are never NULL
}

// equalNames compares identifiers as SQL does.
func equalNames(a, b string) bool { return strings.EqualFold(a, b) }

// GetFlightInfoTables describes the list of tables.
func (s *Service) GetFlightInfoTables(_ context.Context, cmd flightsql.GetTables, desc *flight.FlightDescriptor) (*flight.FlightInfo, error) {
	return s.listing(desc, tablesSchema(cmd)), nil
}

func tablesSchema(cmd flightsql.GetTables) *arrow.Schema {
	if cmd.GetIncludeSchema() {
		return schema_ref.TablesWithIncludedSchema
	}
	return schema_ref.Tables
}

// DoGetTables lists tables and views in one batch: clients that look for one
// table's schema read no further.
func (s *Service) DoGetTables(ctx context.Context, cmd flightsql.GetTables) (*arrow.Schema, <-chan flight.StreamChunk, error) {
	sess, err := s.session(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer sess.done()
	entries, err := s.tables(ctx, sess, cmd)
	if err != nil {
		return nil, nil, err
	}
	b := array.NewRecordBuilder(s.Alloc, tablesSchema(cmd))
	defer b.Release()
	var schemas map[tableKey][]byte
	if cmd.GetIncludeSchema() {
		if schemas, err = s.tableSchemas(ctx, sess, entries); err != nil {
			return nil, nil, err
		}
	}
	for _, e := range entries {
		if cmd.GetIncludeSchema() {
			schema, readable := schemas[e.tableKey]
			if !readable {
				continue // dropped since it was listed
			}
			b.Field(4).(*array.BinaryBuilder).Append(schema)
		}
		b.Field(0).(*array.StringBuilder).Append(e.catalog)
		b.Field(1).(*array.StringBuilder).Append(e.schema)
		b.Field(2).(*array.StringBuilder).Append(e.name)
		b.Field(3).(*array.StringBuilder).Append(e.kind)
	}
	return s.list(ctx, b.NewRecordBatch())
}

// tables are those that the command asks for, in order.
func (s *Service) tables(ctx context.Context, sess *session, cmd flightsql.GetTables) ([]tableEntry, error) {
	all, err := s.lakeTables(ctx)
	if err != nil {
		return nil, err
	}
	own, err := sess.temporaryTables(ctx)
	if err != nil {
		return nil, err
	}
	inSchema, named, kinds := pattern{cmd.GetDBSchemaFilterPattern()}, pattern{cmd.GetTableNameFilterPattern()}, cmd.GetTableTypes()
	var out []tableEntry
	for _, e := range append(all, own...) {
		if inCatalog(cmd.GetCatalog(), e.catalog) && inSchema.matches(e.schema) && named.matches(e.name) &&
			(len(kinds) == 0 || slices.Contains(kinds, e.kind)) {
			out = append(out, e)
		}
	}
	slices.SortFunc(out, func(a, b tableEntry) int {
		return slices.Compare([]string{a.catalog, a.schema, a.name, a.kind}, []string{b.catalog, b.schema, b.name, b.kind})
	})
	return out, nil
}

// listed is the catalog of the lake as of one moment.
func (s *Service) listed(ctx context.Context) (*gate.Objects, error) {
	const nothingYet = -1
	return s.lake.Objects(ctx, nothingYet)
}

// lakeTables are the tables and views of the visible catalogs.
func (s *Service) lakeTables(ctx context.Context) ([]tableEntry, error) {
	kinds, err := s.viewKinds(ctx)
	if err != nil {
		return nil, err
	}
	objects, err := s.listed(ctx)
	if err != nil {
		return nil, err
	}
	var entries []tableEntry
	for _, t := range objects.Tables {
		kind := typeTable
		if k := kinds[t.UUID]; k != "" {
			kind = k
		}
		required := map[string]bool{}
		for _, c := range t.Columns {
			required[c.Name] = c.NotNull
		}
		entries = append(entries, tableEntry{tableKey{s.lake.Name(), t.Schema, t.Name}, kind, required})
	}
	for _, v := range objects.Views {
		entries = append(entries, tableEntry{tableKey{s.lake.Name(), v.Schema, v.Name}, typeView, nil})
	}
	conn, release, err := s.lake.Acquire(ctx, ducklake.Aside(""))
	if err != nil {
		return nil, err
	}
	defer release()
	rows, err := conn.Rows(ctx, `SELECT table_name FROM duckdb_tables() WHERE database_name = ?`, vegaCatalog)
	for _, row := range rows {
		entries = append(entries, tableEntry{tableKey{vegaCatalog, "main", row[0].(string)}, typeTable, nil})
	}
	return entries, err
}

// tableSchemas are the columns of the tables as a SELECT gives them, with what
// is known of each; a table that cannot be read any more is left out.
func (s *Service) tableSchemas(ctx context.Context, sess *session, entries []tableEntry) (map[tableKey][]byte, error) {
	out := make(map[tableKey][]byte, len(entries))
	describe := func(conn *duck.Conn, want func(tableEntry) bool) error {
		for _, e := range entries {
			if !want(e) {
				continue
			}
			schema, err := selectSchema(ctx, conn, e.tableKey)
			if err != nil {
				if ctx.Err() != nil {
					return ctx.Err()
				}
				var d *duck.Error
				if !errors.As(err, &d) {
					return err
				}
				if e.kind != typeView {
					continue
				}
				schema = emptySchema // a view whose sources are gone still is in the list
			}
			out[e.tableKey] = flight.SerializeSchema(columnSchema(e, schema), s.Alloc)
		}
		return nil
	}
	conn, release, err := s.lake.Acquire(ctx, ducklake.Aside(""))
	if err != nil {
		return nil, err
	}
	defer release()
	if err := describe(conn, func(e tableEntry) bool { return e.catalog != tempCatalog }); err != nil {
		return nil, err
	}
	if slices.ContainsFunc(entries, func(e tableEntry) bool { return e.catalog == tempCatalog }) {
		err = sess.lake.Own(ctx, func(conn *duck.Conn) error {
			return describe(conn, func(e tableEntry) bool { return e.catalog == tempCatalog })
		})
	}
	return out, err
}

// selectSchema is the schema of all rows of a table.
func selectSchema(ctx context.Context, conn *duck.Conn, t tableKey) (*arrow.Schema, error) {
	stmt, err := conn.Prepare(ctx, "SELECT * FROM "+quoted(t.catalog)+"."+quoted(t.schema)+"."+quoted(t.name))
	if err != nil {
		return nil, err
	}
	defer stmt.Close()
	return stmt.Schema()
}

func quoted(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// columnSchema adds to a table's schema what the protocol can say of columns.
func columnSchema(t tableEntry, schema *arrow.Schema) *arrow.Schema {
	fields := make([]arrow.Field, schema.NumFields())
	for i, f := range schema.Fields() {
		sql, _ := f.Metadata.GetValue(duck.TypeNameKey)
		m := flightsql.NewColumnMetadataBuilder().CatalogName(t.catalog).SchemaName(t.schema).TableName(t.name).TypeName(sql).
			IsAutoIncrement(false).IsCaseSensitive(false).IsReadOnly(false).IsSearchable(true)
		if precision, scale, ok := decimal(sql); ok {
			m.Precision(precision).Scale(scale)
		}
		f.Nullable = !t.required[f.Name]
		f.Metadata = m.Metadata()
		fields[i] = f
	}
	return arrow.NewSchema(fields, nil)
}

// temporaryTables are the session's own tables and views.
func (sess *session) temporaryTables(ctx context.Context) (entries []tableEntry, err error) {
	err = sess.lake.Own(ctx, func(conn *duck.Conn) error {
		rows, err := conn.Rows(ctx, `SELECT schema_name, table_name FROM duckdb_tables() WHERE database_name = 'temp'
			UNION ALL SELECT schema_name, view_name FROM duckdb_views() WHERE database_name = 'temp' AND NOT internal`)
		for _, row := range rows {
			entries = append(entries, tableEntry{tableKey{tempCatalog, row[0].(string), row[1].(string)}, typeTemporary, nil})
		}
		return err
	})
	return entries, err
}

// viewKinds are the types of those tables that are views of ours, by uuid.
func (s *Service) viewKinds(ctx context.Context) (map[string]string, error) {
	kinds, err := s.engine.ViewKinds(ctx)
	if err != nil {
		return nil, err
	}
	out := make(map[string]string, len(kinds))
	for uuid, kind := range kinds {
		out[uuid] = typeMatView
		if kind != catalog.Traditional {
			out[uuid] = typeStreaming
		}
	}
	return out, nil
}
