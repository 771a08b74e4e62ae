// Package store keeps what the engine must not forget, in tables beside the
// lake's own in its catalog database: views, their sources, jobs, schedules, and how streaming
// views are to run.
//
// Read [Open] first, then tables.go for the tables and their migrations.
// [Store.Views], [Store.Jobs], [Store.Schedules] and [Store.Streams] are the ports
// that catalog, job, refresh and stream declare; [Control] is what statements ask of
// streaming views; [History] answers which commits changed which tables.
//
// Everything that changes rows exists twice: as a method of a port, in a
// transaction of its own, and as a method of [Store] that takes a transaction,
// so that a publishing commit can carry the view's row and the job's end with it.
//
// Invariants:
//
//   - every change of a row is a compare-and-swap on its revision or version;
//   - every change of a view's row moves the counter that [Views.Revision] shows;
//   - SQL is written once for both dialects.
//
// The package must not know what a refresh does, nor sessions or protocols.
package store
