package streamcrash

import (
	"context"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// until asks again and again until the answer is as wanted: what a server does by itself has no event here. last is what it was.
func until(t *testing.T, what string, wanted func() bool, last func() any) {
	t.Helper()
	guard, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for !wanted() {
		select {
		case <-tick.C:
		case <-guard.Done():
			t.Fatalf("never: %s; it is %v", what, last())
		}
	}
}
