package ducklake

import (
	"context"
	"sync"
	"time"

	"github.com/vegadb/vega-flight/ducklake/metadata"
)

// notice tells who watches which snapshot is the newest. Every commit of this process pokes it; commits of other
// processes come by PostgreSQL's LISTEN, and by asking now and then in case there is no trigger.
type notice struct {
	poke chan struct{}

	mu     sync.Mutex
	newest int64
	subs   map[chan int64]struct{}
	closed bool
}

// askOthers is how often the catalog is asked for the commits of other processes.
const askOthers = time.Second

func newNotice() *notice {
	return &notice{poke: make(chan struct{}, 1), newest: -1, subs: map[chan int64]struct{}{}}
}

// Notify says that something was committed: watchers hear of the newest snapshot soon.
func (l *Lake) Notify() {
	select {
	case l.notice.poke <- struct{}{}:
	default: // one is waiting already, and will see this commit too
	}
}

// Watch gives the id of the newest snapshot, now and whenever it grows, until ctx ends; then the channel is closed.
// A slow receiver gets the newest id only.
func (l *Lake) Watch(ctx context.Context) <-chan int64 {
	ch := make(chan int64, 1)
	n := l.notice
	n.mu.Lock()
	if n.closed {
		n.mu.Unlock()
		close(ch)
		return ch
	}
	n.subs[ch] = struct{}{}
	if n.newest >= 0 {
		ch <- n.newest
	}
	n.mu.Unlock()
	context.AfterFunc(ctx, func() { n.drop(ch) })
	return ch
}

func (n *notice) drop(ch chan int64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if _, there := n.subs[ch]; there {
		delete(n.subs, ch)
		close(ch)
	}
}

func (n *notice) tell(id int64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if id <= n.newest {
		return
	}
	n.newest = id
	for ch := range n.subs {
		select {
		case <-ch: // replaced by the newer one
		default:
		}
		ch <- id
	}
}

func (n *notice) close() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.closed = true
	for ch := range n.subs {
		delete(n.subs, ch)
		close(ch)
	}
}

func (l *Lake) startNotice(ctx context.Context) {
	l.work.Add(1)
	go l.noticeLoop(ctx)
	if pg, ok := l.store.(*metadata.Postgres); ok {
		l.work.Add(1)
		go l.listenLoop(ctx, pg)
	}
	l.Notify()
}

// noticeLoop asks for the newest snapshot after every poke.
func (l *Lake) noticeLoop(ctx context.Context) {
	defer l.work.Done()
	var others <-chan time.Time
	if l.Shared() {
		tick := time.NewTicker(askOthers)
		defer tick.Stop()
		others = tick.C
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-l.db.Failed():
			_ = l.check(l.db.Poisoned()) // it may be that no statement of a user finds out
			return
		case <-l.notice.poke:
		case <-others:
		}
		s, err := l.Snapshot(ctx)
		if err != nil {
			if ctx.Err() == nil {
				l.log.Warn("the newest snapshot cannot be read", "error", err)
			}
			continue
		}
		if s.NextFileID > l.boundsSeen.Load() {
			if err := l.sweepFloatBounds(ctx); err != nil && ctx.Err() == nil {
				l.log.Warn("bounds of new files stay in the catalog", "error", err)
			}
		}
		if s.SchemaVersion != l.inliningSeen.Load() {
			if err := l.settleOthers(ctx); err != nil && ctx.Err() == nil {
				l.log.Error("the catalog may change inlined rows of new tables", "error", err)
			}
		}
		if err := l.settleRegistered(ctx); err != nil && ctx.Err() == nil {
			l.log.Warn("the schemas are not read anew", "error", err)
		}
		l.notice.tell(s.ID)
	}
}

// listenLoop pokes when another process commits. It goes on trying while the catalog is away.
func (l *Lake) listenLoop(ctx context.Context, pg *metadata.Postgres) {
	defer l.work.Done()
	for ctx.Err() == nil {
		err := pg.Listen(ctx, l.Notify)
		if ctx.Err() != nil {
			return
		}
		l.log.Warn("listening for other servers' commits failed; asking every second instead", "error", err)
		select {
		case <-time.After(10 * askOthers):
		case <-ctx.Done():
		}
	}
}

// seen is a snapshot that exists; newer ones may.
func (n *notice) seen() int64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.newest
}
