package process

import (
	"os"
	"testing"
)

// Missing skips a test for something that the machine does not have, but not in CI, where all tests run.
func Missing(t testing.TB, format string, args ...any) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatalf(format, args...)
	}
	t.Skipf(format, args...)
}
