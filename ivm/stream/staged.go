package stream

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/ivm/catalog"
)

const (
	// stagedRows is how many rows of a source are worth a query of their own.
	stagedRows = 1 << 17
	// discardWait bounds how long removing files may take when nobody waits for it.
	discardWait = 10 * time.Second
	// fillTries is how often a first content is committed again that others were faster than.
	fillTries = 8
)

// fill publishes the view's first content as DuckDB answers its query, if that is the only answer: nobody has to wait for the state that later
// changes are computed from. False says that nothing is published, and the content is to be computed; if the query has failed, that tells which
// row is at fault.
func (m *member) fill(ctx context.Context, at place, say saying) (bool, error) {
	staged, err := m.stage(ctx, at)
	if staged == nil || err != nil {
		return false, err
	}
	m.figures.read(int(staged.Rows()))
	if err = m.offer(ctx, staged, say); err == nil {
		return true, nil
	}
	m.discard(ctx, staged)
	return false, err
}

// discard removes what was made, unless it was committed.
func (m *member) discard(ctx context.Context, staged Staged) {
	end, stop := context.WithTimeout(context.WithoutCancel(ctx), discardWait)
	defer stop()
	if err := staged.Discard(end); err != nil {
		m.c.Log.Warn("what was made of the first content of a streaming view", "view", m.name(), "error", err)
	}
}

// stage has the content made by a query, as files of no commit; nil when it is to be computed.
func (m *member) stage(ctx context.Context, at place) (Staged, error) {
	sink, ok1 := m.c.Sink.(Stager)
	source, ok2 := m.c.Source.(Summariser)
	planner, ok3 := m.c.Planner.(Querier)
	if !ok1 || !ok2 || !ok3 || m.served.Epoch > 0 || m.after > 0 || !m.plan.Certain() {
		return nil, nil
	}
	large := false
	for i, in := range m.inputs {
		if in.stream {
			return nil, nil // what it shows may be of another time than the tables beside it
		}
		if m.graph.Gathered(i) {
			continue // a lake's joins are planned without statistics, so that joining sums is faster
		}
		n := source.Size(ctx, in.reading)
		large = large || n < 0 || n >= stagedRows
	}
	if !large {
		return nil, nil
	}
	if !m.readable(ctx, source, at.frontier) {
		return nil, ctx.Err()
	}
	q, err := m.query(ctx, planner, at.frontier)
	if err == nil {
		var staged Staged
		if staged, err = sink.Stage(ctx, m.spec(), q, m.view.Def.TimeZone); err == nil {
			if m.readable(ctx, source, at.frontier) { // it was all the time what the content is
				return staged, nil
			}
			m.discard(ctx, staged)
			return nil, ctx.Err()
		}
	}
	switch code := fault.CodeOf(err); {
	case full(err), code == fault.MemoryExhausted, code == fault.Fenced:
		return nil, err
	}
	return nil, ctx.Err()
}

// readable says that a query over the tables at a snapshot reads what their contents are.
func (m *member) readable(ctx context.Context, source Summariser, at int64) bool {
	for _, in := range m.inputs {
		if _, err := source.Relation(ctx, in.reading, at); err != nil {
			return false
		}
	}
	return true
}

// query is the view's query over its tables as they were at a snapshot.
func (m *member) query(ctx context.Context, planner Querier, at int64) (string, error) {
	uuids := make([]string, len(m.view.Sources))
	for i, s := range m.view.Sources {
		uuids[i] = s.UUID
	}
	tables, err := m.c.Source.Tables(ctx, uuids, at)
	if err != nil {
		return "", err
	}
	return planner.Text(ctx, m.view, tables, at)
}

// offer commits a content that was made, says that it can be read, and notes where its rows lie.
func (m *member) offer(ctx context.Context, staged Staged, say saying) (err error) {
	if m.result, err = m.c.Sink.Open(ctx, m.spec(), m.remembered(), Mark{}); err != nil {
		return err
	}
	f := catalog.At(m.frontier, m.view.Sources, m.c.upstream)
	f.Clock = m.clock
	c := Commitment{ID: uuid.Must(uuid.NewV7()).String(), Members: []Change{{
		View: m.view.Name(), UUID: m.view.UUID, Result: m.result, Staged: staged,
		Generation: m.served.Generation, Epoch: m.served.Epoch, NextGeneration: m.generation, Frontier: f,
	}}}
	began := time.Now()
	b, done, err := m.commitFirst(ctx, c)
	if err != nil {
		return err
	}
	m.figures.Frontier.Store(m.frontier)
	say(Recovering, Reason{Message: "its first content can be read; the state that it follows its sources with is being computed"}, &m.figures)
	if done, err = b.Finish(ctx, done); err != nil {
		return err
	}
	m.served = point{Generation: done[0].Generation, Epoch: done[0].Epoch, Frontier: m.frontier, Clock: m.clock, Published: done[0].Snapshot}
	m.published = max(m.published, done[0].Snapshot)
	m.figures.published(m, m.point(), time.Since(began))
	m.c.s.moved.fire()
	return nil
}

// commitFirst makes a commit, again while others are faster or the catalog is away.
func (m *member) commitFirst(ctx context.Context, c Commitment) (Bundle, []Published, error) {
	for n := 0; ; n++ {
		b, err := m.c.Sink.Prepare(ctx, c)
		if err != nil {
			return nil, nil, err
		}
		done, err := b.Commit(ctx)
		if err == nil {
			return b, done, nil
		}
		if code := fault.CodeOf(err); n == fillTries || code != fault.CommitConflict && code != fault.CatalogGone {
			return nil, nil, err
		}
		timer := time.NewTimer(backoff(n))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil, nil, ctx.Err()
		}
		if err := m.result.Reload(ctx); err != nil {
			return nil, nil, err
		}
	}
}
