package bind

import (
	"context"
	"testing"

	"github.com/vegadb/vega-flight/ivm/dataflow"
	"github.com/vegadb/vega-flight/ivm/eval/evaluator"
)

// TestAdmittedPlansAreBuilt makes the operators of each plan, which must work for exactly those that are admitted.
func TestAdmittedPlansAreBuilt(t *testing.T) {
	ctx := context.Background()
	p := newPlanner(t)
	e, err := evaluator.Open(ctx, evaluator.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	built, refused := 0, 0
	for _, c := range corpora(t) {
		for _, entry := range c.entries {
			pl, err := p.Plan(ctx, c.query(entry.sql))
			if err != nil {
				continue
			}
			g, _, err := dataflow.Build(ctx, pl, dataflow.BuildOptions{Evaluator: e, Groups: e})
			if err == nil {
				built++
				err = g.Close()
				if !pl.Admitted() {
					t.Errorf("%s is refused and can be built: %s", entry.name, entry.sql)
				}
			} else if refused++; !pl.Admitted() {
				err = nil
			}
			if err != nil {
				t.Errorf("%s: %s: %v", entry.name, entry.sql, err)
			}
		}
	}
	if t.Logf("%d plans are built, %d are refused", built, refused); built < 150 || refused == 0 {
		t.Error("that are too few")
	}
}
