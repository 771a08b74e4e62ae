package publish

import "github.com/vegadb/vega-flight/ducklake/metadata"

// Component is the name of this package's tables in vega_migrations.
const Component = "lake"

// Migrations are the tables of the lake's own bookkeeping:
//
//	vega_published  what each published table's content is: the row that the compare-and-swap is on
//	vega_staged     folders of staged files that no commit has yet, with their job and owner
//	vega_servers    the servers of the lake, their fencing epochs and leases by the catalog's clock
//	vega_holds      which snapshots somebody still needs
//	vega_journal    operations of several steps that their owner finishes or undoes
func Migrations() []metadata.Migration {
	create := func(bytes string) []string {
		return []string{
			`CREATE TABLE {M}vega_published (uuid VARCHAR PRIMARY KEY, generation BIGINT NOT NULL, epoch BIGINT NOT NULL,
				frontier ` + bytes + `, table_id BIGINT, snapshot_id BIGINT, row_count BIGINT, commit_id VARCHAR,
				server_id VARCHAR, published_at TIMESTAMPTZ)`,
			`CREATE TABLE {M}vega_staged (folder VARCHAR PRIMARY KEY, job_id VARCHAR NOT NULL, table_id BIGINT NOT NULL,
				server_id VARCHAR NOT NULL, server_epoch BIGINT NOT NULL, created_at TIMESTAMPTZ NOT NULL)`,
			`CREATE TABLE {M}vega_servers (id VARCHAR PRIMARY KEY, epoch BIGINT NOT NULL, address VARCHAR, started_at TIMESTAMPTZ NOT NULL,
				lease_until TIMESTAMPTZ NOT NULL, pinned_snapshot BIGINT, pinned_since TIMESTAMPTZ)`,
			`CREATE TABLE {M}vega_holds (holder VARCHAR NOT NULL, table_id BIGINT NOT NULL, snapshot_id BIGINT NOT NULL,
				exact BOOLEAN NOT NULL, moved_at TIMESTAMPTZ NOT NULL, PRIMARY KEY (holder, table_id))`,
			`CREATE TABLE {M}vega_journal (id VARCHAR PRIMARY KEY, kind VARCHAR NOT NULL, payload VARCHAR NOT NULL,
				server_id VARCHAR NOT NULL, server_epoch BIGINT NOT NULL, created_at TIMESTAMPTZ NOT NULL)`,
		}
	}
	return []metadata.Migration{{Version: 1, DuckDB: create("BLOB"), PostgreSQL: create("BYTEA")}}
}
