// Package gate decides what users' SQL may do to a lake, and says what each
// statement reads and writes.
//
// DuckDB's own settings guard the host from the lake's users; they do not
// guard the lake: a session may name the metadata catalog, read raw data
// files, detach the lake. So every statement passes here first, and only its
// [Analysis] is ever executed.
//
// Read [Gate] first, then [Session.Analyze]. Three locks stand in a row, and
// each is meant to hold when another one fails:
//
//   - the text: one statement, its head in an allow-list, every function named
//     anywhere in its tokens decided in functions.go, no name of the metadata
//     catalog in any spelling;
//   - the binding: it must prepare in a shadow, a second in-memory DuckDB with
//     no lake, no files and the optimizer off, that mirrors the lake's schemas,
//     tables, views and macros;
//   - the plan: every scan of the shadow's plan must be one of a mirrored table
//     or of an allowed table function. The same plan says what is read.
//
// Invariants:
//
//   - What is not decided is refused: a function of a newer DuckDB fails the
//     tests until somebody writes down why it is allowed or not.
//   - Stored texts (views, macros), which other programs may have written, pass
//     the same checks each time a statement uses them.
//   - An Analysis belongs to the [Env] and the schema version it was made for.
//   - Nobody waits long for a statement that does not end: a shadow that cannot
//     be changed is left to those who hold it, and sessions move to another.
//
// [Session.Bind] makes the query of a view definition independent of the
// session, by edits of its own text: each lake table becomes a subquery of the
// columns the query uses, plain views and macros are put in their place.
//
// The package must not know transactions, materialized views or any protocol,
// and holds no connection to the lake: what is in the lake comes through the
// [Lake] interface.
package gate
