// Command engine measures the incremental engine alone: changes of the sources in, changes of the result out, beside a floor
// written by hand, differential-dataflow, DuckDB computing the query anew, and any other program that is named.
//
//	make bench-engine ARGS="--quick --json FILE"
//
// Read [workload] first, then [session.run]. Every system of a run gets the same input files and runs in a process of its own, one at
// a time, in turn. Each is a command of one form (peer.go), our two sides too:
//
//	command --data DIR --res DIR --w w1 --workers 1 --rounds 10
//
// It reads DIR/w1/{backfill,changes,batches}.bin or DIR/nexmark/events.jsonl, prints one line of figures as JSON, and writes the rows that its
// view has after the last batch to DIR/out/<any>_w1_r10.csv; or its changes, each with its weight in front, to
// <any>_w1_r10.deltas.csv, which are then added up by DuckDB. Either is compared with what DuckDB computes of the sources' content.
//
// What is timed: a batch goes in, its changes of the result are in the caller's memory. Decoding input files to a system's own rows is
// outside; keys, expressions, consolidation and copying the output are inside. Since machines are shared, wall time stands beside CPU
// time, and only figures of one run are to be compared.
//
// Memory is what is allocated and not freed after the first content (of Nexmark: after all events), without the input and without
// the changes of the result, which a caller would not keep; peers ask their allocator. DuckDB's is what became resident. It is told by
// key of the view's state (workload.keys) and by row of the first content.
//
// --markdown FILE writes the tables into a document, between its marks (markdown.go); the profiles' heaviest functions lie as text
// beside the profiles.
//
// Several workers of one system need as many free cores: engines whose workers wait for each other at every batch fall to a hundredth
// when another program holds a core, so look at /proc/loadavg before comparing such lines.
//
// The input follows the laws in generate.go and nexmark.go, from a seed. An update is a pair of records and counts as one change.
//
// The package must not be imported, and knows nothing of lakes.
package main
