// Package cluster runs several server processes on one lake with a PostgreSQL
// catalog and one data folder: refreshes of one view from two servers at once,
// a server that is killed while it works, and one that is frozen until the
// others have given it up.
//
// Read main_test.go first: a lake and its servers by name.
package cluster
