// Package ducklake is one lake as a versioned store of tables.
//
// Read [Lake] first: [Open] opens or creates a lake in a DuckDB instance of
// its own that is locked down before the first statement of a user. A client's
// statements run in a [Session]; the server's own use [Lake.Acquire] to read,
// [Lake.DDL] and the packages publish and maintain to write.
//
//	session:  Analyze (gate) ─▶ Query ─▶ a pooled connection, or the session's own ─▶ Stream
//	                          └▶ Exec ─▶ BEGIN, run, commit lock, COMMIT ─▶ Watch
//
// What always holds:
//
//   - A statement of a user runs only as the gate admitted it, on a connection
//     that has exactly that session's settings.
//   - Transactions of the lake hold DML only, and start at their first write.
//     DDL runs by itself, one statement at a time: DuckLake's transactions with
//     explicit DDL corrupt its memory.
//   - The commit lock is held for COMMITs and for single DDL statements, never
//     while rows are computed.
//   - A table that takes long to fill (CREATE TABLE AS, ingest) is built under a
//     hidden name and takes its own in one commit: [Lake.Swap]. What a crash
//     leaves is in the table vega_builds and is dropped by its owner.
//   - A connection holds one open result. Before a second statement runs on a
//     session's own connection the rest of the first result goes to disk.
//   - A COMMIT without an answer is looked up by its commit id.
//
// The package must not know views, jobs or any protocol.
package ducklake
