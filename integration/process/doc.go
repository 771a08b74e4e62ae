// Package process runs the real vega-flight binary for tests: build it once,
// start it on a folder, talk to it through arrow-go's Flight SQL client, kill
// it or stop it, start it again on the same folder.
//
// Read [Server] first. A Server that is still running at the end of its test
// is stopped, and a test fails when its server ended by itself.
//
// It knows the product only from outside: its command line, its ready file and
// the protocol.
package process
