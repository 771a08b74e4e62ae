// Package check looks whether a lake's views are what they promise: it
// computes every view's query again at the source version that is recorded for
// its content and compares the two as multisets, and it looks for what
// interrupted work may have left behind.
//
// Read [Run] first, then [Kind]: the list of what may be found. A finding is a
// failure or a note; notes are what cannot be told (a query that is not
// reproducible, history that has expired) or what the next server puts right
// by itself.
//
// It changes nothing. It may run beside servers; what they are working on is
// not a leftover.
package check
