// Package ivmtest tests the incremental engine against DuckDB: scripts, random
// queries and histories, TPC-H and Nexmark.
//
// Read [World] first. It holds plain in-memory tables in DuckDB (the oracle), views
// over them, and an [Engine] that maintains the views. [World.Step] runs DML on the
// oracle's tables, takes the difference of each table's rows word for word, gives it to
// every view, and compares:
//
//   - what a view has (the sum of what it emitted) with what its query gives in DuckDB
//     now: the same rows, the same number of times;
//   - what the step emitted with the exact change: each row once, nothing that cancels, no
//     row below zero;
//   - whether it has errors with whether DuckDB refuses the query.
//
// [World.Close] makes each view anew from the tables as they are then, and anew with the history cut into
// other pieces: both must have the same rows to the last bit. No test can switch any of this off. A
// tolerance is given only to columns that the plan calls inexact, and a choice only to those that it calls
// arbitrary ([Within] says between what).
//
// Scripts are text (testdata/scripts, see [Run]); combinations are generated from tables in the tests; [Case] draws
// random ones from a tape of choices, which [Shrink] shortens, and prints as a script what still fails.
//
// The package links DuckDB. It must not know lakes, jobs or servers.
package ivmtest
