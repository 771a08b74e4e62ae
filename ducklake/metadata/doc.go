// Package metadata is a lake's catalog database: DuckLake's own tables, read
// and written as rows, and the vega_* tables that live beside them.
//
// Read [Store] first: one catalog database with two implementations, the
// DuckDB file that the lake's instance has attached ([OpenDuckDB]) and
// PostgreSQL ([OpenPostgres]). A [Tx] runs SQL written once for both:
//
//	err := store.Update(ctx, func(tx metadata.Tx) error {
//		rows, err := tx.Query(ctx, `SELECT state FROM {M}vega_jobs WHERE id = $1`, id)
//		…
//	})
//
// `{M}` before a table name, outside quotes, is the metadata schema; parameters
// are $1, $2, …. The types both sides keep the same are BIGINT, VARCHAR, BOOLEAN,
// DOUBLE PRECISION and TIMESTAMPTZ; values come back as int64, string, bool, float64
// and time.Time in UTC, NULL as nil.
//
// The function given to Update may run more than once: a conflict with another
// transaction rolls back and runs it again. It must therefore not keep
// anything from a run that did not commit; [Tx].OnCommit is for what follows.
//
// A transaction that inserts a DuckLake snapshot is run whole under the lake's
// [CommitLock]: take the lock, then call Update, never the other way round.
// A transaction on vega_* tables alone needs no lock.
//
// A COMMIT whose answer is lost returns fault.CommitUnknown. Who puts a commit
// id ([CommitInfo]) into the snapshot's extra_info finds out with [LookupCommit].
//
// The rest are readers of DuckLake's rows: [Latest], [Changes] (the parsed
// changes_made of snapshots, with their class), [Tables], and [CheckFormat],
// which refuses any format that the native commits were not written for.
//
// The package must not know views, jobs, sessions or what a commit is for.
package metadata
