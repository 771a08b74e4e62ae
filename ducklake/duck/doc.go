// Package duck is the one place that touches DuckDB's C API: connections,
// results streamed as Arrow, Arrow read as a table, interrupt and progress.
//
// Read [Conn] first. A [DB] is one DuckDB instance; a Conn runs one statement
// at a time:
//
//	db, _ := duck.Open("", duck.Options{})
//	conn, _ := db.Connect()
//	r, _ := conn.Query(ctx, "SELECT * FROM range(10)")
//	defer r.Close()
//	for r.Next() { use(r.RecordBatch()) }
//	return r.Err()
//
// What always holds:
//   - A statement whose context ends is interrupted, and the call returns only
//     when DuckDB's work has stopped; errors.Is finds the context's error. The
//     connection stays usable, and no interrupt ever reaches the next statement.
//   - A [Reader] holds a few chunks in memory, whatever the size of the result. A
//     stream that was cut off is an error.
//   - Every field of a result's schema is nullable.
//   - Every handle of the C API is freed by Close, which may be called twice.
//
// It must not know lakes, catalogs, gates, views or protocols.
package duck
