package maintain

import (
	"sync"
	"time"
)

// Pins are the snapshots that readers and transactions of this process need, for as long as they run.
type Pins struct {
	mu   sync.Mutex
	live map[*pin]struct{}
}

type pin struct {
	snapshot int64
	since    time.Time
}

// NewPins makes an empty registry.
func NewPins() *Pins { return &Pins{live: map[*pin]struct{}{}} }

// Pin keeps a snapshot, and the files it needs, until release. 0 is whatever is the newest when the reader begins.
func (p *Pins) Pin(snapshot int64) (release func()) {
	one := &pin{snapshot: snapshot, since: time.Now()}
	p.mu.Lock()
	p.live[one] = struct{}{}
	p.mu.Unlock()
	return func() {
		p.mu.Lock()
		delete(p.live, one)
		p.mu.Unlock()
	}
}

// Needs is what the pins add up to.
type Needs struct {
	Snapshot int64         // the oldest that is pinned by number, 0 if none is
	Newest   time.Duration // how long ago the oldest reader of what was newest then began, 0 if there is none
	Any      time.Duration // how long ago the oldest of all began
	Readers  int
}

// Needs adds the pins up.
func (p *Pins) Needs() Needs {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := Needs{Readers: len(p.live)}
	for one := range p.live {
		age := max(time.Since(one.since), 1)
		n.Any = max(n.Any, age)
		if one.snapshot == 0 {
			n.Newest = max(n.Newest, age)
		} else if n.Snapshot == 0 || one.snapshot < n.Snapshot {
			n.Snapshot = one.snapshot
		}
	}
	return n
}
