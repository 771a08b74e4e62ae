package gate

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vegadb/vega-flight/ducklake/duck"
	"github.com/vegadb/vega-flight/fault"
)

// instance is one shadow and what the gate knows of it. Arguments of table functions are computed when a statement
// is bound, and nothing can interrupt that; so an instance that cannot be changed in time is left to those that
// hold it, and another one takes its place.
type instance struct {
	db     *duck.DB
	admin  *duck.Conn // used by Sync
	prober *duck.Conn // used by the holder of probing

	probing chan struct{} // one trial of DDL at a time
	stuck   atomic.Bool   // a trial does not end

	turn   turnstile
	mirror *mirror // changes only while nobody is inside the turnstile
	cache  *cache

	users int // the sessions, and the gate while it is the current one; guarded by Gate.mu
}

func openInstance(ctx context.Context, c Config) (*instance, error) {
	db, admin, err := openShadow(ctx, c)
	if err != nil {
		return nil, err
	}
	in := &instance{db: db, admin: admin, probing: make(chan struct{}, 1), cache: newCache(), users: 1}
	if in.prober, err = db.Connect(); err != nil {
		return nil, errors.Join(fault.InternalError.Wrap(err, "opening the shadow"), admin.Close(), db.Close())
	}
	return in, nil
}

func (in *instance) close() error {
	return errors.Join(in.prober.Close(), in.admin.Close(), in.db.Close())
}

// probe waits for the prober. When its user does not come to an end the instance has to be replaced.
func (in *instance) probe(ctx context.Context, patience time.Duration) error {
	limit := time.NewTimer(patience)
	defer limit.Stop()
	select {
	case in.probing <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-limit.C:
		in.stuck.Store(true)
		return fault.CommitConflict.Newf("another definition is still being tried").WithHint("run the statement again")
	}
}

func (in *instance) probed() { <-in.probing }

// turnstile lets many in at a time, or nobody. Unlike with a lock, waiting for it can end early.
type turnstile struct {
	mu     sync.Mutex
	inside int
	shut   chan struct{} // nil while it is open; closed when it opens
	empty  chan struct{} // nil unless somebody waits for it; closed when nobody is inside

	entered func() // called when somebody has come in; tests set it
}

func (t *turnstile) enter(ctx context.Context) error {
	for {
		t.mu.Lock()
		shut := t.shut
		if shut == nil {
			t.inside++
			entered := t.entered
			t.mu.Unlock()
			if entered != nil {
				entered()
			}
			return nil
		}
		t.mu.Unlock()
		select {
		case <-shut:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (t *turnstile) leave() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.inside--; t.inside == 0 && t.empty != nil {
		close(t.empty)
		t.empty = nil
	}
}

// lock shuts it and waits until nobody is inside. It stays shut, also after an error, until unlock.
func (t *turnstile) lock(ctx context.Context) error {
	t.mu.Lock()
	t.shut = make(chan struct{})
	if t.inside == 0 {
		t.mu.Unlock()
		return nil
	}
	empty := make(chan struct{})
	t.empty = empty
	t.mu.Unlock()
	select {
	case <-empty:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (t *turnstile) unlock() {
	t.mu.Lock()
	defer t.mu.Unlock()
	close(t.shut)
	t.shut, t.empty = nil, nil
}

// patience is how long a change of the shadow waits for the statements that are being analysed.
const patience = 5 * time.Second

// maxRetired is how many instances may be waited for until their last statement ends.
const maxRetired = 8

// now is the instance that statements are analysed in.
func (g *Gate) now() *instance {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.current
}

// join makes the caller a user of the current instance.
func (g *Gate) join() *instance {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.current.users++
	return g.current
}

// part ends that. The last one closes the instance.
func (g *Gate) part(in *instance) error {
	g.mu.Lock()
	in.users--
	last := in.users == 0
	if last {
		g.retired--
	}
	g.mu.Unlock()
	if last {
		return in.close()
	}
	return nil
}

// replace makes another instance the current one. The caller has shut the turnstile of the one before.
func (g *Gate) replace(next *instance) error {
	g.mu.Lock()
	in := g.current
	g.current = next
	g.retired++
	g.mu.Unlock()
	in.turn.unlock() // who waited there finds the next one
	return g.part(in)
}

// enter waits until statements may be analysed, and makes the caller a user of the instance inside its turnstile.
func (g *Gate) enter(ctx context.Context) (*instance, error) {
	for {
		in := g.join()
		err := in.turn.enter(ctx)
		if err == nil {
			if in == g.now() {
				return in, nil
			}
			in.turn.leave()
		}
		if err = errors.Join(err, g.part(in)); err != nil {
			return nil, err
		}
	}
}
