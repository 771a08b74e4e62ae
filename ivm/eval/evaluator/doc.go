// Package evaluator is the DuckDB instance that runs the expressions which have no path in Go: the adapter behind eval.Evaluator.
//
// Read [Open] and [Instance.Open] first. A fragment becomes one statement over a slot,
//
//	SELECT <expressions> FROM rows
//
// which is prepared once and then stays open: the slot never ends, DuckDB asks it for the next chunk only when the last one was
// taken, and each run puts its rows there and takes as many out. A run costs about 2 µs, where executing the prepared statement
// anew would cost 250. DuckDB looks one chunk ahead, so when a run has no rows left the slot repeats the last row that was
// evaluated, and the next run throws its result away.
//
// Invariants:
//   - The statement is a projection over the slot and nothing else, so results come in the order of the rows, one for one. The
//     optimizers that could make it anything else are off, and so is statistics_propagation, which would take what the first
//     batch looks like for what all look like.
//   - An evaluation that fails ends the statement. The rows that it failed over are run again in smaller and smaller pieces until
//     the row is alone: its error is DuckDB's own.
//   - The instance has one thread: a fragment is evaluated on its caller's, and several callers run beside each other.
//   - Rows lie in words on our side and in vectors on DuckDB's. Between them is one copy a value, without Arrow; values that
//     results over Arrow could not carry (39 digits, nanoseconds of long intervals) pass.
//
// The package must not know plans, operators or the lake.
package evaluator
