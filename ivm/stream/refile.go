package stream

import (
	"context"
	"errors"
	"time"

	"github.com/vegadb/vega-flight/ivm/zset"
)

// worn says that it is time to look.
func (g *group) worn() bool { return g.commits >= g.c.RefileEvery }

// refile has files of the results rewritten that are mostly dead: whatever a view publishes, its table has few files for its rows. It says
// whether it did anything.
func (g *group) refile(ctx context.Context) (bool, error) {
	members := g.settled()
	if g.aloft != nil || len(members) == 0 || len(members) < len(g.members) {
		return false, nil
	}
	g.commits = 0
	c, err := g.commitment(ctx, members)
	if err != nil {
		return false, err
	}
	at := make([]point, len(members))
	told := make([]func(int64), len(members))
	for i, m := range members {
		at[i] = m.point()
		told[i] = g.c.Publishing(m.view.UUID, zset.New(m.graph.Layout())) // nothing changes
	}
	began := time.Now()
	done, err := g.c.Sink.Refile(ctx, c)
	for i, tell := range told {
		if i < len(done) && done[i].Exact {
			tell(done[i].Snapshot)
		} else {
			tell(0)
		}
	}
	if err != nil {
		g.commits = g.c.RefileEvery - 1 // behind the next commit, not behind that many more
		if errors.Is(err, ErrMoved) {
			return false, nil
		}
		_, err = g.refused(ctx, members, err)
		return false, err
	}
	if len(done) == 0 {
		return false, nil
	}
	err = g.committed(members, at, done, time.Since(began))
	g.commits = g.c.RefileEvery // there may be more
	return true, err
}
