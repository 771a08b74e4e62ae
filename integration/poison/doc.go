// Package poison lets the server's DuckDB instance fail for good: the process
// must end by itself, not well, and say why once; the next one serves every view
// whole.
//
// The instance is poisoned by a full disk under the embedded catalog.
package poison
