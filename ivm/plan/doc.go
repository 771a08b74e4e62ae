// Package plan is a query as relational operators, with what each of them is
// known to do: types, keys, kinds of change, state and its bound. It decides
// what is maintained, and says why what is not.
//
// Read [Node] and its kinds in node.go first, then [Expr], then [Read], which
// makes a [Plan] of the JSON of DuckDB's own bound and decorrelated plan.
// [Info] is what is known of a node; [Plan.Explain] are the rows of EXPLAIN
// STREAMING.
//
// From JSON to a plan, a file or more each:
//
//	json, types, constant, decode*   what DuckDB wrote, as it is
//	normalize, rule*                 one form for queries that mean the same
//	property, state, admit           what is known, and what is refused
//	text, explain                    for people and tests
//
// Invariants:
//
//   - No JSON makes a panic: unknown parts become Unsupported and Refused, whose
//     reasons have stable names, and every reason of a query is listed.
//   - Column references behind decode lie within their input.
//   - A Shared node is the same pointer wherever it is used; everything else is
//     a tree.
//   - Where DuckDB's answer is arbitrary, the node says so (Info.Choice), and
//     ours is a function of the rows alone.
//
// The package must not know DuckDB's library, a lake, state or how expressions
// are evaluated.
package plan
