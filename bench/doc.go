// Command bench measures what the design promises, both sides in one run: the
// real server through real clients on one side, plain DuckDB or the ducklake
// extension's own DML on the other, in turn, on two lakes with equal content.
//
//	go run -tags duckdb_arrow ./bench [--quick] [--only NAME] [--json FILE]
//
// A measurement is a function that returns one [result]: the two medians, their
// ratio or difference, and the bar. Ratios come first: machines differ.
//
// stream.go (with export.go), roundtrip.go, refresh.go, commit.go, follow.go, backfill.go, keys.go and optimizers.go hold one measurement each;
// sides.go opens the two sides; report.go prints.
package main
