package ducklake_test

import (
	"runtime"
	"testing"

	"github.com/vegadb/vega-flight/ducklake"
)

// waitBusy waits until a statement of the lake's users is under way.
func waitBusy(t *testing.T, l *ducklake.Lake, ended <-chan error) {
	t.Helper()
	for l.BusyConnections() == 0 {
		select {
		case err := <-ended:
			t.Fatalf("the statement ended: %v", err)
		default:
			runtime.Gosched()
		}
	}
}
