package process

import (
	"testing"

	"golang.org/x/sys/unix"
)

// LimitFiles lets no file of the server grow beyond so many bytes, by the limit of the process; negative: any. What it writes beyond fails, as on
// a full disk. It needs no rights and no file system of its own.
func (s *Server) LimitFiles(t testing.TB, bytes int64) {
	t.Helper()
	var limit unix.Rlimit
	if err := unix.Prlimit(s.PID, unix.RLIMIT_FSIZE, nil, &limit); err != nil {
		t.Fatal(err)
	}
	limit.Cur = limit.Max
	if bytes >= 0 {
		limit.Cur = uint64(bytes)
	}
	if err := unix.Prlimit(s.PID, unix.RLIMIT_FSIZE, &limit, nil); err != nil {
		t.Fatal(err)
	}
}
