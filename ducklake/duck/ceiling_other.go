//go:build !linux

package duck

import "runtime"

// SetCeiling does nothing: DuckDB's allocations can be refused on Linux only.
func SetCeiling(uint64) {}

// Refused is 0 here.
func Refused() uint64 { return 0 }

// Resident is what the Go runtime knows of the memory of the process.
func Resident() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.Sys - m.HeapReleased
}

// Purge does nothing.
func Purge() {}

// Trim does nothing.
func Trim() {}
