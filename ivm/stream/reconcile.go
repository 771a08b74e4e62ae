package stream

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/ivm/catalog"
)

// What groups and builders tell.
type (
	built struct {
		uuid  string
		build int64
		a     *attempt
		err   error
	}
	said struct {
		uuid   string
		build  int64
		state  State
		reason Reason
		does   *Figures // nil: nothing yet that is to be seen
	}
	stalled struct {
		m   *member
		err error
	}
	running struct{ m *member }
)

// hear takes one piece of news.
func (s *Supervisor) hear(ctx context.Context, n any) {
	switch n := n.(type) {
	case report:
		sl := s.slots[n.m.view.UUID]
		if sl == nil || sl.live != n.m {
			if sl != nil && sl.live == nil && n.m.generation == sl.generation {
				sl.clean = sl.clean || n.clean
			}
			return // it was let go for another reason before this was heard, and another one may be in its place
		}
		s.gone(n.m.view.UUID)
		sl.block(n)
		s.c.Log.Warn("a streaming view was stopped", "view", n.m.name(), "state", sl.state, "error", n.cause)
	case said:
		if sl := s.slots[n.uuid]; sl != nil && sl.build == n.build && sl.phase == Building {
			sl.say(n.state, n.reason)
			if n.does != nil {
				sl.figures = n.does
			}
		}
	case stalled:
		if sl := s.slots[n.m.view.UUID]; sl != nil && sl.live == n.m {
			sl.say(Recovering, reasonOf(n.err))
		}
	case running:
		if sl := s.slots[n.m.view.UUID]; sl != nil && sl.live == n.m {
			sl.tries = 0
			sl.boundary = n.m.after
			delete(s.silent, sl.uuid)
			sl.say(Running, Reason{})
			sl.unsaved = true
			s.forget(ctx, sl.uuid, n.m.generation)
		}
	case built:
		s.take(ctx, n)
	}
}

// forget removes what was kept of generations before one.
func (s *Supervisor) forget(ctx context.Context, uuid string, before int64) {
	err := s.c.remove(uuid, before)
	for g := before - 1; g > 0; g-- { // those in between may never have run
		ask, answered := s.asking(ctx)
		err = errors.Join(err, s.c.Sink.Release(ask, holder(uuid, g)))
		answered()
	}
	if err != nil {
		s.c.Log.Warn("what is left of an older generation of a streaming view", "uuid", uuid, "error", err)
	}
}

// take takes what a builder has made.
func (s *Supervisor) take(ctx context.Context, b built) {
	sl := s.slots[b.uuid]
	if sl == nil || sl.build != b.build {
		s.giveUp(b.a)
		return
	}
	if b.err != nil {
		if ctx.Err() != nil {
			return
		}
		r := trouble(b.err)
		if sl.beside != 0 {
			s.c.Log.Warn("a new generation of a streaming view cannot be built; the old one goes on", "uuid", b.uuid, "error", b.err)
			sl.failedBeside(r)
			sl.say(sl.state, reasonOf(b.err))
			return
		}
		sl.block(r)
		return
	}
	m := b.a.made.Swap(nil)
	if m == nil {
		return // everything is stopped
	}
	m.touched, m.unsaid, m.recorded = true, true, m.served.Frontier // the catalog hears of where it is now
	m.mending, m.announce = sl.mending && m.erring(), true
	if m.erring() && !m.mending {
		r := rowFailed(m)
		s.end(m)
		s.c.unhold(m)
		if sl.beside == 0 {
			sl.block(r)
		} else {
			sl.beside, sl.generation = 0, sl.beside
			sl.say(sl.state, reasonOf(r.cause))
		}
		return
	}
	sl.clean, sl.mending = false, false
	var old []*member
	if sl.beside != 0 {
		old = s.release(func(u string) bool { return u == b.uuid })
		for _, x := range old {
			m.served = x.served // it has published since the new one began
		}
		sl.generation, sl.beside = m.generation, 0
	}
	for _, x := range old {
		s.end(x)
	}
	sl.phase, sl.live, sl.figures = Live, m, &m.figures
	if m.erring() {
		sl.say(Failed, reasonOf(rowFailed(m).cause))
	}
	s.regroup(ctx, []*member{m})
}

// wantedOf is what a view's rows ask for.
func (s *Supervisor) wantedOf(ctx context.Context, v *catalog.View, r Record, owned bool) Wanted {
	w := Wanted{There: true, Owned: owned, Paused: r.Paused, Restarts: r.Restarts, Generation: max(r.Generation, 1), Upstream: true}
	w.Options = optionsText(v)
	if owned && s.c.Allowed != nil {
		ask, answered := s.asking(ctx)
		w.Denied = s.c.Allowed(ask, v) != nil && ask.Err() == nil
		answered()
	}
	for _, src := range v.Sources {
		if up := s.latest.ByUUID(src.UUID); up != nil && up.Kind == catalog.Streaming {
			if sl := s.slots[up.UUID]; sl == nil || sl.phase != Live || sl.state == Failed {
				w.Upstream = false
			}
		}
	}
	return w
}

// reconcile brings what runs to what the views' rows ask for.
func (s *Supervisor) reconcile(ctx context.Context) {
	ask, answered := s.asking(ctx)
	set, records, err := s.c.Views.Views(ask)
	answered()
	if err != nil {
		if ctx.Err() == nil {
			s.c.Log.Warn("the streaming views cannot be read", "error", err)
		}
		return
	}
	s.mu.Lock()
	s.latest = set
	s.mu.Unlock()
	now := time.Now()
	there := map[string]bool{}
	for _, component := range components(set) {
		owned := s.claim(ctx, component, records)
		s.unite(ctx, component)
		for _, v := range component {
			r, ok := records[v.UUID]
			if !ok {
				continue
			}
			there[v.UUID] = true
			owned := owned || s.c.Mine(r) // what cannot be begun yet is no reason to end what runs
			sl := s.slots[v.UUID]
			if sl == nil {
				if !owned {
					continue
				}
				sl = s.adopt(v, r)
			}
			s.act(ctx, sl, v, r, Decide(s.wantedOf(ctx, v, r, owned), sl.observed(now)))
			s.letGo(ctx, sl, v, now)
		}
	}
	for _, uuid := range slices.Collect(maps.Keys(s.slots)) {
		if !there[uuid] {
			s.act(ctx, s.slots[uuid], nil, Record{}, Decide(Wanted{}, s.slots[uuid].observed(now)))
		}
	}
	maps.DeleteFunc(s.asked, func(uuid string, _ time.Time) bool { return !there[uuid] })
	if !s.swept {
		s.swept = true
		s.c.sweep(func(uuid string) bool { _, ok := records[uuid]; return ok })
	}
	s.show()
	s.save(ctx, records)
}

// adopt makes the slot of a view that was not here before. What had failed stays failed until somebody restarts it.
func (s *Supervisor) adopt(v *catalog.View, r Record) *slot {
	sl := newSlot(r.UUID)
	sl.state, sl.reason, sl.since, sl.boundary = r.State, r.Reason, r.Since, r.Boundary
	sl.restarts, sl.generation = r.Restarts, max(r.Generation, 1)
	switch {
	case r.Handled < r.Restarts:
		sl.restarts = r.Handled
	case r.State == Failed:
		sl.phase, sl.options = Blocked, optionsText(v)
	}
	s.slots[r.UUID] = sl
	return sl
}

// claimEvery is how often it is asked whether the owner of views still lives.
const claimEvery = 3 * time.Second

// claim says whether the views, which belong together, are this server's.
func (s *Supervisor) claim(ctx context.Context, component []*catalog.View, records map[string]Record) bool {
	uuids := make([]string, 0, len(component))
	all := true
	for _, v := range component {
		r, ok := records[v.UUID]
		if !ok {
			continue
		}
		uuids = append(uuids, v.UUID)
		all = all && s.c.Mine(r)
	}
	if all || len(uuids) == 0 {
		return all
	}
	now := time.Now()
	if now.Sub(s.asked[uuids[0]]) < claimEvery && !slices.ContainsFunc(uuids, func(u string) bool { return records[u].ServerID == "" }) {
		return false
	}
	s.asked[uuids[0]] = now
	ask, answered := s.asking(ctx)
	owned, err := s.c.Views.Claim(ask, uuids)
	answered()
	if err != nil {
		if ctx.Err() == nil {
			s.c.Log.Warn("streaming views cannot be claimed", "error", err)
		}
		return false
	}
	if len(owned) < len(uuids) {
		return false
	}
	if slices.ContainsFunc(uuids, func(u string) bool { r := records[u]; return r.ServerID != "" && !s.c.Mine(r) }) {
		s.tell(nil) // what their owner published last is to be read when it can publish nothing any more
		return false
	}
	return true
}

// act does what was decided for a view.
func (s *Supervisor) act(ctx context.Context, sl *slot, v *catalog.View, r Record, a Action) {
	switch a {
	case Nothing:
	case Build:
		if !s.rebind(ctx, sl, v) {
			s.begin(ctx, sl, v, r)
		}
	case BuildBeside:
		sl.beside = r.Generation
		s.begin(ctx, sl, v, r)
	case Wait:
		sl.phase, sl.due = Absent, time.Time{}
		state := Recovering
		if v.Published.Generation == 0 {
			state = Starting
		}
		sl.say(state, Reason{Message: waitsForViews})
	case Stop:
		s.stopSlot(ctx, sl, true)
		sl.phase, sl.mending = Absent, sl.restarts != r.Restarts
		sl.say(Recovering, Reason{Message: "it is restarted"})
		s.tell(nil) // look again
	case Abandon:
		s.abandon(sl)
		if sl.beside != 0 {
			sl.beside = 0
		} else {
			sl.phase = Absent
		}
		s.tell(nil)
	case Pause:
		s.stopSlot(ctx, sl, true)
		sl.phase, sl.due = Blocked, time.Time{}
		sl.heldUntil = time.Time{}
		if most := optionsOf(v).MaxHold; most > 0 {
			sl.heldUntil = r.PausedAt.Add(most)
		}
		sl.say(Paused, Reason{Message: "it was paused", Hint: "ALTER STREAMING MATERIALIZED VIEW " + v.Name().String() + " RESUME"})
	case Deny:
		s.stopSlot(ctx, sl, true)
		sl.phase, sl.due = Blocked, time.Time{}
		sl.say(PermissionBlocked, reasonOf(s.c.Allowed(ctx, v)))
	case Release:
		s.stopSlot(ctx, sl, false)
		delete(s.slots, sl.uuid)
	case Discard:
		s.stopSlot(ctx, sl, false)
		delete(s.slots, sl.uuid)
		last := s.attempts[sl.uuid]
		delete(s.attempts, sl.uuid)
		s.wg.Add(1)
		go s.discard(ctx, sl.uuid, max(sl.generation, sl.beside), last, s.silent[sl.uuid])
		delete(s.silent, sl.uuid)
	}
}

// stopSlot ends the view's member and its builder.
func (s *Supervisor) stopSlot(ctx context.Context, sl *slot, checkpoint bool) {
	s.abandon(sl)
	sl.beside = 0
	if sl.phase != Live {
		return
	}
	sl.live = nil
	for _, m := range s.release(func(u string) bool { return u == sl.uuid }) {
		if checkpoint {
			s.park(ctx, m)
		} else {
			s.end(m)
		}
	}
	s.regroup(ctx, nil)
}

// abandon ends a build; what it makes all the same is thrown away.
func (s *Supervisor) abandon(sl *slot) {
	sl.cancel()
	sl.build++
}

// begin starts to build a member.
func (s *Supervisor) begin(ctx context.Context, sl *slot, v *catalog.View, r Record) {
	sl.build++
	sl.news = false
	if sl.beside == 0 {
		if r.Restarts != sl.restarts {
			sl.mending, sl.shortages = true, 0
		}
		sl.restarts, sl.generation, sl.phase = r.Restarts, r.Generation, Building
		sl.options = optionsText(v)
	}
	k := making{view: v, set: s.latest, generation: r.Generation, mode: r.Mode, clean: sl.clean}
	if v.Published.Generation == r.Generation || r.Generation == 1 { // the first one's is where the view was made
		k.boundary = r.Boundary
	}
	if r.Generation > 1 && r.RebuiltAt > 0 {
		k.boundary = r.RebuiltAt
	}
	sl.cancel() // the attempt before has ended, or was given up
	run, cancel := context.WithCancel(ctx)
	a := &attempt{done: make(chan struct{})}
	before := s.attempts[sl.uuid]
	sl.cancel, s.attempts[sl.uuid] = cancel, a
	s.wg.Add(1)
	go s.build(run, sl.uuid, sl.build, k, a, before, s.silent[sl.uuid])
}

// targetOf is where a new member is to come to.
func (s *Supervisor) targetOf(k making) target {
	for _, src := range k.view.Sources {
		if up := k.set.ByUUID(src.UUID); up != nil && up.Kind == catalog.Streaming {
			return func(ctx context.Context) (place, error) { return s.where(ctx, up.UUID) }
		}
	}
	return func(ctx context.Context) (place, error) {
		head, err := s.c.Source.Head(ctx)
		return place{frontier: head}, err
	}
}

// where is the place of a view's group.
func (s *Supervisor) where(ctx context.Context, uuid string) (place, error) {
	for range 16 {
		s.mu.Lock()
		g := s.groupOf[uuid]
		s.mu.Unlock()
		if g == nil {
			break
		}
		at, err := g.where(ctx)
		if !errors.Is(err, errMoved) {
			return at, err
		}
	}
	return place{}, fault.CommitConflict.Newf("the views that it reads are being put together anew")
}

// save writes what has changed of the views' states.
func (s *Supervisor) save(ctx context.Context, records map[string]Record) {
	for _, sl := range s.slots {
		r, ok := records[sl.uuid]
		late := r.Late
		if sl.figures != nil {
			late = sl.figures.Late.Load()
		}
		// The state is compared, too: what was written while another server had the view was written nowhere.
		if !ok || !sl.unsaved && r.State == sl.state && r.Handled == sl.restarts && r.Late == late {
			continue
		}
		r.Late = late
		r.State, r.Reason, r.Since, r.Handled, r.Boundary = sl.state, sl.reason, sl.since, sl.restarts, sl.boundary
		ask, answered := s.asking(ctx)
		err := s.c.Views.Save(ask, r)
		answered()
		if err != nil {
			if ctx.Err() == nil {
				s.c.Log.Warn("the state of a streaming view cannot be written", "uuid", sl.uuid, "error", err)
			}
			if errors.Is(err, context.DeadlineExceeded) {
				return // nor others'
			}
			continue
		}
		sl.unsaved = false
	}
}
