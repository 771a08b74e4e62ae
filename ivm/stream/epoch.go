package stream

import (
	"context"
	"slices"
	"time"
)

// reflectEvery is how often a frontier that moves without output is made known to other sessions and servers.
const reflectEvery = 200 * time.Millisecond

// epoch takes the members that are furthest behind a step on, and publishes what has come of it. It says whether it did anything.
func (g *group) epoch(ctx context.Context) (worked bool, err error) {
	if g.foreign.Swap(false) {
		for _, m := range slices.Clone(g.members) {
			if !slices.Contains(g.members, m) {
				continue // what it reads was dropped with its table
			}
			if _, err := m.heal(ctx); err != nil {
				g.drop(m, report{state: Recovering, cause: err, again: true, clean: true})
			}
		}
	}
	if len(g.ready()) > 0 { // what could not be committed before
		if err := g.publish(ctx); err != nil {
			return false, err
		}
		worked = true
	}
	if len(g.members) == 0 {
		return false, nil
	}
	l, err := g.next(ctx)
	if err != nil {
		return worked, err
	}
	if l == nil {
		return worked, g.reflect(ctx)
	}
	for _, m := range l.cluster {
		if err := m.read(ctx, l); err != nil {
			if t := trouble(err); t.state != "" {
				g.drop(m, t)
				return true, nil // the others try again without it
			}
			return worked, err
		}
	}
	for _, m := range l.cluster {
		if !slices.Contains(g.members, m) {
			continue // what it reads has failed
		}
		if err := m.step(ctx, l); err != nil {
			if ctx.Err() != nil {
				return false, ctx.Err()
			}
			g.drop(m, stepped(err))
			continue
		}
		m.keep()
		if m.erring() && !m.mending {
			g.drop(m, failed(m))
		}
	}
	if err := g.publish(ctx); err != nil {
		return worked, err
	}
	return true, nil
}

// next is the next leap: of the members that are furthest behind, to the others, or of all of them to the lake's head. It is nil when there
// is nothing to do.
func (g *group) next(ctx context.Context) (*leap, error) {
	low, high, tick := g.members[0].frontier, g.members[0].frontier, false
	now := g.c.Now().UnixMicro()
	for _, m := range g.members {
		low, high = min(low, m.frontier), max(high, m.frontier)
	}
	l := &leap{clock: now}
	for _, m := range g.members {
		if m.frontier == low {
			l.cluster = append(l.cluster, m)
			l.published = max(l.published, m.published)
			tick = tick || m.graph.Due(now) && now-m.clock >= m.options.Tick.Microseconds()
		}
	}
	to := high
	if low == high {
		to = g.log.head()
	} else {
		for _, m := range g.members {
			if m.frontier == high {
				l.published = max(l.published, m.published)
			}
		}
	}
	if to <= low && !tick {
		return nil, nil
	}
	tables, rows := map[int64]bool{}, int64(0)
	outside := false
	for _, m := range l.cluster {
		m.base(tables)
		rows = max(rows, m.options.BatchRows)
		outside = outside || slices.ContainsFunc(m.inputs, func(in *input) bool { return in.stream && l.in(in.reading.UUID) == nil })
	}
	if outside {
		rows = 0 // only at the others' frontier is it known which snapshot shows their results
	}
	commits, err := g.log.since(ctx, low, to)
	if err != nil {
		return nil, err
	}
	w := choose(commits, low, to, tables, rows)
	if len(w.schema) > 0 {
		for _, m := range slices.Clone(l.cluster) {
			if err := m.checkSchema(ctx, w.to); err != nil {
				t := trouble(err)
				if t.state == "" {
					return nil, err
				}
				g.drop(m, t)
				return nil, nil
			}
		}
		if outside && w.to < to {
			w.to, w.touched = to, nil
		}
	}
	l.to, l.touched = w.to, w.touched
	if w.commits == 0 && !tick && !outside {
		for _, m := range l.cluster {
			m.frontier = l.to
		}
		if low == high {
			return nil, nil
		}
	}
	return l, nil
}

// base adds the tables that are no streaming views.
func (m *member) base(to map[int64]bool) {
	for _, in := range m.inputs {
		if !in.stream {
			to[in.reading.TableID] = true
		}
	}
}
