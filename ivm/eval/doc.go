// Package eval computes expressions over rows of words: projections, filters, keys and orders.
//
// Read [Compile] and [Program.Run] first. A program gives, for each row of a batch that passes its filter, a row of its
// expressions. Each of them goes one of three ways:
//
//   - A column is copied, word by word; a program of all columns in their order is one copy.
//   - What has a path in Go is computed by nodes over vectors of 1024 rows (vec.go, and by subject arith, compare, logic, cast,
//     dates, text; leaf has columns and constants). compile.go decides what has one.
//   - Everything else is a [Fragment] of SQL ([Deparse]) for an [Evaluator], which is DuckDB (package evaluator).
//
// Keys and orders are expressions too: [KeyExpr] is equal in its words exactly where DuckDB says that values are equal, and the words of
// [OrderExprs] compare as DuckDB orders values (normal.go).
//
// Invariants:
//
//   - A path gives DuckDB's value or leaves the row alone: whatever it cannot decide exactly, an error above all, it marks, and the
//     evaluator computes that row. So errors have DuckDB's words, and a path that is too careful costs time and no truth.
//   - A part of a condition or a CASE that DuckDB would not evaluate for a row makes no error for it: nodes are given the rows
//     that matter (act), and only those may be marked.
//   - A row whose evaluation fails is told to the caller, with its number, and left out; the others are not touched by it.
//   - Nothing is allocated for a row. Vectors, masks and lists belong to the program and are used again.
//   - What SQL is written binds to the types that the plan says; the evaluator refuses a fragment that does not.
//
// Which way is not a matter of the number of rows: measured, a path is at least as fast as DuckDB's own loops for any number, since its
// rows need not be handed over (a run costs DuckDB 4 µs more). Only a program whose paths leave many rows alone goes to DuckDB for a while.
//
// testdata/ of package evaluator lists what has a path, and its tests compare every function, operator and cast of DuckDB, over the
// edges of its types, with DuckDB itself.
//
// The package must not know operators, state, the lake or DuckDB's library.
package eval
