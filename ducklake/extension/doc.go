// Package extension finds and installs the DuckDB extensions that a lake
// needs: ducklake always, postgres_scanner for PostgreSQL catalogs.
//
// Read [Find] first: an extension is a file in
// <folder>/v<DuckDB version>/<platform>/<name>.duckdb_extension, as DuckDB
// itself lays them out. [Install] fetches that file from PyPI's wheels or from
// DuckDB's repository; whatever its source, the bytes must have the checksum
// that is pinned in checksums.go, and DuckDB checks its signature again at LOAD.
//
// The package must not open DuckDB.
package extension
