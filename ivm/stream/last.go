package stream

import (
	"context"
	"slices"

	"github.com/vegadb/vega-flight/ivm/dataflow"
	"github.com/vegadb/vega-flight/ivm/zset"
)

// lasting says that a view stays where it is until somebody mends something. Its last result is served meanwhile, which is to be the newest
// that there is.
func (r report) lasting() bool { return r.state == Failed || r.state == SchemaBlocked }

// last publishes what was computed before the trouble that members are let go for. If that does not succeed, their results are as they
// were committed last.
func (g *group) last(ctx context.Context) {
	err := g.land(ctx)
	if err == nil && len(g.ready()) > 0 {
		err = g.publish(ctx)
	}
	if err != nil && ctx.Err() == nil {
		g.c.Log.Warn("streaming views do not show all that was computed before they stopped", "views", g.names(), "error", err)
	}
}

// keep adds what members' steps have made to what is to be published.
func (g *group) keep(members []*member) {
	for _, m := range members {
		if slices.Contains(g.members, m) {
			m.keep()
		}
	}
}

// spot is where a member is as far as its publication goes, while its operators are somewhere else.
type spot struct {
	m               *member
	frontier, clock int64
	errors          []dataflow.RowError
	marks           []dataflow.Mark
	broken          bool
	unsaid          bool
	delta           *zset.Batch
}

type spots []spot

func spotsOf(members []*member) spots {
	out := make(spots, len(members))
	for i, m := range members {
		out[i] = spot{m, m.frontier, m.clock, m.errors, m.marks, m.broken, m.unsaid, m.delta}
	}
	return out
}

// restore takes the members there.
func (s spots) restore() {
	for _, p := range s {
		m := p.m
		m.frontier, m.clock, m.errors, m.marks, m.broken, m.delta = p.frontier, p.clock, p.errors, p.marks, p.broken, p.delta
		m.unsaid = m.unsaid || p.unsaid
	}
}
