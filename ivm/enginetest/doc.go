// Package enginetest puts the materialized views on a lake for tests of what is
// above them.
//
// Read [Lake] and [Engine]: a real lake with the reserved catalog, and a
// running engine over it, both of which end with the test.
//
// The package must not be imported by anything but tests. It knows no
// protocol; the engine's own tests put theirs together by hand, because they
// replace parts of it.
package enginetest
