// Package command runs the command line as somebody at a terminal, a script or
// a supervisor would: how a server says that it is ready or why it cannot
// start, what it tells an operator over HTTP and in its log, what `sql` prints
// in each format and on a terminal, and what `check` finds.
package command
