package changelog

import (
	"context"
	"slices"

	"github.com/vegadb/vega-flight/ivm/zset"
)

// given is what a publication of this server has changed, as its publisher had it in memory: the feed would say the same, and would have to
// find the rows that went in their files first.
type given struct {
	delta    *zset.Batch // consolidated; nobody changes it any more
	bytes    int64
	snapshot int64
	after    int64         // it is later than this snapshot
	ready    chan struct{} // closed when it is known what became of it
}

// Publishing hears that a view's change, which is consolidated and stays as it is, is about to be committed. What it gives is to be told the
// snapshot whose change of the view's table that is; 0: there is none, or it cannot be said of any. Subscribers who come to the snapshot before
// wait for it.
func (c *Changelog) Publishing(uuid string, delta *zset.Batch) (ended func(snapshot int64)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f := c.views[uuid]
	if f == nil || delta == nil {
		return func(int64) {} // nobody asks for it
	}
	g := &given{delta: delta, bytes: int64(8*(len(delta.Words)+len(delta.Weights)) + delta.Heap.Held()), after: f.at, ready: make(chan struct{})}
	if g.bytes > c.GivenBytes {
		return func(int64) {}
	}
	f.going = g
	return func(snapshot int64) { c.published(f, g, snapshot) }
}

// published notes what became of a publication.
func (c *Changelog) published(f *followed, g *given, snapshot int64) {
	defer close(g.ready)
	c.mu.Lock()
	defer c.mu.Unlock()
	if f.going == g {
		f.going = nil
	}
	if snapshot <= 0 || c.views[f.uuid] != f {
		return
	}
	g.snapshot = snapshot
	f.given = append(f.given, g)
	c.given += g.bytes
	size := int64(0)
	for _, x := range f.given {
		size += x.bytes
	}
	for size > c.GivenBytes {
		size -= c.dropGivenLocked(f)
	}
	for c.given > c.MemoryBytes {
		oldest := f
		for _, x := range c.views {
			if len(x.given) > 0 && (len(oldest.given) == 0 || x.given[0].snapshot < oldest.given[0].snapshot) {
				oldest = x
			}
		}
		c.dropGivenLocked(oldest)
	}
}

// dropGivenLocked forgets the oldest of a view.
func (c *Changelog) dropGivenLocked(f *followed) int64 {
	size := f.given[0].bytes
	c.given -= size
	f.given = slices.Delete(f.given, 0, 1)
	return size
}

// givenFor is the change of a snapshot, if it is in memory; if it may be on its way, it waits.
func (c *Changelog) givenFor(ctx context.Context, uuid string, snapshot int64) (*zset.Batch, error) {
	for {
		c.mu.Lock()
		f := c.views[uuid]
		if f == nil {
			c.mu.Unlock()
			return nil, nil
		}
		for _, g := range f.given {
			if g.snapshot == snapshot {
				c.mu.Unlock()
				return g.delta, nil
			}
		}
		going := f.going
		c.mu.Unlock()
		if going == nil || snapshot <= going.after {
			return nil, nil
		}
		select {
		case <-going.ready:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}
