package ducklake

import (
	"context"
	"strings"
)

// listings are DuckDB's functions that list objects, with what a row must be like to be shown. What users see of a
// catalog, SHOW TABLES, information_schema and pg_catalog as well, comes from them.
var listings = []struct{ function, shown string }{
	{"duckdb_tables", unhidden("table_name")},
	{"duckdb_views", unhidden("view_name")},
	{"duckdb_columns", unhidden("table_name")},
	{"duckdb_constraints", unhidden("table_name")},
	{"duckdb_functions", `NOT (database_name = 'temp' AND function_name IN ('duckdb_tables', 'duckdb_views', 'duckdb_columns',
		'duckdb_constraints', 'duckdb_functions'))`},
}

// unhidden is true of names that are not of tables being built.
func unhidden(column string) string {
	return `NOT starts_with(lower(` + column + `), '` + hiddenPrefix + `')`
}

// listingMacros put a filter before each listing: macros of the connection, which DuckDB finds first by their names,
// also where its own views use the functions.
var listingMacros = func() string {
	var b strings.Builder
	for _, l := range listings {
		b.WriteString(`CREATE OR REPLACE TEMP MACRO ` + l.function + `() AS TABLE SELECT * FROM system.main.` + l.function + `() WHERE ` + l.shown + `; `)
	}
	return b.String()
}()

// hideBuilds makes tables that are being built invisible on the connection, once.
func (c *connection) hideBuilds(ctx context.Context) error {
	if c.hides {
		return nil
	}
	_, err := c.Exec(ctx, listingMacros)
	c.hides = err == nil
	return err
}
