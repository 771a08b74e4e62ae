package stream_test

import (
	"fmt"
	"iter"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/vegadb/vega-flight/ducklake/laketest"
)

// campaign runs random histories on both catalogs in turn, perLake of them on each lake: the first few ones (fewer in short tests), $VEGA_SEEDS
// of them from $VEGA_SEED on, or new ones for $VEGA_MINUTES. It ends after $VEGA_FAULTS lakes with a fault.
func campaign(t *testing.T, few, fewer, perLake uint64, run func(t *testing.T, kind laketest.Kind, seeds iter.Seq[uint64])) {
	t.Helper()
	if testing.Short() {
		few = fewer
	}
	first, count, end := number("VEGA_SEED", 1), number("VEGA_SEEDS", few), time.Time{}
	if minutes := number("VEGA_MINUTES", 0); minutes > 0 {
		end, count = time.Now().Add(time.Duration(minutes)*time.Minute), 1<<32
		if os.Getenv("VEGA_SEED") == "" {
			first = uint64(time.Now().Unix()) << 16
		}
	}
	more := func() bool { return end.IsZero() || time.Now().Before(end) }
	faults := uint64(0)
	for from := first; from < first+count && more(); from += perLake {
		kind := laketest.Kind(from / perLake % 2)
		well := t.Run(fmt.Sprintf("%s/%d", kind, from), func(t *testing.T) {
			run(t, kind, func(yield func(uint64) bool) {
				for seed := from; seed < min(from+perLake, first+count) && more(); seed++ {
					t.Logf("seed %d", seed)
					if !yield(seed) {
						return
					}
				}
			})
		})
		if !well {
			faults++
		}
		if faults >= number("VEGA_FAULTS", 5) {
			t.Fatal("that is enough")
		}
	}
}

func number(name string, otherwise uint64) uint64 {
	if n, err := strconv.ParseUint(os.Getenv(name), 10, 64); err == nil {
		return n
	}
	return otherwise
}
