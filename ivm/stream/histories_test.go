package stream_test

import (
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

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

// TestHistories runs random queries and histories. With $VEGA_CALM nothing else happens, which tells whether what a seed found is the engine's.
func TestHistories(t *testing.T) {
	campaign(t, 40, 5, perLake, func(t *testing.T, kind laketest.Kind, seeds iter.Seq[uint64]) {
		l, _ := newTests(t, kind)
		for seed := range seeds {
			text := ivmtest.NewCase(seed).Text()
			for i, ddl := range text.Tables {
				text.Tables[i] = strings.ReplaceAll(ddl, "HUGEINT", "BIGINT") // which lakes do not keep
			}
			err := text.Run(t.Context(), l, seed)
			var skipped *ivmtest.Skipped
			if errors.As(err, &skipped) {
				t.Logf("seed %d is skipped: %v", seed, err)
			} else if ivmtest.Faulty(err) {
				t.Fatalf("seed %d: %v\n%s", seed, err, text.Script(fmt.Sprintf("seed_%d", seed))) // the lake may be in any state
			}
		}
	})
}
