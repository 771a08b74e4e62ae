package statetest

import (
	"math/rand/v2"
	"testing"

	"github.com/vegadb/vega-flight/ivm/state"
)

// A Backing makes tables of one kind.
type Backing struct {
	Open    func(t *testing.T, spec state.Spec) *state.Table
	Between func(t *testing.T, tab *state.Table, rnd *rand.Rand) // what may happen between changes; nil: nothing
}

// Run is the suite.
func Run(t *testing.T, b Backing) {
	between := func(t *testing.T, tab *state.Table, rnd *rand.Rand) {
		if b.Between != nil {
			b.Between(t, tab, rnd)
		}
	}
	for _, s := range Shapes() {
		t.Run(s.Name, func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(1, 2))
			tab, m := b.Open(t, s.Spec), NewModel(s.Spec)
			for range 5 {
				for range 10 {
					m.Drive(t, tab, s, rnd, s.Steps/50)
					between(t, tab, rnd)
				}
				m.Batches(t, tab, s, rnd)
				m.Check(t, tab)
			}
		})
		if s.Spec.Entry == nil {
			continue
		}
		t.Run(s.Name+"/load", func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(1, 3))
			tab, m := b.Open(t, s.Spec), NewModel(s.Spec)
			for range 3 {
				m.Load(t, tab, s, rnd, 10000)
				between(t, tab, rnd)
				m.Check(t, tab)
				m.Drive(t, tab, s, rnd, 10000)
				between(t, tab, rnd)
				m.Check(t, tab)
			}
		})
	}
}
