// Package python runs real Python clients against the real server: ADBC's
// Flight SQL driver through its DBAPI module, and pyarrow's Flight client.
//
// Each script in this folder is given a server's URI and fails by its exit
// code. Its cases are the functions whose names start with "case_"; they run in
// the order written, each on a connection of its own (harness.py).
package python
