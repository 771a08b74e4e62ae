package ivmtest

import (
	"testing"

	"github.com/cockroachdb/datadriven"
)

// newRecompute is a lab for testing the harness itself.
func newRecompute(t *testing.T) *Lab {
	o, err := openOracle(nil)
	if err != nil {
		t.Fatal(err)
	}
	l, err := Open(t.Context(), recompute{o}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		t.Log(l.Counts.String())
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		if err := o.close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

func TestTheHarness(t *testing.T) {
	l := newRecompute(t)
	datadriven.Walk(t, "testdata/scripts", func(t *testing.T, path string) { Run(t, l, path) })
}
