package changelog

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vegadb/vega-flight/fault"
)

// Config is what a Changelog works with. Zero fields but Source and Holds mean the defaults.
type Config struct {
	Source Source
	Holds  Holds
	Clock  Clock

	Dir         string        // for rows that are kept on disk; default: the system's folder for temporary files
	MemoryBytes int64         // of commits that are kept for who is a little behind; default 64 MiB
	GivenBytes  int64         // of a view's newest publications as this server has made them; default 8 MiB; those of all views have MemoryBytes
	TapeBytes   int64         // of one commit in memory; what is longer lies on disk; default 1 MiB
	DiskBytes   int64         // of all of them on disk; default 16 GiB
	Loads       int           // commits that are summed up at the same time; default 2
	Heartbeat   time.Duration // a subscriber hears something at least so often; default 10 s
	Pace        time.Duration // how often progress without a publication is told; default 1 s
	MoveHolds   time.Duration // how often holds follow their subscribers; default 5 s
	Log         *slog.Logger  // default: none
}

// Changelog is what subscribers of a lake's views read. It is safe for concurrent use.
type Changelog struct {
	Config
	log     *slog.Logger
	ctx     context.Context // of tapes and of the watch
	stop    context.CancelFunc
	group   sync.WaitGroup
	loading chan struct{}
	disk    atomic.Int64

	mu    sync.Mutex
	views map[string]*followed // that have subscribers, by uuid
	tapes map[tapeKey]*tape
	uses  int64
	kept  int64              // bytes of cached tapes
	given int64              // bytes of what publishers gave
	at    int64              // what the watch has seen
	watch context.CancelFunc // nil: nobody watches
}

// maxCommits is how many commits of a view are remembered.
const maxCommits = 4096

// New makes a changelog; Close ends it.
func New(c Config) *Changelog {
	if c.Clock == nil {
		c.Clock = wall{}
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	c.MemoryBytes = cmp.Or(c.MemoryBytes, 64<<20)
	c.GivenBytes = cmp.Or(c.GivenBytes, 8<<20)
	c.TapeBytes = cmp.Or(c.TapeBytes, 1<<20)
	c.DiskBytes = cmp.Or(c.DiskBytes, 16<<30)
	c.Loads = cmp.Or(c.Loads, 2)
	c.Heartbeat = cmp.Or(c.Heartbeat, 10*time.Second)
	c.Pace = cmp.Or(c.Pace, time.Second)
	c.MoveHolds = cmp.Or(c.MoveHolds, 5*time.Second)
	l := &Changelog{Config: c, log: c.Log, views: map[string]*followed{}, tapes: map[tapeKey]*tape{}, loading: make(chan struct{}, c.Loads)}
	l.ctx, l.stop = context.WithCancel(context.Background())
	return l
}

// Close ends all that runs. Subscriptions that are still open end with an error, and must be closed before.
func (c *Changelog) Close() {
	c.stop()
	c.group.Wait()
	c.mu.Lock()
	tapes := c.tapes
	c.tapes = map[tapeKey]*tape{}
	c.mu.Unlock()
	for _, t := range tapes {
		t.free()
	}
}

// Subscribers is how many subscriptions are open.
func (c *Changelog) Subscribers() (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, v := range c.views {
		n += len(v.subscribers)
	}
	return n
}

// followed is a view with subscribers. It is guarded by the changelog's mu.
type followed struct {
	uuid    string
	name    string // of its hold
	tableID int64
	// commits are all that touched the table in (from, at].
	from, at    int64
	commits     []commit
	grew        chan struct{} // closed and renewed when at grows
	subscribers map[*Subscription]struct{}

	given []*given // publications of this server, oldest first
	going *given   // one that is on its way
	ahead ahead

	hold chan struct{} // who changes the hold
	held int64         // the snapshot that is held; None
	move time.Time     // when it was moved
}

// commit is a snapshot that touched the table.
type commit struct {
	snapshot int64
	rows     bool
	foreign  bool // not all of it was published by a server of this lake
	schema   bool // its columns may have changed
	gone     bool // it was dropped
}

// join adds a subscription to its view.
func (c *Changelog) join(s *Subscription, head int64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ctx.Err() != nil {
		return fault.Draining.Newf("the server is shutting down")
	}
	if c.watch == nil {
		ctx, stop := context.WithCancel(c.ctx)
		c.watch, c.at = stop, head
		c.group.Add(1)
		go c.watching(ctx)
	}
	f := c.views[s.view.UUID]
	if f == nil {
		c.uses++
		f = &followed{
			uuid: s.view.UUID, name: fmt.Sprintf("%s.%d", s.view.UUID, c.uses), tableID: s.view.TableID, from: c.at, at: c.at, grew: make(chan struct{}),
			subscribers: map[*Subscription]struct{}{}, hold: make(chan struct{}, 1), held: None,
			ahead: ahead{most: firstAhead},
		}
		c.views[s.view.UUID] = f
	}
	f.subscribers[s] = struct{}{}
	s.followed = f
	return nil
}

// leave takes a subscription from its view. What nobody follows any more is forgotten.
func (c *Changelog) leave(s *Subscription) {
	f := s.followed
	c.mu.Lock()
	delete(f.subscribers, s)
	last := len(f.subscribers) == 0
	var gone []*tape
	if last {
		if c.views[f.uuid] == f {
			delete(c.views, f.uuid)
		}
		for len(f.given) > 0 {
			c.dropGivenLocked(f)
		}
		for _, t := range c.tapes {
			if t.key.uuid == f.uuid && t.refs == 0 {
				gone = append(gone, c.dropLocked(t))
			}
		}
		if len(c.views) == 0 && c.watch != nil {
			c.watch()
			c.watch = nil
		}
	}
	c.mu.Unlock()
	for _, t := range gone {
		t.free()
	}
	if last {
		c.releaseHold(f)
	}
}
