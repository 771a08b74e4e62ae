// Package tables keeps the tables of the documentation as the code has them.
//
// Read [Keep]: a test gives it a page and the tables that belong into it. A
// table stands between two comments, `<!-- name -->` and `<!-- end -->`; with
// the flag -update the test writes them, without it an old one fails.
//
// The package must not be imported by anything but tests, and imports nothing
// of ours.
package tables
