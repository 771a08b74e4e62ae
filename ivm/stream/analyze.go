package stream

import (
	"context"
	"sync"

	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/ivm/dataflow"
	"github.com/vegadb/vega-flight/ivm/plan"
)

// Analysis is what the operators of a running view have done since its member was made, and what they remember.
type Analysis struct {
	Plan       *plan.Plan
	Nodes      []dataflow.NodeFigures
	Watermarks []dataflow.Mark
}

// analyses are members' analyses, which their groups make when they are asked for.
type analyses struct {
	mu     sync.Mutex
	asked  int64
	number int64 // of the question that this is the answer to
	is     Analysis
}

// ask gives the number of a new question.
func (a *analyses) ask() int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked++
	return a.asked
}

// answer is the analysis, if it was made after the question.
func (a *analyses) answer(number int64) (Analysis, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.is, a.number >= number
}

// analyze answers what was asked, between epochs.
func (m *member) analyze() (told bool) {
	a := &m.figures.analyses
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.number == a.asked {
		return false
	}
	a.number, a.is = a.asked, Analysis{Plan: m.plan, Nodes: m.graph.Figures(), Watermarks: m.graph.Watermarks()}
	return true
}

// Analyze tells of a view's operators. Only the server that runs the view can.
func (s *Supervisor) Analyze(ctx context.Context, uuid string) (Analysis, error) {
	var out Analysis
	number, of := int64(0), (*Figures)(nil)
	found := false
	err := s.Await(ctx, uuid, func(st Status, ok bool) bool {
		s.mu.Lock()
		g := s.groupOf[uuid]
		s.mu.Unlock()
		if !ok || g == nil || st.Figures == nil {
			return true
		}
		if of != st.Figures { // perhaps another member by now
			of, number = st.Figures, st.Figures.analyses.ask()
			g.wake()
		}
		out, found = of.analyses.answer(number)
		return found
	})
	if err == nil && !found {
		err = fault.NotReady.Newf("the view does not run on this server").WithHint("SHOW STREAMING MATERIALIZED VIEW says where it stands and which server runs it")
	}
	return out, err
}
