package stream

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/ivm/catalog"
	"github.com/vegadb/vega-flight/ivm/zset"
)

// frontier of the member that is furthest.
func (g *group) high() int64 {
	high := int64(0)
	for _, m := range g.members {
		high = max(high, m.frontier)
	}
	return high
}

// still are the members that could be published: all that these are made from has values and is where they are.
func (g *group) still() []*member {
	var out []*member
	not := map[string]bool{}
	high := g.high()
	for _, m := range g.members {
		if m.broken || m.erring() || m.frontier < high || slices.ContainsFunc(m.inputs, func(in *input) bool { return not[in.reading.UUID] }) {
			not[m.view.UUID] = true
			continue
		}
		out = append(out, m)
	}
	return out
}

// ready are the members to be published: those that can be, if any of them has anything new.
func (g *group) ready() []*member {
	out := g.still()
	for _, m := range out {
		m.sumUp()
	}
	if !slices.ContainsFunc(out, (*member).news) {
		return nil
	}
	return out
}

// settled are the members whose state may become a checkpoint: all that they and what they are made from have is published.
func (g *group) settled() []*member {
	still := g.still()
	if slices.ContainsFunc(still, (*member).waiting) {
		return nil
	}
	return still
}

// tries is how often a commit is tried again after what somebody else wrote into the views was taken back.
const tries = 5

// publish commits what the members have, and the frontiers of all of them with it. Without anything to publish it makes frontiers known, now
// and then.
func (g *group) publish(ctx context.Context) error {
	for range tries {
		members := g.ready()
		if len(members) == 0 {
			return g.reflect(ctx)
		}
		again, err := g.commit(ctx, members)
		if err != nil || !again {
			return err
		}
	}
	return fault.CommitConflict.Newf("somebody else writes into the streaming views all the time")
}

// commit commits the members' changes, and waits for it. again says that it was not done and is worth another try at once.
func (g *group) commit(ctx context.Context, members []*member) (again bool, err error) {
	c, err := g.commitment(ctx, members)
	if err != nil {
		return false, err
	}
	at := make([]point, len(members))
	for i, m := range members {
		at[i] = m.point()
	}
	began := time.Now()
	told := g.announce(c)
	done, err := g.send(ctx, members, c)
	told(done)
	if err != nil {
		return g.refused(ctx, members, err)
	}
	for _, m := range members {
		m.pending, m.fresh = nil, false
	}
	return false, g.committed(members, at, done, time.Since(began))
}

// send makes the commit. Of a first content it is told that it can be read before it is known where its rows lie, which takes longer.
func (g *group) send(ctx context.Context, members []*member, c Commitment) ([]Published, error) {
	if !slices.ContainsFunc(members, (*member).first) {
		return g.c.Sink.Publish(ctx, c)
	}
	b, err := g.c.Sink.Prepare(ctx, c)
	if err != nil {
		return nil, err
	}
	done, err := b.Commit(ctx)
	for _, m := range members {
		if err == nil && m.first() && m.announce {
			g.tell(running{m})
		}
	}
	return b.Finish(ctx, done) // it says what counts
}

// first says that nothing of the view is published yet.
func (m *member) first() bool { return m.fresh && m.served.Epoch == 0 }

// commitment is the commit of what members have now.
func (g *group) commitment(ctx context.Context, members []*member) (Commitment, error) {
	c := Commitment{ID: uuid.Must(uuid.NewV7()).String()}
	for _, m := range members {
		delta, err := m.change(ctx)
		if err != nil {
			return c, err
		}
		c.Members = append(c.Members, Change{
			View: m.view.Name(), UUID: m.view.UUID, Result: m.result, Delta: delta,
			Generation: m.served.Generation, Epoch: m.served.Epoch, NextGeneration: m.generation, Frontier: g.frontier(m),
			Dropped: m.record(), Anew: m.fresh,
		})
	}
	return c, nil
}

// committed notes that what members had at some places is published.
func (g *group) committed(members []*member, at []point, done []Published, took time.Duration) error {
	if len(done) != len(members) {
		return fmt.Errorf("stream: %d of %d publications came back", len(done), len(members))
	}
	g.commits++
	snapshot := int64(0)
	for i, m := range members {
		m.sent, m.mending = nil, false
		m.served = point{Generation: done[i].Generation, Epoch: done[i].Epoch, Frontier: at[i].Frontier, Clock: at[i].Clock, Published: done[i].Snapshot}
		m.recorded, m.unsaid = at[i].Frontier, m.frontier != at[i].Frontier
		m.recordedUpTo(at[i].Frontier)
		m.figures.published(m, at[i], took)
		snapshot = max(snapshot, done[i].Snapshot)
	}
	for _, m := range members {
		m.published = max(m.published, snapshot)
	}
	g.c.s.moved.fire()
	return nil
}

// announce tells who follows the views what is about to be published, and then what became of it.
func (g *group) announce(c Commitment) (ended func(done []Published)) {
	tell := make([]func(int64), len(c.Members))
	for i, m := range c.Members {
		tell[i] = func(int64) {}
		if m.Epoch > 0 && m.Delta != nil && m.Delta.Len() > 0 { // nobody has subscribed to what is not there yet
			tell[i] = g.c.Publishing(m.UUID, m.Delta)
		}
	}
	return func(done []Published) {
		for i, f := range tell {
			if len(done) == len(tell) && done[i].Exact {
				f(done[i].Snapshot)
			} else {
				f(0)
			}
		}
	}
}

// change is what the table needs to show the member's result; nil for nothing.
func (m *member) change(ctx context.Context) (*zset.Batch, error) {
	if m.pending != nil && !m.first() { // a first content may have no need of it
		m.pending.Consolidate()
	}
	if !m.fresh {
		return m.pending, nil
	}
	return m.result.Difference(ctx, m.pending)
}

// frontier is a member's, as the catalog keeps it.
func (g *group) frontier(m *member) catalog.Frontier {
	f := catalog.At(m.frontier, m.view.Sources, func(id string) (catalog.Upstream, bool) {
		for _, up := range g.members {
			if up.view.UUID == id {
				return catalog.Upstream{Published: catalog.Published{Snapshot: m.frontier, Frontier: g.frontier(up)}, Meaning: up.view.Def.Meaning()}, true
			}
		}
		return g.c.upstream(id)
	})
	f.Clock = m.clock
	if m.marked() {
		f.Marks, f.Since = m.marksOf(), m.begun
	}
	return f
}

// refused deals with a commit that was not made.
func (g *group) refused(ctx context.Context, members []*member, err error) (again bool, _ error) {
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	var own *ViewError
	if errors.As(err, &own) && fault.CodeOf(err) == fault.RowFailed {
		for _, m := range slices.Clone(members) {
			if m.view.UUID == own.UUID {
				g.drop(m, report{state: Failed, cause: err})
			}
		}
		return true, nil
	}
	switch fault.CodeOf(err) {
	case fault.ResultChanged:
		any := false
		for _, m := range slices.Clone(members) {
			if !slices.Contains(g.members, m) {
				continue // what it reads is gone
			}
			foreign, err := m.heal(ctx)
			if err != nil {
				g.drop(m, stepped(err)) // from its checkpoint on, it finds what was written
			}
			any = any || foreign || err != nil
		}
		if !any { // a row to take back is not in the table, and nobody took it away
			for _, m := range members {
				g.drop(m, report{state: Recovering, cause: err, again: true, clean: true})
			}
		}
		return true, nil
	case fault.CommitConflict, fault.CatalogGone:
		return false, err // nothing is committed, all is as it was
	case fault.RefreshConflict, fault.Fenced:
		for _, m := range members {
			g.drop(m, report{cause: errors.Join(errLost, err), again: true})
		}
		return false, nil
	case fault.DiskFull:
		for _, m := range members {
			g.drop(m, report{state: ResourceBlocked, cause: err, again: true})
		}
		return false, nil
	}
	// What became of it is not known here: the catalog says it when they begin again.
	for _, m := range members {
		g.drop(m, report{state: Recovering, cause: err, again: true})
	}
	return false, nil
}

// reflect makes frontiers known that have moved without output, now and then.
func (g *group) reflect(ctx context.Context) error {
	if !slices.ContainsFunc(g.moved(), func(m *member) bool { return m.unsaid && time.Since(m.reflectedAt) >= reflectEvery }) {
		return nil
	}
	return g.reflectNow(ctx)
}

// moved are the members whose frontier could be made known.
func (g *group) moved() []*member {
	return slices.DeleteFunc(g.still(), func(m *member) bool { return m.recorded == m.frontier })
}

// reflectDropped makes the frontiers of members known that have dropped late changes: what is not recorded is to come again.
func (g *group) reflectDropped(ctx context.Context) error {
	if g.aloft != nil || !slices.ContainsFunc(g.moved(), (*member).unrecorded) {
		return nil
	}
	return g.reflectNow(ctx)
}

func (g *group) reflectNow(ctx context.Context) error {
	var moved []Change
	still := g.moved()
	// All of them: who reads a view is behind what it shows, unless it is told too.
	for _, m := range still {
		moved = append(moved, Change{View: m.view.Name(), UUID: m.view.UUID, Generation: m.served.Generation, Epoch: m.served.Epoch, Frontier: g.frontier(m), Dropped: m.record()})
	}
	err := g.c.Sink.Reflect(ctx, moved)
	if code := fault.CodeOf(err); code == fault.RefreshConflict || code == fault.Fenced {
		_, err = g.refused(ctx, still, err)
		return err
	}
	if err != nil {
		return err
	}
	now := time.Now()
	for _, m := range still {
		m.recorded, m.reflectedAt, m.unsaid = m.frontier, now, false
		m.served.Frontier, m.served.Clock = m.frontier, m.clock
		m.recordedUpTo(m.frontier)
	}
	return nil
}
