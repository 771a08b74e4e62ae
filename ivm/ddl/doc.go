// Package ddl parses the statements that DuckDB does not know: materialized
// views of both kinds, their jobs, and the vega.* settings.
//
// Read [Parse] first. It splits a text at the semicolons that separate
// statements and gives one [Item] each: its exact text, its offset, and either
// one of our statements or nil, which means that the text is DuckDB's own and
// goes on untouched. [Statement] lists the kinds (statement.go); [OptionSpec]
// is one option with its type, range and default (option.go), and every list
// of options is in specs.go, from which the SQL reference is written too.
//
//	text ─▶ lex.go (tokens) ─▶ parse.go (split, heads) ─▶ view.go, alter.go, show.go, session.go ─▶ Statement
//	                                                      option.go, value.go, interval.go, cron.go
//
// Invariants, all fuzzed:
//   - Parse never panics, and every offset it gives is inside the text;
//   - the items' texts are disjoint pieces of the input, in order;
//   - a parsed statement printed by String parses to the same statement.
//
// Errors are fault errors with the byte offset in the text that was given.
// An option's value has its final Go type here, so nothing behind this package
// meets a string such as '15 minutes'.
//
// The package is pure: it must not know DuckDB, the lake, jobs or protocols.
package ddl
