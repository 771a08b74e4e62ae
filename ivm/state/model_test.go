package state_test

import (
	"math/rand/v2"
	"testing"

	"go.uber.org/goleak"

	"github.com/vegadb/vega-flight/ivm/state"
	"github.com/vegadb/vega-flight/ivm/state/statetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestMemoryTableIsItsModel(t *testing.T) {
	for _, s := range statetest.Shapes() {
		t.Run(s.Name, func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(1, 2))
			tab, m := state.New(s.Spec), statetest.NewModel(s.Spec)
			for range 5 {
				m.Drive(t, tab, s, rnd, s.Steps/5)
				m.Batches(t, tab, s, rnd)
				m.Check(t, tab)
			}
		})
	}
}
