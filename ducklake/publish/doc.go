// Package publish commits results into lake tables that only this server's
// program writes, without the ducklake extension's DML: a commit is rows in the
// catalog's tables, written in one transaction together with everything that
// must not part from it.
//
// Read [Publication] first: one table's new content, as a replacement
// ([Staged] files in, everything old ended) or a [Delta], together with the
// compare-and-swap on vega_published and the owner's fence. [Publisher.Publish]
// commits one or several of them as one lake snapshot:
//
//	staged, err := p.Stage(ctx, conn, publish.StageSpec{Table: table, Query: query, JobID: job, Owner: fence}, nil)
//	results, err := p.Publish(ctx, publish.Publication{CommitID: id, Table: table, Replace: staged, Swap: swap, Owner: fence})
//
// Readers see the previous content until the commit and the new one after it.
// Staged files are invisible; they belong to a job and an owner (vega_staged),
// and [Publisher.Discard] removes exactly those.
//
// What every commit keeps, because DuckLake's readers rely on it:
//   - next_file_id grows with every commit: statistics are cached by it
//   - record_count is cumulative: min and max are answered from statistics when it
//     equals the number of rows
//   - statistics of columns only widen: they are not versioned, and history is filtered with them
//   - changes_made says exactly what was done, and the changes of others between the
//     snapshot that a publication was made from and the commit are always looked at
//   - inlined deletes of a table are flushed before its files are replaced
//   - the table for inlined deletes exists before the first reader ([Publisher.Prepare])
//   - large deltas are Parquet data files and inlined deletes, never delete files
//
// A small delta is a matter of few statements: rows enter a DuckDB catalog by its appender, the statistics of plain columns are
// computed here, and what a commit has left behind is remembered as long as no snapshot has touched the table.
//
// The commit lock is held around the commit and nothing else. A COMMIT whose
// answer is lost is looked up by its commit id before anything is tried again.
//
// [Publisher.Relocate] runs the extension's flush and merge on such a table, which move rows
// and change none.
//
// The package must not know views, jobs or refreshes; they come as identifiers,
// frontiers as bytes.
package publish
