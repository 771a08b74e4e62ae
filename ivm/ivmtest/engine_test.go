package ivmtest

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/vegadb/vega-flight/ivm/dataflow"
	"github.com/vegadb/vega-flight/ivm/eval/evaluator"
)

// newLab is a lab with the engine.
func newLab(t *testing.T, config map[string]string) *Lab {
	t.Helper()
	e, err := evaluator.Open(t.Context(), evaluator.Config{})
	if err != nil {
		t.Fatal(err)
	}
	l, err := Open(t.Context(), Dataflow{dataflow.BuildOptions{Evaluator: e, Groups: e}}, config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		t.Log(l.Counts.String())
		if err := errors.Join(l.Close(), e.Close()); err != nil {
			t.Error(err)
		}
	})
	return l
}

func TestScripts(t *testing.T) {
	l := newLab(t, nil)
	datadriven.Walk(t, "testdata/scripts", func(t *testing.T, path string) { Run(t, l, path) })
}

// TestRandom runs random cases: the first ones always, $VEGA_SEEDS of them from $VEGA_SEED on, or new ones for $VEGA_MINUTES.
func TestRandom(t *testing.T) {
	l := newLab(t, nil)
	first, cases, end := number64("VEGA_SEED", 1), number64("VEGA_SEEDS", 400), time.Time{}
	if m := number64("VEGA_MINUTES", 0); m > 0 {
		end = time.Now().Add(time.Duration(m) * time.Minute)
		if os.Getenv("VEGA_SEED") == "" {
			first = uint64(time.Now().Unix()) << 16
		}
		cases = 1 << 32
	}
	refused, faults, ran := map[string]int{}, 0, 0
	var lines []string
	for seed := first; seed < first+cases && (end.IsZero() || time.Now().Before(end)); seed++ {
		ran++
		c := NewCase(seed)
		err := c.Text().Run(t.Context(), l, seed)
		var why *Refused
		if errors.As(err, &why) {
			for _, r := range why.Reasons {
				refused[r.String()]++
			}
			lines = append(lines, fmt.Sprintf("seed %d: %s: %s", seed, why.Reasons[0], strings.Join(strings.Fields(c.Text().SQL), " ")))
			continue
		}
		if !Faulty(err) {
			continue
		}
		small := Shrink(t.Context(), l, c, time.Duration(number64("VEGA_SHRINK", 20))*time.Second).Text()
		t.Errorf("seed %d: %v\nsmaller: %v\n%s", seed, err, small.Run(t.Context(), l, seed), small.Script(fmt.Sprintf("seed_%d", seed)))
		if faults++; faults >= int(number64("VEGA_FAULTS", 10)) {
			t.Fatal("that is enough")
		}
	}
	for why, n := range refused {
		t.Logf("refused %d times: %s", n, why)
	}
	if os.Getenv("VEGA_SEED") == "" && os.Getenv("VEGA_SEEDS") == "" && end.IsZero() {
		golden(t, lines)
	}
	t.Logf("%d cases from seed %d", ran, first)
}

func number64(name string, otherwise uint64) uint64 {
	if n, err := strconv.ParseUint(os.Getenv(name), 10, 64); err == nil {
		return n
	}
	return otherwise
}
