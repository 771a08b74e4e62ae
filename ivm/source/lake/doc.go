// Package lake is the lake's tables as streaming views read them: what each
// snapshot did, and a table's content and changes as rows of the engine.
//
// Read [Source] first. It implements stream.Source over ducklake/feed. Readers of a
// table, with their prepared statements, are kept; a few goroutines may read at the same
// time, each on a connection of its own.
//
// The package must not know views' definitions, operators or statements.
package lake
