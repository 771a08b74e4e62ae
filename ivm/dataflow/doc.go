// Package dataflow is the incremental engine proper: operators over Z-sets, each
// of which turns the changes of its inputs into exactly the change of its
// output, and the graph that steps them.
//
// Read [Operator] first, then [Graph]. An epoch is one step: every operator sees
// the whole change of each of its inputs between two frontiers, in one call, in
// topological order, and what the last one gives takes the view from the one
// frontier to the other. Nothing is visible of the way between.
//
// Each operator is a file, and the file begins with its delta rule. Conventions:
//
//   - An input delta may name a row more than once and in any order (a deletion
//     before its insertion, too); only its sum counts. Decisions that depend on
//     counts (is there a match, does the group exist) are taken when all of a
//     port's delta is in.
//   - Keys are rows of normalised fields (ivm/eval makes them): equality of words
//     is DuckDB's equality. What is shown is the original value.
//   - Output may hold rows that cancel. The graph consolidates what leaves it, and
//     what operators say [Operator.Cancels] of.
//   - State is ivm/state tables; an operator owns its tables, and they are used by
//     one goroutine at a time.
//   - A row whose expression fails is no failure of the step: it becomes an error
//     of the epoch ([Epoch.Fail]) with the row's weight, so that taking the row
//     away takes the error away.
//   - A count below zero, once all of an epoch is in, is an excess retraction of a
//     source (fault.ExcessRetraction): the step fails with the row, and the graph must be rebuilt.
//
// Operators know layouts and programs, not plans: build.go is the only file that
// reads ivm/plan and asks ivm/eval for programs.
//
// The package must not know lakes, DuckDB's library, jobs, SQL text or Arrow.
package dataflow
