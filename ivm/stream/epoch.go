package stream

import (
	"context"
	"slices"
	"time"
)

// reflectEvery is how often a frontier that moves without output is made known to other sessions and servers.
const reflectEvery = 200 * time.Millisecond

// epoch does what is next: it notes what became of a commit, publishes, or takes the members that are furthest behind a step on. It says
// whether it did anything.
func (g *group) epoch(ctx context.Context) (worked bool, err error) {
	g.until = time.Time{}
	if g.aloft != nil && (g.aloft.over() || !g.steady()) {
		if err := g.land(ctx); err != nil {
			return false, err
		}
		worked = true
	}
	if g.aloft == nil && g.foreign.Swap(false) {
		for _, m := range slices.Clone(g.members) {
			if !slices.Contains(g.members, m) {
				continue // what it reads was dropped with its table
			}
			if _, err := m.heal(ctx); err != nil {
				g.drop(m, stepped(err)) // from its checkpoint on, it finds what was written
			}
		}
	}
	if g.aloft == nil && len(g.ready()) > 0 && !g.steady() { // also what could not be committed before
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
	switch g.deed(l) {
	case rest:
		if l == nil && g.aloft == nil {
			err = g.reflect(ctx)
		}
		return worked, err
	case publish:
		return true, g.depart(ctx)
	}
	if done, err := g.leap(ctx, l); !done || err != nil {
		return worked || done, err
	}
	if g.aloft != nil || len(g.members) == 0 {
		return true, nil
	}
	if !g.steady() {
		return true, g.publish(ctx)
	}
	if l, err = g.next(ctx); err == nil && g.deed(l) == publish { // nothing comes between an idle view's step and its publication
		err = g.depart(ctx)
	}
	return true, err
}

// deed is what is to be done when a leap, or none, is the next.
func (g *group) deed(l *leap) deed {
	now := time.Now()
	f := flow{aloft: g.aloft != nil, work: l != nil}
	if l == nil {
		g.since = time.Time{}
	} else {
		if g.since.IsZero() {
			g.since = now
		}
		f.full, f.workSince = l.full, g.since
	}
	if g.aloft != nil || g.steady() { // else what can be published is
		for _, m := range g.ready() {
			if !m.news() {
				continue
			}
			if !f.pending || m.since.Before(f.pendingSince) {
				f.pendingSince = m.since
			}
			f.pending = true
			f.pendingBytes += m.pendingBytes()
		}
	}
	d, until := pacingOf(g.members).next(f, now)
	g.until = until
	return d
}

// leap takes the members of a leap through it. done is false when nothing was changed.
func (g *group) leap(ctx context.Context, l *leap) (done bool, err error) {
	for again := true; again; again = l.shorten != nil && l.shorten() {
		for _, m := range l.cluster {
			if err := m.read(ctx, l); err != nil {
				if t := trouble(err); t.state != "" {
					if t.lasting() {
						g.last(ctx)
					}
					g.drop(m, t)
					return true, nil // the others try again without it
				}
				return false, err
			}
		}
	}
	g.since = time.Time{}
	before := spotsOf(l.cluster)
	var reports []report // told when all have their changes from each other: a commit may have to be undone for it
	var on []*member     // that have come through
	failed := map[string]bool{}
	for _, m := range l.cluster {
		if slices.ContainsFunc(m.inputs, func(in *input) bool { return failed[in.reading.UUID] }) {
			failed[m.view.UUID] = true // it goes with what it reads
			continue
		}
		if err := m.step(ctx, l); err != nil {
			if ctx.Err() != nil {
				g.keep(on)
				if m.broken { // the group may have been ended for another view's sake
					g.drop(m, report{state: Recovering, cause: errStopped, again: true})
				}
				return false, ctx.Err()
			}
			r := stepped(err)
			r.m, failed[m.view.UUID] = m, true
			reports = append(reports, r)
			continue
		}
		if m.erring() && !m.mending {
			r := rowFailed(m)
			r.m, failed[m.view.UUID] = m, true
			reports = append(reports, r)
			continue
		}
		on = append(on, m)
	}
	if slices.ContainsFunc(reports, report.lasting) {
		after := spotsOf(l.cluster)
		before.restore()
		g.last(ctx)
		after.restore()
	}
	g.keep(on)
	for _, r := range reports {
		g.drop(r.m, r)
	}
	g.c.s.moved.fire()
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
	tables := map[int64]bool{}
	outside := false
	for _, m := range l.cluster {
		m.base(tables)
		outside = outside || slices.ContainsFunc(m.inputs, func(in *input) bool { return in.stream && l.in(in.reading.UUID) == nil })
	}
	p := pacingOf(l.cluster)
	if outside {
		p.rows, p.bytes = 0, 0 // only at the others' frontier is it known which snapshot shows their results
	}
	commits, err := g.log.since(ctx, low, to)
	if t := trouble(err); err != nil && t.clean { // what came between is gone
		for _, m := range l.cluster {
			g.drop(m, t)
		}
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	most := p.rows
	if p.bytes > 0 && g.rowBytes > 0 {
		most = max(1, min(most, p.bytes/g.rowBytes))
	}
	w := choose(commits, low, to, tables, most, 0)
	if len(w.schema) > 0 {
		for _, m := range slices.Clone(l.cluster) {
			if err := m.checkSchema(ctx, w.to); err != nil {
				t := trouble(err)
				if t.state == "" {
					return nil, err
				}
				if t.lasting() {
					g.last(ctx)
				}
				g.drop(m, t)
				return nil, nil
			}
		}
		if outside && w.to < to {
			w.to, w.touched = to, nil
		}
	}
	l.to, l.touched, l.full = w.to, w.touched, w.full || low < high || tick
	if !outside {
		l.shorten = func() bool {
			return g.shorten(l, p, &w, func(n int) window { return choose(commits, low, to, tables, most, n) })
		}
	}
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

// shorten makes a leap whose changes are more than an epoch may have one of fewer commits; false: it is as it is to be.
func (g *group) shorten(l *leap, p pacing, w *window, choose func(commits int) window) bool {
	rows, bytes := int64(1), int64(1)
	for _, m := range l.cluster {
		r, b := m.took()
		rows, bytes = max(rows, r), max(bytes, b)
	}
	g.rowBytes = (bytes + rows - 1) / rows
	if w.commits <= 1 || rows <= p.rows && bytes <= p.bytes {
		return false
	}
	n := int64(w.commits)
	fit := min(n*p.rows/rows, n*p.bytes/bytes)
	*w = choose(int(max(1, min(n-1, max(fit, n/2))))) // one commit may have most of it: if these are still too many, fewer are
	l.to, l.touched, l.full = w.to, w.touched, true
	return true
}

// base adds the tables that are no streaming views. Commits to those that the plan does not read are reflected, too.
func (m *member) base(to map[int64]bool) {
	for _, id := range m.unread {
		to[id] = true
	}
	for _, in := range m.inputs {
		if !in.stream {
			to[in.reading.TableID] = true
		}
	}
}
