package stream

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vegadb/vega-flight/ivm/catalog"
)

// group is members that read each other, or one that reads none: one goroutine steps them together.
type group struct {
	c       *Config
	log     *commitLog
	tell    func(any)
	foreign atomic.Bool // somebody else may have written into a result

	// The goroutine's.
	members  []*member // in topological order
	aloft    *flight   // nil: no commit is on its way
	since    time.Time // when it was seen first that there is something to take; zero: there is nothing
	until    time.Time // what is waited for; zero: nothing
	commits  int       // since it was looked whether files are mostly dead
	rowBytes int64     // of a change of sources, as it was last; 0: not known

	poke chan struct{}
	stop chan struct{}
	done chan struct{}
	once sync.Once

	cancel  context.CancelFunc // of what run waits for
	counted sync.Once          // that nobody waits for it any more

	// Of the members that there were at first, also of those that were let go: until that is heard of, they count as here.
	tables  map[int64]bool // that are read and are no streaming views
	results map[int64]bool // that are written

	mu     sync.Mutex
	ended  bool            // run is over
	alone  bool            // it was given up: its members are its own
	at     place           // of the members, when all that they had was published
	marks  map[int64]int64 // then: of each member's table a snapshot that shows it
	placed chan struct{}   // closed when that is known
}

// report is what a group has to say of one of its members, which it has let go.
type report struct {
	m     *member
	state State
	cause error
	again bool // it may go on by itself, from its checkpoint
	clean bool // its state is of no use
}

func newGroup(c *Config, log *commitLog, tell func(any), members []*member) *group {
	g := &group{
		c: c, log: log, tell: tell, members: members,
		poke: make(chan struct{}, 1), stop: make(chan struct{}), done: make(chan struct{}), placed: make(chan struct{}),
	}
	g.tables, g.results = map[int64]bool{}, map[int64]bool{}
	for _, m := range members {
		m.base(g.tables)
		g.results[m.view.Table.ID] = true
		if log.wrote(m.view.Table.ID) > m.result.Mark().Snapshot {
			g.foreign.Store(true) // while it was in no group, or its group before was ended, nobody was told
		}
	}
	g.note()
	return g
}

// wake says that there may be work.
func (g *group) wake() {
	select {
	case g.poke <- struct{}{}:
	default: // it has not looked yet
	}
}

// halt ends the group after the epoch that it is in; its members are then the caller's. What takes too long for that is cancelled, and
// if that does not help either, ok is false: the group ends its members itself, when it ends.
func (g *group) halt() (members []*member, ok bool) {
	g.once.Do(func() { close(g.stop) })
	if !within(g.done, g.c.Patience) {
		g.cancel()
		if !within(g.done, g.c.Patience) && g.abandon() {
			return nil, false
		}
	}
	<-g.done
	settled := g.settled()
	for _, m := range g.members {
		m.settled = slices.Contains(settled, m)
	}
	return g.members, true
}

// abandon leaves a group alone that does not end, unless it has ended just now.
func (g *group) abandon() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.alone = !g.ended
	return g.alone
}

// end is the end of run. Nobody else has the members of a group that was given up.
func (g *group) end() {
	defer close(g.done)
	g.mu.Lock()
	g.ended = true
	alone := g.alone
	g.mu.Unlock()
	if !alone {
		return
	}
	for _, m := range g.members {
		if err := m.close(); err != nil {
			g.c.Log.Warn("closing a streaming view", "view", m.name(), "error", err)
		}
	}
}

// within waits for the end of something for some time.
func within(done <-chan struct{}, most time.Duration) bool {
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
		return false
	}
}

// where is the members' common place; it waits until they have one. Snapshots since then that are none of their concern count as reached: a
// table that somebody else reads may have been made in one of them. So do those that have not touched their results, for the snapshot that
// shows them: another program may have expired the one in which they were published.
func (g *group) where(ctx context.Context) (place, error) {
	select {
	case <-g.placed:
	case <-g.done:
		return place{}, errMoved
	case <-ctx.Done():
		return place{}, ctx.Err()
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	at := g.at
	if at == (place{}) {
		return place{}, errMoved // the last member has gone
	}
	at.frontier, at.published = g.log.reached(at.frontier, g.tables), max(g.log.reached(at.published, g.results), g.log.showing(g.marks, g.results))
	return at, nil
}

// errMoved says that a group has ended while somebody asked for it.
var errMoved = errors.New("the views that it reads are being put together anew")

// note makes the members' place known, once all they have is published.
func (g *group) note() {
	moved := false
	for _, m := range g.still() {
		if m.waiting() {
			continue
		}
		if clock := m.time(); m.figures.Clock.Swap(clock) != clock {
			moved = true
		}
		seen := m.result.Mark().Snapshot
		if m.figures.Seen.Swap(seen) != seen || m.figures.Frontier.Load() != m.frontier {
			m.figures.Frontier.Store(m.frontier)
			moved = true
		}
	}
	if moved {
		g.c.s.moved.fire()
	}
	at, marks := place{}, map[int64]int64{}
	for i, m := range g.members {
		marks[m.view.Table.ID] = m.result.Mark().Snapshot
		if i > 0 && m.frontier != at.frontier || m.waiting() && !m.erring() {
			return
		}
		at = place{m.frontier, max(at.published, m.published)}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.at == (place{}) && at != (place{}) {
		close(g.placed)
	}
	g.at = at
	g.marks = marks
}

// run steps the members until the group is halted, ctx ends or no member is left.
func (g *group) run(ctx context.Context) {
	defer g.end()
	defer g.alight(ctx)
	var wait time.Duration // after trouble
	for len(g.members) > 0 {
		select {
		case <-g.stop:
			return
		case <-ctx.Done():
			return
		default:
		}
		worked, err := g.epoch(ctx)
		if err != nil && ctx.Err() == nil {
			wait = min(max(2*wait, 50*time.Millisecond), 5*time.Second)
			g.c.Log.Warn("streaming views cannot go on", "views", g.names(), "error", err, "again in", wait)
			for _, m := range g.members {
				g.tell(stalled{m, err})
				m.announce = true
			}
		} else {
			wait = 0
		}
		more := g.upkeep(ctx, wait == 0)
		if err == nil && (worked || more) {
			continue
		}
		g.sleep(ctx, wait)
	}
}

// sleep waits until something may have to be done.
func (g *group) sleep(ctx context.Context, wait time.Duration) {
	poke := g.poke
	if wait > 0 {
		poke = nil
	} else if wait = g.nap(); wait == 0 {
		wait = time.Hour
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-poke:
	case <-g.stop:
	case <-ctx.Done():
	case <-timer.C:
	}
}

// nap is how long the group may sleep without being woken: until its next checkpoint, tick or note to the catalog; 0 is for ever.
func (g *group) nap() time.Duration {
	next := time.Duration(0)
	sooner := func(d time.Duration) {
		d = max(d, time.Millisecond)
		if next == 0 || d < next {
			next = d
		}
	}
	now := time.Now()
	if !g.until.IsZero() {
		sooner(g.until.Sub(now))
	}
	settled := g.settled()
	for _, m := range g.members {
		if m.graph.Timed() {
			sooner(m.options.Tick)
		}
		if m.unsaid && m.recorded != m.frontier && !m.waiting() && !m.erring() {
			sooner(reflectEvery)
		}
		if m.flight == nil && slices.Contains(settled, m) && m.point() != m.saved {
			every := m.options.Checkpoint
			if !m.touched && m.saved.Epoch == m.served.Epoch {
				every *= idleCheckpoints
			}
			sooner(every - now.Sub(m.savedAt))
		}
	}
	return next
}

func (g *group) names() []string {
	out := make([]string, len(g.members))
	for i, m := range g.members {
		out[i] = m.name()
	}
	return out
}

// upkeep goes on with checkpoints and says whether there is more of that to do at once.
func (g *group) upkeep(ctx context.Context, well bool) (more bool) {
	g.note()
	now := time.Now()
	for _, m := range g.members {
		if m.analyze() {
			defer g.c.s.moved.fire()
		}
	}
	if slices.ContainsFunc(g.settled(), func(m *member) bool { return m.unrecorded() && m.due(now) }) {
		if err := g.reflectDropped(ctx); err != nil && ctx.Err() == nil {
			g.c.Log.Warn("what streaming views have dropped as late is not recorded yet", "views", g.names(), "error", err)
		}
	}
	settled := g.settled()
	for _, m := range slices.Clone(g.members) {
		if !slices.Contains(g.members, m) {
			continue
		}
		if err := m.displaced(); err != nil {
			g.drop(m, trouble(err))
			continue
		}
		again, err := m.advance(ctx)
		if err == nil && slices.Contains(settled, m) && m.due(now) && !m.unrecorded() {
			m.capture()
			again = m.flight != nil
		}
		if t := trouble(err); err != nil && (t.state != "" || m.flight != nil) {
			g.drop(m, t)
			continue
		} else if err != nil && ctx.Err() == nil { // the checkpoint is written, and more than it needs is held until the next one is
			g.c.Log.Warn("what a streaming view's checkpoint needs is not held yet", "view", m.name(), "error", err)
		}
		m.trim()
		if well && m.announce && !m.waiting() && !m.erring() {
			m.announce = false
			g.tell(running{m})
		}
		more = more || again
	}
	if well && g.worn() {
		again, err := g.refile(ctx)
		if err != nil && ctx.Err() == nil {
			g.c.Log.Warn("files of streaming views that are mostly dead are not rewritten yet", "views", g.names(), "error", err)
		}
		more = more || again
	}
	return more
}

// drop lets a member go, and those that read it, which go on when it does.
func (g *group) drop(m *member, r report) {
	ctx, stop := context.WithTimeout(context.Background(), g.c.Patience)
	defer stop()
	g.alight(ctx) // it may be its commit, whose outcome is known whatever becomes of the group's context
	if !slices.Contains(g.members, m) {
		return // with what it reads
	}
	r.m = m
	gone := map[string]bool{m.view.UUID: true}
	left := g.members[:0:0]
	reports := []report{r}
	for _, x := range g.members {
		if x == m {
			continue
		}
		if slices.ContainsFunc(x.inputs, func(in *input) bool { return gone[in.reading.UUID] }) {
			gone[x.view.UUID] = true
			reports = append(reports, report{m: x, state: Recovering, cause: errUpstream(m.view.Name()), again: true})
			continue
		}
		left = append(left, x)
	}
	g.members = left
	for _, r := range reports {
		if err := r.m.close(); err != nil {
			g.c.Log.Warn("closing a streaming view", "view", r.m.name(), "error", err)
		}
		g.tell(r)
	}
}

// errUpstream is why a view waits for another one.
type errUpstream catalog.Name

func (e errUpstream) Error() string {
	return "it waits for view " + catalog.Name(e).String() + ", which it reads"
}

var errLost = errors.New("another server publishes this view")
