// Package lake is the lake as the engine's refreshes and definitions use it:
// pinning a snapshot, staging a query's result, publishing it together with the
// view's row and the job's end, and making, replacing and dropping the tables
// behind views.
//
// Read [Sink] first. pin.go is the reading half of a refresh, publish.go the
// writing half, group.go what lets
// refreshes that are ready together share a commit, make.go and drop.go the life of a view's table, settle.go what is
// done about operations that a crash interrupted.
//
// Invariants:
//
//   - A view's content, its row, and the end of the job that made it change in one
//     transaction; a job that is being cancelled, or that another server has
//     adopted, makes that transaction fail.
//   - A table is a view from the moment it has its name: it is made hidden and
//     appears together with its row.
//   - What is pinned is held in the catalog until the pin is closed.
//
// The package must not know statements, sessions or schedules.
package lake
