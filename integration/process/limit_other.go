//go:build !linux

package process

import "testing"

// LimitFiles is for systems where another process's limits can be set.
func (s *Server) LimitFiles(t testing.TB, _ int64) {
	t.Helper()
	t.Skip("another process's limits cannot be set here")
}
