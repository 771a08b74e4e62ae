package publish_test

import (
	"fmt"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/vegadb/vega-flight/ducklake/laketest"
	"github.com/vegadb/vega-flight/ducklake/metadata"
	"github.com/vegadb/vega-flight/ducklake/publish"
)

// The statistics of a delta are the extension's for the same rows, text for text, whoever computes them; those of floating-point
// columns, whose NaN the extension takes for a bound, are DuckDB's, and blobs have none.
func TestStatisticsOfEveryTypeAreTheExtensions(t *testing.T) {
	columns := []struct{ typ, expr string }{
		{"BOOLEAN", "i % 2 = 0"}, {"TINYINT", "i % 100 - 50"}, {"SMALLINT", "i * 13 % 30000 - 15000"}, {"INTEGER", "i * -7919"}, {"BIGINT", "i * 1000000007 * CASE i % 2 WHEN 0 THEN 1 ELSE -1 END"},
		{"UTINYINT", "i % 250"}, {"USMALLINT", "i % 60000"}, {"UINTEGER", "i * 4000 % 4000000000"}, {"UBIGINT", "18446744073709551615 - i"},
		{"FLOAT", "i / 7 - 20"}, {"DOUBLE", "i / 7 - 100"}, {"DOUBLE", "i * 1e18"}, {"DOUBLE", "1 / (i * 1000000 + 1)"},
		{"DOUBLE", "CASE i % 4 WHEN 0 THEN 'nan'::DOUBLE WHEN 1 THEN 'inf'::DOUBLE WHEN 2 THEN '-inf'::DOUBLE ELSE 2.0 END"}, {"DOUBLE", "CASE WHEN i % 2 = 0 THEN -0.0 ELSE i * 1.5e14 END"},
		{"DECIMAL(4,4)", "(i % 1000 - 500) / 10000"}, {"DECIMAL(9,0)", "i * 99"}, {"DECIMAL(18,2)", "(i - 50) / 8"}, {"DECIMAL(38,10)", "i * 12345678901234.5"}, {"DECIMAL(5,3)", "i % 10 / 1000 - 0.005"},
		{"VARCHAR", "CASE i % 5 WHEN 0 THEN '' WHEN 1 THEN 'é' || i WHEN 2 THEN repeat('z', 40) || i ELSE 'it''s \"' || i END"},
		{"VARCHAR", "'a' || chr(CAST(1 + i % 3 AS INTEGER)) || i"}, {"BLOB", "encode('x' || i)"}, {"JSON", "'{\"a\": ' || i || '}'"},
		{"UUID", "CAST(lpad(to_hex(i * 7919), 32, CASE i % 3 WHEN 0 THEN 'f' WHEN 1 THEN '0' ELSE '8' END) AS UUID)"},
		{"DATE", "DATE '1000-01-01' + CAST(i * 300 AS INTEGER)"}, {"DATE", "CASE i % 3 WHEN 0 THEN 'infinity'::DATE WHEN 1 THEN '0044-03-15 (BC)'::DATE ELSE '12345-01-01'::DATE END"},
		{"TIME", "TIME '00:00:00' + to_microseconds(i * 86399 * 777 % 86400000000)"}, {"TIME", "TIME '24:00:00'"},
		{"TIMESTAMP", "TIMESTAMP '1969-12-31 23:59:59' + to_microseconds(i * 1234500)"}, {"TIMESTAMP", "CASE i % 2 WHEN 0 THEN 'infinity'::TIMESTAMP ELSE TIMESTAMP '2000-01-01' END"},
		{"TIMESTAMPTZ", "TIMESTAMPTZ '2020-01-01 00:00:00+00' + to_milliseconds(i * 333)"}, {"TIMESTAMP_MS", "TIMESTAMP_MS '2020-01-01 00:00:00.123'"}, {"TIMESTAMP_NS", "TIMESTAMP_NS '2020-01-01 00:00:00.123456789'"},
		{"INTEGER", "NULL"}, {"VARCHAR", "NULL"}, {"DOUBLE", "NULL"},
	}
	laketest.Each(t, func(t *testing.T, kind laketest.Kind) {
		l := newLake(t, kind)
		l.exec("CALL lake.set_option('data_inlining_row_limit', 1000)")
		p := l.publisher()
		for i, c := range columns {
			// A table for each: one column that cannot be computed here leaves all of its table to DuckDB.
			name := fmt.Sprintf("t%d", i)
			table := l.published(p, name, "c "+c.typ)
			l.exec(fmt.Sprintf("CREATE TABLE lake.main.m%d(c %s)", i, c.typ))
			l.exec(fmt.Sprintf("CREATE TABLE memory.main.m%d(c %s)", i, c.typ))
			float := c.typ == "FLOAT" || c.typ == "DOUBLE"
			epoch := int64(0)
			for _, rows := range []string{"range(40, 41) t(i)", "range(20, 60) t(i)", "(SELECT i FROM range(0, 400) t(i) UNION ALL SELECT NULL)", "range(0) t(i)"} {
				query := fmt.Sprintf("SELECT CASE WHEN i IS NULL THEN NULL ELSE CAST(%s AS %s) END AS c FROM %s", c.expr, c.typ, rows)
				for _, catalog := range []string{"lake", "memory"} {
					l.exec(fmt.Sprintf("INSERT INTO %s.main.m%d %s", catalog, i, query))
				}
				batches := l.read(query)
				epoch = one(t, p, publish.Publication{CommitID: commitID(), Table: table, Swap: publish.Swap{UUID: name, Epoch: epoch}, Delta: &publish.Delta{Insert: batches}}).Epoch
				for _, b := range batches {
					b.Release()
				}
				stats := func(name string) string {
					var out [][]any
					must(t, l.store.View(ctx, func(tx metadata.Tx) (err error) {
						out, err = tx.Query(ctx, `SELECT record_count, contains_null, contains_nan, min_value, max_value FROM {M}ducklake_table_stats s
							JOIN {M}ducklake_table_column_stats c ON c.table_id = s.table_id WHERE s.table_id = $1`, l.table(name).ID)
						return err
					}))
					return fmt.Sprint(out)
				}
				want := stats(fmt.Sprintf("m%d", i))
				switch {
				case c.typ == "BLOB":
					want = fmt.Sprint(l.rows(fmt.Sprintf("SELECT count(*), bool_or(c IS NULL), NULL, NULL, NULL FROM memory.main.m%d", i)))
				case float:
					want = fmt.Sprint(l.rows(fmt.Sprintf(`SELECT count(*), bool_or(c IS NULL), coalesce(bool_or(isnan(c)), false),
						CAST(min(c) FILTER (NOT isnan(c)) AS VARCHAR), CAST(max(c) FILTER (NOT isnan(c)) AS VARCHAR) FROM memory.main.m%d`, i)))
				}
				if got := stats(name); got != want {
					t.Errorf("%s, %s: %s, not %s", c.typ, c.expr, got, want)
				}
				if n := l.differ("FROM lake.main."+name, fmt.Sprintf("FROM memory.main.m%d", i)); n != 0 {
					t.Errorf("%s, %s: %d rows differ", c.typ, c.expr, n)
				}
			}
		}
	})
}

// read is a query's rows.
func (l *lake) read(query string) []arrow.RecordBatch {
	l.t.Helper()
	r, err := l.conn.Query(ctx, query)
	must(l.t, err)
	defer r.Close()
	var out []arrow.RecordBatch
	for r.Next() {
		b := r.RecordBatch()
		b.Retain()
		out = append(out, b)
	}
	must(l.t, r.Err())
	return out
}
