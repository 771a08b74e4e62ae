// Package feed reads what changed in lake tables: for each lake snapshot that
// touches a table, its rows that came (weight 1) and went (weight -1).
//
// Read [Feed] first, then [Reader.Read]:
//
//	f, err := feed.New(ctx, feed.Config{…})          // one connection, for one goroutine
//	r, err := f.Open(ctx, table, columns)            // a table by id and uuid, its columns by id
//	plan, err := f.Plan(ctx, from, to, r)            // which snapshots in (from, to] did what, from the catalog alone
//	s, err := r.Read(ctx, from, to)                  // the rows, as Arrow: snapshot, weight, the columns
//	c, err := r.Content(ctx, at)                     // the whole table at a snapshot, in the same columns
//
// The content at from, and the rows of (from, to] added to it, are the content
// at to, and so for each snapshot between; a snapshot's rows are not netted: a row
// that was changed and changed back in one commit may come and go in it.
//
// Nothing is asked of the extension's own feed, which is wrong over windows and
// opens every file of the table. A row's life is read where it lies:
//
//	inlined row      from its begin_snapshot to its end_snapshot
//	row of a file    from the snapshot embedded in the file, else the file's begin_snapshot,
//	                 to the first of: an inlined delete, an entry of a delete file, the file's end_snapshot
//
// with these exceptions, which DuckLake's writers make:
//   - A file that a rewrite_delete ended or began holds the same rows before and after.
//   - A transaction that was retried stamps its deletes with an earlier snapshot. A commit's delete
//     files are those with ids between the next_file_id before it and after it; what
//     has the last stamp in one of those belongs to that commit, unless it was a flush.
//   - A delete file that adds to another replaces it. If a mis-stamped commit can then no longer be told from
//     its neighbours, reading it is fault.HistoryRewritten, never a guess.
//   - Files that were added as they are have no field ids: their columns are found by the catalog's name mapping.
//
// The package must not know views, engines or protocols. It compares no values:
// what is one row is decided by its reader.
package feed
