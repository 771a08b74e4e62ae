// Package clients runs the clients that users bring against the real server: ADBC
// from Python and Go, database/sql by both of its drivers, JDBC, pyarrow, pandas,
// polars, DuckDB, SQLAlchemy and arrow-rs. Each does what its users do, logged in
// and over TLS where it can: load, types, parameters, transactions, metadata,
// cancelling, errors, views and subscriptions.
//
// Where a client cannot do something, its test says so too: docs/clients.md is
// right only as long as it is so. The programs of that page are run as they stand.
//
// `make deps` fetches the clients. What they need beyond registries, a JDK and
// Rust, may be absent: then their tests say so and are skipped.
package clients
