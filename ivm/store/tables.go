package store

import (
	"context"

	"github.com/vegadb/vega-flight/ducklake/metadata"
)

// Component is the name of this package's tables in vega_migrations.
const Component = "ivm"

// migrations are the steps of the tables:
//
//	1  vega_views         one row for each view; the definition that counts
//	   vega_view_sources  what a view reads, in the order of its query
//	   vega_counters      "views" grows with every change of the two above
//	2  vega_jobs          durable jobs, running and ended
//	3  vega_schedules     when views refresh by themselves
//	4  vega_view_columns  the columns of the views' tables, as the views have them
//	5  vega_streams       what is wanted of streaming views, who runs them, and where they stand
//	6  vega_dropped       what streaming views have dropped as late of their sources, since their content began; several rows of one source
//	7  vega_streams       with the snapshot of the newest REBUILD
func migrations() []metadata.Migration {
	both := func(version int, sql ...string) metadata.Migration {
		return metadata.Migration{Version: version, DuckDB: sql, PostgreSQL: sql}
	}
	dropped := func(bytes string) []string {
		return []string{`CREATE TABLE {M}vega_dropped (uuid VARCHAR NOT NULL, since BIGINT NOT NULL, source VARCHAR NOT NULL, up_to BIGINT NOT NULL,
			size BIGINT NOT NULL, changes ` + bytes + ` NOT NULL)`}
	}
	return []metadata.Migration{
		both(1,
			`CREATE TABLE {M}vega_views (uuid VARCHAR PRIMARY KEY, kind VARCHAR NOT NULL, owner VARCHAR NOT NULL,
				definition VARCHAR NOT NULL, hash VARCHAR NOT NULL, schema_name VARCHAR NOT NULL, view_name VARCHAR NOT NULL,
				created_at TIMESTAMPTZ NOT NULL, revision BIGINT NOT NULL)`,
			// No key: DuckDB checks keys too eagerly when rows are deleted and inserted in one transaction.
			`CREATE TABLE {M}vega_view_sources (view_uuid VARCHAR NOT NULL, position BIGINT NOT NULL, source_uuid VARCHAR NOT NULL,
				schema_name VARCHAR NOT NULL, table_name VARCHAR NOT NULL, columns_used VARCHAR NOT NULL)`,
			`CREATE TABLE {M}vega_counters (name VARCHAR PRIMARY KEY, value BIGINT NOT NULL)`,
			`INSERT INTO {M}vega_counters VALUES ('views', 1)`,
		),
		both(2,
			`CREATE TABLE {M}vega_jobs (id VARCHAR PRIMARY KEY, kind VARCHAR NOT NULL, subject VARCHAR NOT NULL, view_name VARCHAR NOT NULL,
				principal VARCHAR NOT NULL, origin VARCHAR NOT NULL, state VARCHAR NOT NULL, phase VARCHAR NOT NULL,
				progress DOUBLE PRECISION NOT NULL, rows_written BIGINT NOT NULL,
				submitted_at TIMESTAMPTZ NOT NULL, started_at TIMESTAMPTZ, finished_at TIMESTAMPTZ,
				error_code VARCHAR NOT NULL, error_message VARCHAR NOT NULL, error_hint VARCHAR NOT NULL,
				spec VARCHAR NOT NULL, result VARCHAR NOT NULL,
				server_id VARCHAR NOT NULL, fence BIGINT NOT NULL, attempt BIGINT NOT NULL, version BIGINT NOT NULL)`,
		),
		both(3,
			`CREATE TABLE {M}vega_schedules (view_uuid VARCHAR PRIMARY KEY, view_name VARCHAR NOT NULL, principal VARCHAR NOT NULL,
				interval_us BIGINT, cron VARCHAR NOT NULL, time_zone VARCHAR NOT NULL,
				next_at TIMESTAMPTZ, job_id VARCHAR NOT NULL, failures BIGINT NOT NULL, last_error VARCHAR NOT NULL,
				last_end TIMESTAMPTZ, server_id VARCHAR NOT NULL, version BIGINT NOT NULL)`,
		),
		both(4,
			`CREATE TABLE {M}vega_view_columns (view_uuid VARCHAR NOT NULL, columns VARCHAR NOT NULL)`,
		),
		both(5,
			`CREATE TABLE {M}vega_streams (uuid VARCHAR PRIMARY KEY, paused BOOLEAN NOT NULL, paused_at TIMESTAMPTZ, restarts BIGINT NOT NULL,
				generation BIGINT NOT NULL, mode VARCHAR NOT NULL, state VARCHAR NOT NULL, reason_code VARCHAR NOT NULL,
				reason_message VARCHAR NOT NULL, reason_hint VARCHAR NOT NULL, since TIMESTAMPTZ, handled BIGINT NOT NULL,
				boundary BIGINT NOT NULL, late BIGINT NOT NULL, server_id VARCHAR NOT NULL, fence BIGINT NOT NULL)`,
		),
		{Version: 6, DuckDB: dropped("BLOB"), PostgreSQL: dropped("BYTEA")},
		both(7, `ALTER TABLE {M}vega_streams ADD COLUMN rebuilt_at BIGINT`),
	}
}

// Migrate brings the tables to the newest version.
func Migrate(ctx context.Context, db metadata.Store) error {
	return metadata.Migrate(ctx, db, Component, migrations())
}
