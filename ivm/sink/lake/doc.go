// Package lake is the lake as the engine's refreshes, streams and definitions use it:
// pinning a snapshot, staging a query's result, publishing it together with the
// view's row and the job's end, publishing the changes of streaming views, and making,
// replacing and dropping the tables behind views.
//
// Read [Sink] first. pin.go is the reading half of a refresh, publish.go the
// writing half, group.go what lets
// refreshes that are ready together share a commit, make.go and drop.go the life of a view's table, settle.go what is
// done about operations that a crash interrupted.
//
// Streaming views: [Results], then bundle.go, which publishes changes of several views as one. What it needs is where
// each row of a result lies (places.go): a row's content is a name (rowname.go), a name has places, and places are in the
// view's own store. A row that goes is addressed by its place, so a commit costs what changes, however large the
// table is. catchup.go brings places up to what the catalog says now (picture.go): after a restart, after maintenance has moved
// rows, and after somebody else has written. It asks for state, not for history: which files there are, which
// of their rows are dead, which inlined rows live; only files that are not known are read.
//
// Invariants:
//
//   - A view's content, its row, and the end of the job that made it change in one
//     transaction; a job that is being cancelled, or that another server has
//     adopted, makes that transaction fail.
//   - A table is a view from the moment it has its name: it is made hidden and
//     appears together with its row.
//   - What is pinned is held in the catalog until the pin is closed.
//   - A place may be stale, which the files, the dead positions and the living inlined rows tell; no live row is without a place.
//   - Places change after a commit is known to have succeeded, and a result's mark never claims more than they say.
//   - Rows that differ only in the sign of a zero or in a NaN are one: the lake does not keep those apart.
//
// The package must not know statements, sessions or schedules.
package lake
