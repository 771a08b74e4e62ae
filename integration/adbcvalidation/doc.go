// Package adbcvalidation runs the test suites that ADBC has for its drivers
// against the real server, through ADBC's own Flight SQL driver: an independent
// reading of what clients may expect.
//
// Where a suite's expectation is not ours, the test of that name is replaced
// here, with the reason.
package adbcvalidation
