// Package streamcrash kills the real server while it runs streaming views, and
// treats them badly in other ways: disks that are full, state that is garbage,
// views dropped in every state.
//
// Read world_test.go first: the tables and views, and the plain DuckDB that
// says what is right. Kills come at random moments and at named ones
// (moment_test.go): the first bytes of a commit, a checkpoint, a backfill, a
// rescale and others, seen by what the server does to its files.
//
// The lake is an embedded one, and in fewer lives one with a PostgreSQL catalog
// (postgres_test.go), which goes on with what the dead server was committing.
//
// The number of kills is VEGA_STREAM_KILLS (default 100, and 24) and the seed is
// VEGA_SEED; equal seeds give equal workloads, not equal moments.
package streamcrash
