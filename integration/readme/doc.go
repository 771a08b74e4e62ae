// Package readme runs what the README tells a newcomer to type: its SQL, its
// Python and Go examples and its command lines, against the real server.
package readme
