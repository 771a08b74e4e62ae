package gate

import (
	"strings"

	"github.com/vegadb/vega-flight/fault"
)

// CheckTableName refuses names of tables and views that could be taken for a file's, or that nothing could read, whoever makes them.
func CheckTableName(name string) error {
	if err := oneLine(name); err != nil {
		return err
	}
	if fileLike(name) {
		return fault.ReservedName.Newf("the name %s could be taken for a file's", name).
			WithHint("names must not have slashes, wildcards or the endings of data files")
	}
	return nil
}

// oneLine refuses names with line breaks: plans say these as several names, and what a statement reads could not be told from them.
func oneLine(name string) error {
	if strings.ContainsAny(name, "\n\r") {
		return fault.ReservedName.Newf("the name %q has a line break; names of tables, views and schemas have one line", name)
	}
	return nil
}

// fileLike says that DuckDB could take a table of that name for a file when the table is gone.
func fileLike(name string) bool {
	n := lower(name)
	if strings.ContainsAny(n, `/\*?[]`) || strings.Contains(n, "://") {
		return true
	}
	for _, ext := range []string{".parquet", ".csv", ".tsv", ".json", ".jsonl", ".ndjson", ".geojson", ".db", ".duckdb", ".ducklake", ".arrow", ".avro", ".vortex", ".xlsx", ".txt", ".gz", ".zst", ".shp", ".gpkg"} {
		if strings.HasSuffix(n, ext) || strings.Contains(n, ext+".") {
			return true
		}
	}
	return false
}

// takenSchema are names that a schema must not have, because a catalog or DuckDB itself has them.
var takenSchema = set("vega temp system memory pg_catalog information_schema")

// mainSchema is where names are looked up that say no schema; nothing works in a lake without it.
const mainSchema = "main"
