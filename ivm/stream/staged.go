package stream

import (
	"context"
	"errors"
	"time"

	"github.com/vegadb/vega-flight/ivm/dataflow"
	"github.com/vegadb/vega-flight/ivm/zset"
)

const (
	// stagedRows is how many rows of a source are worth a query of their own.
	stagedRows = 1 << 17
	// discardWait bounds how long removing files may take when nobody waits for it.
	discardWait = 10 * time.Second
)

// stage has the first content made by a query, where the view keeps nothing and reads one table: the rows need not come here, and the files are there
// as soon as the query has run. False says that the content is to be computed; if the query fails, that tells which row is at fault. What the
// sources are by then is caught up with when this is published.
func (m *member) stage(ctx context.Context, at place) (bool, error) {
	sink, ok1 := m.c.Sink.(Stager)
	source, ok2 := m.c.Source.(Summariser)
	q := m.graph.Whole()
	if !ok1 || !ok2 || q == nil || m.served.Epoch > 0 || m.after > 0 || m.inputs[0].stream {
		return false, nil
	}
	r := m.inputs[0].reading
	if n := source.Size(ctx, r); n >= 0 && n < stagedRows {
		return false, nil
	}
	relation, err := source.Relation(ctx, r, at.frontier)
	if err == nil {
		m.staged, err = sink.Stage(ctx, m.spec(), q.Of(relation))
	}
	if err == nil {
		_, err = source.Relation(ctx, r, at.frontier) // it was all the time what the content is
	}
	if err != nil {
		return false, errors.Join(ctx.Err(), m.discard())
	}
	if _, err := m.graph.LoadFrom(ctx, m.clock, dataflow.Nothing); err != nil {
		return false, err
	}
	m.pending, m.fresh = zset.New(m.graph.Layout()), true
	m.figures.read(int(m.staged.Rows()))
	m.result, err = m.c.Sink.Open(ctx, m.spec(), m.remembered(), Mark{})
	return true, err
}

// discard removes what was staged and not published.
func (m *member) discard() error {
	staged := m.staged
	if staged == nil {
		return nil
	}
	m.staged = nil
	ctx, stop := context.WithTimeout(context.Background(), discardWait)
	defer stop()
	return staged.Discard(ctx)
}
