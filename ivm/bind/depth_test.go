package bind

import (
	"context"
	"fmt"
	"testing"

	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/ivm/plan"
	"github.com/vegadb/vega-flight/ivm/row"
)

// A query that DuckDB would plan for hours is refused at once.
func TestDeeplyNestedQueries(t *testing.T) {
	p := newPlanner(t)
	sources := []*plan.Source{{Schema: "main", Name: "t", Columns: []plan.TableColumn{{Name: "k", Type: row.MustType("INTEGER")}}}}
	nested := func(levels int) string {
		q := "SELECT k, count(*) AS n FROM lake.main.t GROUP BY k"
		for range levels - 1 {
			q = fmt.Sprintf("SELECT k, count(*) AS n FROM (%s) GROUP BY k", q)
		}
		return q
	}
	if _, err := p.Plan(context.Background(), Query{SQL: nested(maxDepth), Sources: sources}); err != nil {
		t.Error(err)
	}
	for _, levels := range []int{maxDepth + 1, 60} {
		if _, err := p.Plan(context.Background(), Query{SQL: nested(levels), Sources: sources}); fault.CodeOf(err) != fault.NotYetSupported {
			t.Errorf("%d levels: %v", levels, err)
		}
	}
}
