package stream_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/vegadb/vega-flight/ducklake/laketest"
	"github.com/vegadb/vega-flight/ivm/ivmtest"
)

// newTests are the engine's tests over a lake.
func newTests(t *testing.T, kind laketest.Kind) (*ivmtest.Lab, *mirror) {
	t.Helper()
	m := newMirror(t, kind)
	l, err := ivmtest.Open(t.Context(), m, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		t.Log(l.Counts.String())
		t.Log(m.told())
		t.Logf("%d changes were compared with the feed, and %d not", m.given.given, m.given.inside)
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l, m
}

// told is what has happened, and how often.
func (m *mirror) told() string {
	var lines []string
	for what, n := range m.done {
		lines = append(lines, fmt.Sprintf("%4d %s", n, what))
	}
	slices.Sort(lines)
	return "happened:\n" + strings.Join(lines, "\n")
}

// TestScripts runs the engine's scripts with lake tables and streaming views: $VEGA_SCRIPTS are patterns of their names, else those of
// which few cover much.
func TestScripts(t *testing.T) {
	pattern := os.Getenv("VEGA_SCRIPTS")
	if pattern == "" {
		pattern = "accounts kind*"
		if testing.Short() {
			pattern = "accounts"
		}
	}
	var paths []string
	for _, p := range strings.Fields(pattern) {
		found, err := filepath.Glob("../ivmtest/testdata/scripts/" + p)
		if err != nil || len(found) == 0 {
			t.Fatalf("there are no scripts %s: %v", p, err)
		}
		paths = append(paths, found...)
	}
	for i, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			l, _ := newTests(t, laketest.Kind(i%2))
			ivmtest.Run(t, l, path)
		})
	}
}

// perLake is how many cases one lake sees.
const perLake = 20

// TestHistories runs random queries and histories: the first ones always, $VEGA_SEEDS of them from $VEGA_SEED on, or new ones for $VEGA_MINUTES. With
// $VEGA_CALM nothing else happens, which tells whether what a seed found is the engine's.
func TestHistories(t *testing.T) {
	few := uint64(40)
	if testing.Short() {
		few = 5
	}
	first, cases, end := number("VEGA_SEED", 1), number("VEGA_SEEDS", few), time.Time{}
	if minutes := number("VEGA_MINUTES", 0); minutes > 0 {
		end = time.Now().Add(time.Duration(minutes) * time.Minute)
		if os.Getenv("VEGA_SEED") == "" {
			first = uint64(time.Now().Unix()) << 16
		}
		cases = 1 << 32
	}
	faults := 0
	for from := first; from < first+cases && (end.IsZero() || time.Now().Before(end)); from += perLake {
		kind := laketest.Kind(from / perLake % 2)
		t.Run(fmt.Sprintf("%s/%d", kind, from), func(t *testing.T) {
			l, _ := newTests(t, kind)
			for seed := from; seed < min(from+perLake, first+cases) && (end.IsZero() || time.Now().Before(end)); seed++ {
				t.Logf("seed %d", seed)
				text := ivmtest.NewCase(seed).Text()
				for i, ddl := range text.Tables {
					text.Tables[i] = strings.ReplaceAll(ddl, "HUGEINT", "BIGINT") // which lakes do not keep
				}
				err := text.Run(t.Context(), l, seed)
				var skipped *ivmtest.Skipped
				if errors.As(err, &skipped) {
					t.Logf("seed %d is skipped: %v", seed, err)
				} else if ivmtest.Faulty(err) {
					t.Errorf("seed %d: %v\n%s", seed, err, text.Script(fmt.Sprintf("seed_%d", seed)))
					faults++
					return // the lake may be in any state
				}
			}
		})
		if faults >= int(number("VEGA_FAULTS", 5)) {
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
