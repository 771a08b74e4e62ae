// Package flights replays real data into a lake, day by day, under streaming
// views, and compares every view with DuckDB's own answer over plain tables
// after every day: the flights that left New York in 2013, and TPC-H with its
// refresh functions.
//
// Read [TestTheFlightsOfAYear] first, then views_test.go. The writer is another
// connection, or, on a PostgreSQL catalog, another program: the plain duckdb
// package of Python. $VEGA_FLIGHT_DAYS and $VEGA_TPCH (a scale factor) make the
// runs longer.
package flights
