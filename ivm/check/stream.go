package check

import (
	"context"
	"fmt"

	"github.com/vegadb/vega-flight/ivm/catalog"
	"github.com/vegadb/vega-flight/ivm/plan"
	"github.com/vegadb/vega-flight/ivm/stream"
)

// Planner makes plans of streaming views.
type Planner interface {
	Plan(ctx context.Context, v *catalog.View) (*plan.Plan, error)
}

// versions are the snapshots at which a streaming view's sources are not read as of its frontier: what a streaming view shows for a frontier
// is in the lake only later. One that is not ahead shows it now, since whatever changes it is published with what reads it; one that went on
// without its reader showed it when that was published.
func versions(set *catalog.Set, v *catalog.View, now int64) map[string]int64 {
	out := map[string]int64{}
	if v.Kind != catalog.Streaming {
		return out
	}
	for i := range v.Sources {
		up := set.ByUUID(v.Sources[i].UUID)
		switch {
		case up == nil || up.Kind != catalog.Streaming:
		case up.Published.Frontier.SourceVersion <= v.Published.Frontier.SourceVersion:
			out[up.UUID] = now
		default:
			out[up.UUID] = v.Published.Snapshot
		}
	}
	return out
}

// doubt says why a streaming view may rightly differ from what its query gives; "" when it may not.
func (c Config) doubt(ctx context.Context, v *catalog.View) (string, error) {
	records, err := c.Store.Control().Records(ctx)
	if err != nil {
		return "", err
	}
	r := records[v.UUID]
	switch _, watermark := v.Def.Options.Stream.Get("watermark_column"); {
	case r.Mode == stream.Future && r.Generation == v.Published.Generation:
		return fmt.Sprintf("only rows that came after snapshot %d count", r.Boundary), nil
	case watermark:
		return fmt.Sprintf("rows that came late do not count (%d were dropped)", r.Late), nil
	}
	if c.Plans == nil {
		return "", nil
	}
	p, err := c.Plans.Plan(ctx, v)
	if err != nil {
		return "", err
	}
	for _, n := range p.Nodes {
		if n.Choice {
			return "equal keys leave a choice, which DuckDB makes in another way", nil
		}
	}
	return "", nil
}
