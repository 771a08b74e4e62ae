// Package bind is DuckDB as the front end of view definitions: it makes a
// query independent of the session that wrote it, and follows its sources
// when they are renamed.
//
// Read [Binder] first, then [Text]. A canonical query names its sources as they
// were called when the view was made, and never changes; [Text.Read] puts their
// present names and, for reading history, a version into it. It finds the names
// by the positions in DuckDB's own parse tree and changes nothing else: a text
// printed from that tree would not be the same query (1e10 comes back as a
// decimal).
//
// [Planner] asks DuckDB for the plan of a query, over empty tables that it makes
// for that and rolls back, and [Binder.Stream] does so for a query of the lake.
// now() is a parameter while it plans, so that DuckDB does not fold it. The
// queries under testdata/plans are the specification of what comes out; each
// plan is also written as SQL again and run beside its query.
//
// The package must not know jobs, schedules or what is published.
package bind
