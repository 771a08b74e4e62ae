package ivmtest

import "testing"

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

// The harness itself, with DuckDB in place of the engine: what it emits is any change that is right.
func TestTheHarness(t *testing.T) { Run(t, newRecompute(t), "testdata/scripts/harness") }
