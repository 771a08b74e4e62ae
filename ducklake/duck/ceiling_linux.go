package duck

/*
#cgo LDFLAGS: -Wl,--wrap=duckdb_je_pages_map -Wl,--wrap=duckdb_je_extent_alloc_dss
#include "ceiling_linux.h"
*/
import "C"

// SetCeiling bounds the resident memory of the whole process: DuckDB's larger allocations that would lead above it are
// refused, and their statements fail with an "Out of Memory" error. 0 takes the bound away.
func SetCeiling(bytes uint64) { C.vega_ceiling_set(C.ulonglong(bytes)) }

// Refused is how many allocations were refused because of the ceiling.
func Refused() uint64 { return uint64(C.vega_ceiling_refused()) }

// Resident is the resident memory of the process, 0 when the system does not tell.
func Resident() uint64 { return uint64(C.vega_resident()) }

// Purge gives memory that DuckDB has freed and still keeps back to the system.
func Purge() { C.vega_purge() }

// Trim does the same for what DuckDB has from operator new. It takes longer.
func Trim() { C.vega_trim() }
