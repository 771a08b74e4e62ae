// Command examplehost is a host of a sidecar, to read and to copy from:
//
//	go run ./plugin/examplehost --binary ./.build/bin/vega-flight --lake /tmp/lake
//
// It launches vega-flight, makes a table, a streaming view and a traditional one, sends 100 MB and reads them back, kills the sidecar and goes on
// with the next one, exchanges the binary, and ends it in order. Read main.go first.
package main
