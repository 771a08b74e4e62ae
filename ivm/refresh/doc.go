// Package refresh is one refresh of a traditional view, and when to do it.
//
// Read [Refresher] first: a refresh pins the exact snapshots of the view's
// sources, evaluates the query there, stages complete data files and publishes
// them in one commit that also records the generation, the source vector and
// the job's end. Then [Schedule] and [Plan]: when views refresh by themselves.
//
// Invariants:
//
//   - The publication's epoch is read before the sources are pinned. Whoever
//     publishes in between makes this refresh lose with REFRESH_CONFLICT, so a
//     newer result is never followed by an older one.
//   - A refresh that goes on from the content (incremental) gives what evaluating the query would; where it cannot, the query is evaluated.
//   - no_op means that no source of the view changed since the recorded version
//     and that the query gives the same rows for the same sources.
//   - A schedule's next due time is stored. A due time that lies in the past
//     when a server starts is one run, however many were missed.
//   - A schedule has at most one job at a time; the next due time is decided
//     when that job has ended.
//
// The package knows no DuckDB and no lake: it asks them through [Lake].
package refresh
