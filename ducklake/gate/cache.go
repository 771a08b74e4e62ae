package gate

import "sync"

// cache keeps what was found about recent texts, for sessions without temporary objects. It has two halves:
// when the young one is full it becomes the old one, and an entry that is used again moves to the young.
type cache struct {
	mu         sync.Mutex
	young, old map[cacheKey]*Analysis
	bytes      int
}

type cacheKey struct {
	sql             string
	catalog, schema string
	admin           bool
}

// The cache's halves hold at most this much text.
const cacheBytes = 4 << 20

func newCache() *cache {
	return &cache{young: map[cacheKey]*Analysis{}}
}

func (c *cache) get(k cacheKey) *Analysis {
	c.mu.Lock()
	defer c.mu.Unlock()
	if a := c.young[k]; a != nil {
		return a
	}
	a := c.old[k]
	if a != nil {
		c.put(k, a)
	}
	return a
}

func (c *cache) add(k cacheKey, a *Analysis) {
	if len(k.sql) > cacheBytes/64 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.put(k, a)
}

func (c *cache) put(k cacheKey, a *Analysis) {
	// An analysis has about a kilobyte beside its text.
	if c.bytes += len(k.sql) + 1024; c.bytes > cacheBytes {
		c.old, c.young, c.bytes = c.young, map[cacheKey]*Analysis{}, len(k.sql)+1024
	}
	c.young[k] = a
}

// clear forgets everything; the schemas changed.
func (c *cache) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.young, c.old, c.bytes = map[cacheKey]*Analysis{}, nil, 0
}
