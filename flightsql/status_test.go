package flightsql

import "testing"

// A status is the verb and the kind of object, for DuckDB's statements as for ours.
func TestStatusesAreWordedAlike(t *testing.T) {
	h := open(t)
	c := h.client("ann")
	for _, s := range []struct{ sql, status string }{
		{"CREATE TABLE t (i INTEGER)", "CREATE TABLE"},
		{"CREATE OR REPLACE TABLE t (i INTEGER)", "CREATE TABLE"},
		{"CREATE VIEW w AS SELECT i FROM t", "CREATE VIEW"},
		{"CREATE SCHEMA s", "CREATE SCHEMA"},
		{"CREATE MACRO twice(x) AS 2 * x", "CREATE MACRO"},
		{"CREATE MACRO rows_of(n) AS TABLE SELECT * FROM range(n)", "CREATE MACRO"},
		{"CREATE MATERIALIZED VIEW v AS SELECT count(*) AS n FROM t", "CREATE MATERIALIZED VIEW"},
		{"CREATE OR REPLACE MATERIALIZED VIEW v AS SELECT count(*) AS n FROM t WITH NO DATA", "CREATE MATERIALIZED VIEW"},
		{"CREATE OR REPLACE MATERIALIZED VIEW v AS SELECT count(*) AS n FROM t", "CREATE MATERIALIZED VIEW"},
		{"CREATE OR REPLACE MATERIALIZED VIEW v WITH (wait = false) AS SELECT count(*) AS n FROM t", "CREATE MATERIALIZED VIEW"},
		{"CREATE MATERIALIZED VIEW IF NOT EXISTS v AS SELECT 1 AS n", "CREATE MATERIALIZED VIEW"},
		{"ALTER MATERIALIZED VIEW v RENAME TO v2", "ALTER MATERIALIZED VIEW"},
		{"DROP MATERIALIZED VIEW v2", "DROP MATERIALIZED VIEW"},
		{"ALTER TABLE t ADD COLUMN j INTEGER", "ALTER TABLE"},
		{"COMMENT ON TABLE t IS 'x'", "COMMENT"},
		{"DROP MACRO TABLE rows_of", "DROP MACRO TABLE"},
		{"DROP MACRO twice", "DROP MACRO"},
		{"DROP VIEW w", "DROP VIEW"},
		{"DROP TABLE IF EXISTS missing", "DROP TABLE"},
		{"DROP TABLE t", "DROP TABLE"},
		{"DROP SCHEMA s", "DROP SCHEMA"},
		{"SET TimeZone = 'UTC'", "SET"},
		{"RESET TimeZone", "RESET"},
		{"SET vega.isolation = 'snapshot'", "SET"},
		{"RESET vega.isolation", "RESET"},
		{"USE main", "USE"},
		{"BEGIN", "BEGIN"},
		{"ROLLBACK", "ROLLBACK"},
	} {
		equal(t, s.sql, c.must(s.sql)[0][0], s.status)
	}
}
