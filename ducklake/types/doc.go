// Package types decides what a lake does with each SQL type.
//
// Read [Lake] first: a type is kept, stands in for another one, or is refused.
// [Inlined] says where rows may lie, [Arrow] starts from an Arrow type.
//
// The answers are not read from a specification: the package's test writes edge
// values of every DuckDB type into lakes of both catalogs, inlined and as files,
// flushes, updates, merges and reads them back, also at older versions, and
// fails when a decision here is not what it saw. docs/types.md is made from the
// same table.
//
// The package is pure: it must not know DuckDB, a lake or a catalog.
package types
