// Package isolation looks at what the others feel while one client runs a long
// INSERT … SELECT, another a long CREATE TABLE AS, a third keeps a transaction
// with a write open and a fourth reads one batch of a large result and stops.
// Refreshes and small statements of other clients have to complete while all
// four go on; how long they took is only printed.
package isolation
