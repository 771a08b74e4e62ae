package metadata

import (
	"context"
	"slices"

	"github.com/vegadb/vega-flight/fault"
)

// FormatVersion is the DuckLake format that the native commits write.
const FormatVersion = "1.0"

// ExtensionVersion is the commit of the ducklake extension whose behaviour the native commits were measured against.
const ExtensionVersion = "d8a1881e"

// written lists the columns, in order, of every DuckLake table that native commits write: a new column in
// any of them means rules we do not know.
var written = map[string][]string{
	"ducklake_snapshot":         {"snapshot_id", "snapshot_time", "schema_version", "next_catalog_id", "next_file_id"},
	"ducklake_snapshot_changes": {"snapshot_id", "changes_made", "author", "commit_message", "commit_extra_info"},
	"ducklake_data_file": {"data_file_id", "table_id", "begin_snapshot", "end_snapshot", "file_order", "path", "path_is_relative",
		"file_format", "record_count", "file_size_bytes", "footer_size", "row_id_start", "partition_id", "encryption_key",
		"mapping_id", "partial_max"},
	"ducklake_delete_file": {"delete_file_id", "table_id", "begin_snapshot", "end_snapshot", "data_file_id", "path",
		"path_is_relative", "format", "delete_count", "file_size_bytes", "footer_size", "encryption_key", "partial_max"},
	"ducklake_file_column_stats": {"data_file_id", "table_id", "column_id", "column_size_bytes", "value_count", "null_count",
		"min_value", "max_value", "contains_nan", "extra_stats"},
	"ducklake_table_stats":                  {"table_id", "record_count", "next_row_id", "file_size_bytes"},
	"ducklake_table_column_stats":           {"table_id", "column_id", "contains_null", "contains_nan", "min_value", "max_value", "extra_stats"},
	"ducklake_inlined_data_tables":          {"table_id", "table_name", "schema_version"},
	"ducklake_schema_versions":              {"begin_snapshot", "schema_version", "table_id"},
	"ducklake_files_scheduled_for_deletion": {"data_file_id", "path", "path_is_relative", "schedule_start"},
}

// CheckFormat refuses a lake whose format or options the native commits were not written for: everything but version
// 1.0, unencrypted, with exactly the known columns is fault.LakeUnsupported, and nothing is written.
func CheckFormat(ctx context.Context, tx Tx) error {
	if err := CheckVersion(ctx, tx); err != nil {
		return err
	}
	for _, table := range sortedKeys(written) {
		found, err := columnNames(ctx, tx, table)
		if err != nil {
			return err
		}
		if !slices.Equal(found, written[table]) {
			return fault.LakeUnsupported.Newf("the catalog's table %s has the columns %v, not %v", table, found, written[table])
		}
	}
	return nil
}

// CheckVersion is the part of CheckFormat that every publishing transaction repeats: somebody may have migrated
// or replaced the catalog under a running server.
func CheckVersion(ctx context.Context, tx Tx) error {
	rows, err := tx.Query(ctx, `SELECT key, value FROM {M}ducklake_metadata
		WHERE key IN ('version', 'encrypted') AND scope IS NULL`)
	if err != nil {
		return err
	}
	got := map[string]string{}
	for _, v := range rows {
		var r Row
		r.Take(v)
		got[r.Text()] = r.Text()
		if r.Err() != nil {
			return r.Err()
		}
	}
	if got["version"] != FormatVersion {
		return fault.LakeUnsupported.Newf("the lake has DuckLake format version %q; this server writes %s", got["version"], FormatVersion)
	}
	if got["encrypted"] != "false" {
		return fault.LakeUnsupported.Newf("the lake is encrypted (encrypted = %q); this server writes unencrypted lakes only", got["encrypted"])
	}
	return nil
}

// columnNames lists a table's columns in their order.
func columnNames(ctx context.Context, tx Tx, table string) ([]string, error) {
	var rows [][]any
	var err error
	switch tx.Dialect() {
	case PostgreSQL:
		rows, err = tx.Query(ctx, `SELECT attname::TEXT FROM pg_attribute
			WHERE attrelid = $1::TEXT::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum`, tx.Table(table))
	default:
		// information_schema does not list the hidden metadata database.
		rows, err = tx.Query(ctx, `SELECT column_name FROM (DESCRIBE {M}`+QuoteIdent(table)+`)`)
	}
	if err != nil {
		return nil, err
	}
	out := make([]string, 0, len(rows))
	for _, v := range rows {
		var r Row
		r.Take(v)
		out = append(out, r.Text())
		if r.Err() != nil {
			return nil, r.Err()
		}
	}
	return out, nil
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
