package stream

import (
	"context"
	"slices"
	"time"

	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/ivm/catalog"
)

// components are the streaming views that belong together because one reads the other, each in topological order.
func components(set *catalog.Set) [][]*catalog.View {
	root := map[string]string{}
	var find func(string) string
	find = func(u string) string {
		if root[u] != u {
			root[u] = find(root[u])
		}
		return root[u]
	}
	var views []*catalog.View
	for _, v := range set.RefreshOrder() {
		if v.Kind == catalog.Streaming && v.Problem == nil {
			views = append(views, v)
			root[v.UUID] = v.UUID
		}
	}
	for _, v := range views {
		for _, src := range v.Sources {
			if _, ok := root[src.UUID]; ok {
				root[find(v.UUID)] = find(src.UUID)
			}
		}
	}
	var order []string
	byRoot := map[string][]*catalog.View{}
	for _, v := range views {
		r := find(v.UUID)
		if byRoot[r] == nil {
			order = append(order, r)
		}
		byRoot[r] = append(byRoot[r], v)
	}
	out := make([][]*catalog.View, len(order))
	for i, r := range order {
		out[i] = byRoot[r]
	}
	return out
}

// release takes members out of their groups, which are halted; the others of those groups wait to be grouped again.
func (s *Supervisor) release(which func(uuid string) bool) (out []*member) {
	for g := range s.groups {
		if !slices.ContainsFunc(s.membersOf(g), which) {
			continue
		}
		views := s.membersOf(g) // also those that it has let go and that were not heard of yet
		var rest []*member
		for _, m := range s.dissolve(g) {
			if which(m.view.UUID) {
				out = append(out, m)
			} else {
				rest = append(rest, m)
			}
		}
		s.mu.Lock()
		for _, uuid := range views {
			if which(uuid) {
				delete(s.groupOf, uuid)
			}
		}
		s.mu.Unlock()
		s.idle = append(s.idle, rest...)
	}
	return out
}

// gone notes that a view's member has left its group by itself.
func (s *Supervisor) gone(uuid string) {
	s.mu.Lock()
	g := s.groupOf[uuid]
	delete(s.groupOf, uuid)
	s.mu.Unlock()
	if g != nil && len(s.membersOf(g)) == 0 {
		s.dissolve(g)
	}
}

// dissolve ends a group and gives its members. One that waits for an answer that does not come is given up: its members end when it does, and
// until then nothing is made for their views, but for all others.
func (s *Supervisor) dissolve(g *group) []*member {
	members, ok := g.halt()
	delete(s.groups, g)
	if ok {
		return members
	}
	g.counted.Do(s.wg.Done)
	for _, uuid := range s.membersOf(g) {
		s.silent[uuid] = g
		s.mu.Lock()
		delete(s.groupOf, uuid)
		s.mu.Unlock()
		if sl := s.slots[uuid]; sl != nil && sl.live != nil {
			s.abandon(sl)
			sl.block(report{m: sl.live, state: Recovering, cause: errSilent, again: true})
		}
	}
	s.c.Log.Warn("streaming views wait for an answer of the catalog's and are given up", "views", len(g.results))
	return nil
}

// errSilent is why a view cannot go on that was stopped while it waited.
var errSilent = fault.CatalogGone.Newf("the catalog has not answered")

// errStopped is why a view cannot go on whose step was cut off, perhaps for another view's sake.
var errStopped = fault.JobInterrupted.Newf("it was stopped in the middle of a step")

// membersOf are the views whose group it is.
func (s *Supervisor) membersOf(g *group) (out []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for u, x := range s.groupOf {
		if x == g {
			out = append(out, u)
		}
	}
	return out
}

// regroup puts the members that belong together, with new ones, into groups of their own. Groups that stay as they are go on.
func (s *Supervisor) regroup(ctx context.Context, added []*member) {
	s.idle = append(s.idle, added...)
	if len(s.idle) == 0 {
		return
	}
	s.mu.Lock()
	set := s.latest
	s.mu.Unlock()
	for _, component := range components(set) {
		s.compose(ctx, component)
	}
	for _, m := range s.idle { // the view is gone
		s.end(m)
	}
	s.idle = nil
}

// compose makes one group of a component's members, if there are any that have none.
func (s *Supervisor) compose(ctx context.Context, component []*catalog.View) {
	in := func(m *member) int {
		return slices.IndexFunc(component, func(v *catalog.View) bool { return v.UUID == m.view.UUID })
	}
	var members []*member
	for i := 0; i < len(s.idle); {
		if in(s.idle[i]) < 0 {
			i++
			continue
		}
		members = append(members, s.idle[i])
		s.idle = slices.Delete(s.idle, i, i+1)
	}
	if len(members) == 0 {
		return
	}
	for g := range s.groups {
		if slices.ContainsFunc(s.membersOf(g), func(u string) bool {
			return slices.ContainsFunc(component, func(v *catalog.View) bool { return v.UUID == u })
		}) {
			members = append(members, s.dissolve(g)...)
		}
	}
	slices.SortFunc(members, func(a, b *member) int { return in(a) - in(b) })
	if members = s.whole(ctx, members); len(members) == 0 {
		return
	}
	g := newGroup(&s.c, s.log, s.tell, members)
	s.groups[g] = true
	s.mu.Lock()
	for _, m := range members {
		s.groupOf[m.view.UUID] = g
	}
	s.mu.Unlock()
	s.wg.Add(1)
	run, cancel := context.WithCancel(ctx)
	g.cancel = cancel
	go s.runGroup(run, g)
	g.wake()
}

// whole are the members whose streaming sources are among them; the others wait for theirs.
func (s *Supervisor) whole(ctx context.Context, members []*member) (out []*member) {
	there := map[string]bool{}
	for _, m := range members {
		if slices.ContainsFunc(m.inputs, func(in *input) bool { return in.stream && !there[in.reading.UUID] }) {
			s.mu.Lock()
			delete(s.groupOf, m.view.UUID)
			s.mu.Unlock()
			s.park(ctx, m)
			if sl := s.slots[m.view.UUID]; sl != nil {
				s.abandon(sl) // a next generation that is built beside it: the member that is made again may be of that one
				sl.phase, sl.live, sl.beside, sl.due = Absent, nil, 0, time.Time{}
				sl.say(Recovering, Reason{Message: waitsForViews})
			}
			continue
		}
		there[m.view.UUID] = true
		out = append(out, m)
	}
	return out
}

// unite puts views into one group that belong together since another one reads both.
func (s *Supervisor) unite(ctx context.Context, component []*catalog.View) {
	var groups []*group
	s.mu.Lock()
	for _, v := range component {
		if g := s.groupOf[v.UUID]; g != nil && !slices.Contains(groups, g) {
			groups = append(groups, g)
		}
	}
	s.mu.Unlock()
	if len(groups) < 2 {
		return
	}
	for _, g := range groups {
		s.idle = append(s.idle, s.dissolve(g)...)
	}
	s.regroup(ctx, nil)
}

// waitsForViews is the reason of a view whose sources do not run.
const waitsForViews = "it waits for the streaming views that it reads"

// runGroup runs a group.
func (s *Supervisor) runGroup(ctx context.Context, g *group) {
	defer g.counted.Do(s.wg.Done)
	defer g.cancel()
	g.run(ctx)
}
