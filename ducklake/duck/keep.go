package duck

/*
#include <stdint.h>
#include <stdlib.h>
*/
import "C"

import (
	"runtime/cgo"
	"unsafe"
)

// keep hides a Go value behind C memory, so that DuckDB may hold it as data.
func keep(s *stream) unsafe.Pointer {
	p := (*C.uintptr_t)(C.malloc(C.sizeof_uintptr_t))
	*p = C.uintptr_t(cgo.NewHandle(s))
	return unsafe.Pointer(p)
}

// kept is the value behind p.
func kept(p unsafe.Pointer) *stream {
	return cgo.Handle(*(*C.uintptr_t)(p)).Value().(*stream)
}

//export duckScanForget
func duckScanForget(p unsafe.Pointer) {
	cgo.Handle(*(*C.uintptr_t)(p)).Delete()
	C.free(p)
}
