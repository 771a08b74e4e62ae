package process

import (
	"context"
	"testing"
	"time"
)

// Until asks again and again until the answer is as wanted, for what servers do by themselves, which has no event here. last is what the
// failure shows.
func Until(t *testing.T, what string, wanted func() bool, last func() any) {
	t.Helper()
	guard, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
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
