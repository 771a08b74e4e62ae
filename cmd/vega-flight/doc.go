// Command vega-flight serves a DuckLake over Arrow Flight SQL and keeps its
// materialized views.
//
// This package is the wiring and the command line, nothing else: serve.go puts
// the lake, the engine and the protocol edge together; config.go is the one
// struct behind flags, environment and file, and environment.go names the
// variables that nothing reads; sql.go with output.go, check.go, extensions.go
// and users.go are the other commands; http.go and metrics.go are what an
// operator's tools read. layers_test.go holds the import rules of the house.
//
// Exit codes: 0 done, 1 the command failed (one line on standard error says
// why, starting with the error's stable name), 2 wrong usage.
package main
