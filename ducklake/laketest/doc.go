// Package laketest makes lakes for tests, of each kind of catalog.
//
// Read [New] first: a lake in the test's temporary folder that is closed when
// the test ends. [Kinds] lists the catalogs a test should run over; [Each] runs
// it as one subtest a kind. [Place] is where a lake lies, for tests that open it
// several times or kill who has it open.
//
// A package that uses PostgreSQL lakes has
//
//	func TestMain(m *testing.M) { os.Exit(laketest.Main(m)) }
//
// which stops the server that the first such lake started, and fails when a
// goroutine is left over. The server is private to the test process: initdb in
// a temporary folder, loopback only, its own port. Where PostgreSQL is not
// installed such tests are skipped, with the reason, but never in CI.
//
// The package must not be imported by anything but tests.
package laketest
