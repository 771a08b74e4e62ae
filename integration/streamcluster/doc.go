// Package streamcluster runs streaming views with two server processes on one
// lake with a PostgreSQL catalog and one data folder: views that run on one and
// are read on both, statements said to the other one, takeover when the owner
// is killed, with and without its checkpoints, and subscribers that move.
//
// Read main_test.go first: a lake and its servers by name.
package streamcluster
