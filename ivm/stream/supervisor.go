package stream

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/ivm/catalog"
	"github.com/vegadb/vega-flight/ivm/eval"
	"github.com/vegadb/vega-flight/ivm/zset"
)

// Config is what a Supervisor works with.
type Config struct {
	Dir     string // of the state of all views; this server's alone
	Stamp   string // of what must be the same for state to be of use: versions
	FS      vfs.FS // that state is kept in, but for the folders; nil is the disk's
	Source  Source
	Sink    Sink
	Views   Views
	Planner Planner

	Evaluator eval.Evaluator
	Groups    eval.Groups

	// Mine says that this server is the owner that a row names.
	Mine func(r Record) bool
	// Allowed says why a view's owner may not read its sources any more; nil allows all.
	Allowed func(ctx context.Context, v *catalog.View) error
	// Publishing hears of each view's change that is about to be committed, and that does not change any more. What it gives is told the
	// snapshot whose change of the view's table that is; 0: there is none, or the lake's history may show another one.
	Publishing func(uuid string, delta *zset.Batch) (ended func(snapshot int64))
	Now        func() time.Time // the logical clock; nil is the system's

	MemoryBudget int64 // bytes of state that a view keeps in memory, unless its options say otherwise; 0 is no bound
	RefileEvery  int   // commits of views that belong together after which it is looked whether their files are mostly dead; 0 is 64
	Builders     int   // members that are made at the same time; 0 is 2
	// Patience is how long what stops a view, or all, waits for the catalog's answer to something else; 0 is 10 s.
	Patience time.Duration
	Log      *slog.Logger

	s *Supervisor
}

// Supervisor runs the streaming views that this server owns.
type Supervisor struct {
	c    Config
	log  *commitLog
	poke chan struct{}
	news chan struct{} // there is something in the queue

	// The goroutine's own.
	slots    map[string]*slot
	groups   map[*group]bool
	attempts map[string]*attempt  // the last one at each view, also if it has ended
	silent   map[string]*group    // of each view the group that was given up and has not ended
	parked   atomic.Int64         // members that Close has ended
	written  atomic.Int64         // bytes of large checkpoints
	asked    map[string]time.Time // when views of others were claimed last, by the first of them that belong together
	swept    bool                 // state of views that are gone is removed
	idle     []*member            // live, and of no group at the moment

	mu      sync.Mutex
	queue   []any             // what groups and builders have to say
	groupOf map[string]*group // of each live view
	latest  *catalog.Set
	shown   map[string]Status

	moved    signal // fired when a frontier or a state has changed
	stop     context.CancelFunc
	wg       sync.WaitGroup // of the supervisor's goroutine, the groups' and the builders'
	builders chan struct{}  // as many as may build at once
}

// New makes a Supervisor.
func New(c Config) *Supervisor {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Publishing == nil {
		c.Publishing = func(string, *zset.Batch) func(int64) { return func(int64) {} }
	}
	if c.RefileEvery == 0 {
		c.RefileEvery = 64
	}
	if c.Builders == 0 {
		c.Builders = 2
	}
	if c.Patience == 0 {
		c.Patience = 10 * time.Second
	}
	s := &Supervisor{
		c: c, poke: make(chan struct{}, 1), news: make(chan struct{}, 1), slots: map[string]*slot{}, groups: map[*group]bool{},
		asked: map[string]time.Time{}, groupOf: map[string]*group{}, attempts: map[string]*attempt{}, silent: map[string]*group{}, shown: map[string]Status{}, stop: func() {}, builders: make(chan struct{}, c.Builders),
	}
	s.c.s = s
	return s
}

// Start begins to run views until Close.
func (s *Supervisor) Start(ctx context.Context) error {
	head, err := s.c.Source.Head(ctx)
	if err != nil {
		return err
	}
	s.log = newCommitLog(s.c.Source, head)
	run, stop := context.WithCancel(context.Background())
	s.stop = stop
	s.wg.Add(1)
	go s.run(run)
	return nil
}

// Close stops all views, with a checkpoint of each, and returns when nothing runs but what waits for a catalog that does not answer.
func (s *Supervisor) Close() {
	s.stop()
	ended := make(chan struct{})
	go s.wait(ended)
	tick := time.NewTicker(4 * s.c.Patience)
	defer tick.Stop()
	if !stopped(ended, tick.C, func() int64 { return s.parked.Load() + s.written.Load() }) {
		s.c.Log.Error("what still waits for the catalog's answer for streaming views is given up, or a checkpoint that no disk takes")
	}
}

// stopped waits for the end of something, as long as there is progress from one tick to the next: checkpoints are written one after the other, and
// one of a large state takes long.
func stopped(ended <-chan struct{}, tick <-chan time.Time, progress func() int64) bool {
	for last := int64(-1); ; {
		select {
		case <-ended:
			return true
		case <-tick:
		}
		now := progress()
		if now == last {
			return false
		}
		last = now
	}
}

func (s *Supervisor) wait(ended chan struct{}) {
	s.wg.Wait()
	close(ended)
}

// asking bounds how long the supervisor, which all views are stopped and started by, waits for an answer of the catalog's.
func (s *Supervisor) asking(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, s.c.Patience)
}

// Changed says that rows of views have changed.
func (s *Supervisor) Changed() {
	select {
	case s.poke <- struct{}{}:
	default:
	}
}

// lookEvery is how often the views' rows are looked at without being asked to: other servers change them too, and what is blocked may be due.
const lookEvery = time.Second

func (s *Supervisor) run(ctx context.Context) {
	defer s.wg.Done()
	defer s.halt()
	heads := s.c.Source.Watch(ctx)
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	s.reconcile(ctx)
	newest := int64(0) // that was heard of
	for {
		look := true
		select {
		case <-ctx.Done():
			return
		case head, ok := <-heads:
			if !ok {
				return
			}
			newest = head
			look = s.committed(ctx, newest)
		case <-s.poke:
		case <-s.news:
			look = false
			for _, n := range s.heard() {
				s.hear(ctx, n)
				_, only := n.(said) // is all that is to be known; it is written with what comes next
				look = look || !only
			}
			if !look {
				s.show()
			}
		case <-tick.C:
			s.committed(ctx, newest) // if it could not be read when it was heard of
			s.watchState()
		}
		if look && ctx.Err() == nil {
			s.reconcile(ctx)
		}
	}
}

// committed reads what was committed and wakes the groups that it concerns. It says whether rows of views may have changed with it.
func (s *Supervisor) committed(ctx context.Context, head int64) (look bool) {
	if head <= s.log.head() {
		return false
	}
	added, err := s.read(ctx, head)
	if fault.CodeOf(err) == fault.HistoryExpired {
		s.missed(head)
		return true
	}
	if err != nil && ctx.Err() == nil {
		s.c.Log.Warn("the lake's newest commits cannot be read", "error", err)
	}
	if len(added) == 0 && err != nil {
		return false
	}
	s.moved.fire()
	touched := map[int64]Touch{}
	for _, c := range added {
		look = look || c.Made // in the place of a table that a view reads, maybe
		for id, t := range c.Tables {
			touched[id] = merge(touched[id], t)
		}
	}
	for g := range s.groups {
		for id := range g.tables {
			if _, ok := touched[id]; ok {
				g.wake()
				break
			}
		}
		for id := range g.results {
			if t, ok := touched[id]; ok && !t.Ours && t.Rows {
				g.foreign.Store(true)
				g.wake()
			}
		}
	}
	for _, t := range touched {
		look = look || t.Schema || t.Gone
	}
	if look {
		for _, sl := range s.slots {
			sl.schemaMoved()
		}
	}
	return look
}

// readStep is how many snapshots the lake is asked for at a time, so that it answers in time however long it was not asked.
const readStep = 1 << 12

// read reads commits up to a snapshot, or those before an error.
func (s *Supervisor) read(ctx context.Context, head int64) (added []Commit, err error) {
	for err == nil && s.log.head() < head {
		var some []Commit
		ask, answered := s.asking(ctx)
		some, err = s.log.extend(ask, min(head, s.log.head()+readStep))
		answered()
		added = append(added, some...)
	}
	return added, err
}

// missed goes on at a snapshot when what came before is gone: the lake could not be asked for longer than its history is kept. Whom that
// concerns finds out: who has to know what came between is made anew, and every result may have been written to.
func (s *Supervisor) missed(head int64) {
	s.c.Log.Warn("commits of the lake were missed: its history was expired meanwhile", "after", s.log.head(), "before", head)
	s.log.skip(head)
	for _, sl := range s.slots {
		sl.schemaMoved()
	}
	for g := range s.groups {
		g.foreign.Store(true)
		g.wake()
	}
	s.moved.fire()
}

func merge(a, b Touch) Touch {
	return Touch{Rows: a.Rows || b.Rows, Schema: a.Schema || b.Schema, Gone: a.Gone || b.Gone, Ours: a.Ours && b.Ours || a == (Touch{}) && b.Ours, Estimate: a.Estimate + b.Estimate}
}

// halt stops everything, with checkpoints. What is held for them stays where it was, which is more than they need, if the catalog does not answer in time.
func (s *Supervisor) halt() {
	ctx, stop := s.asking(context.Background())
	defer stop()
	for _, sl := range s.slots {
		sl.cancel()
	}
	for g := range s.groups { // all at the same time
		g.once.Do(func() { close(g.stop) })
	}
	for g := range s.groups {
		for _, m := range s.dissolve(g) {
			s.park(ctx, m)
		}
	}
	for _, a := range s.attempts {
		select {
		case <-a.done:
			s.giveUp(a)
			continue
		default:
		}
		select {
		case <-a.done:
			s.giveUp(a)
		case <-ctx.Done(): // what it makes it gives up itself
		}
	}
}

// park ends a member, with a checkpoint if its state is worth one.
func (s *Supervisor) park(ctx context.Context, m *member) {
	defer s.parked.Add(1)
	if !m.settled {
		s.end(m)
		return
	}
	ctx, answered := s.asking(ctx)
	defer answered()
	if err := m.checkpoint(ctx); err != nil {
		s.c.Log.Warn("the last checkpoint of a streaming view", "view", m.name(), "error", err)
	}
	s.end(m)
}

func (s *Supervisor) end(m *member) {
	if err := m.close(); err != nil {
		s.c.Log.Warn("closing a streaming view", "view", m.name(), "error", err)
	}
}

// wake wakes the group of a view.
func (c *Config) wake(uuid string) {
	c.s.mu.Lock()
	g := c.s.groupOf[uuid]
	c.s.mu.Unlock()
	if g != nil {
		g.wake()
	}
}

// upstream is what is published of a view that is not of the group.
func (c *Config) upstream(uuid string) (catalog.Upstream, bool) {
	c.s.mu.Lock()
	set := c.s.latest
	c.s.mu.Unlock()
	if set == nil {
		return catalog.Upstream{}, false
	}
	v := set.ByUUID(uuid)
	if v == nil {
		return catalog.Upstream{}, false
	}
	return catalog.Upstream{Published: v.Published, Meaning: v.Def.Meaning()}, true
}

// tell hands something to the supervisor's goroutine, and does not wait for it.
func (s *Supervisor) tell(n any) {
	s.mu.Lock()
	s.queue = append(s.queue, n)
	s.mu.Unlock()
	select {
	case s.news <- struct{}{}:
	default:
	}
}

// heard takes what was told.
func (s *Supervisor) heard() []any {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := s.queue
	s.queue = nil
	return q
}
