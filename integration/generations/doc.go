// Package generations reads a view in a loop while it is refreshed fifty
// times, each time with other rows: every read is one whole generation, and no
// reader ever sees an older one after a newer one.
package generations
