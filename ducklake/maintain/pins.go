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

// Oldest is the oldest snapshot that is pinned by number (0: none is) and how long ago the oldest reader began.
func (p *Pins) Oldest() (snapshot int64, age time.Duration, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for one := range p.live {
		ok = true
		age = max(age, time.Since(one.since))
		if one.snapshot != 0 && (snapshot == 0 || one.snapshot < snapshot) {
			snapshot = one.snapshot
		}
	}
	return snapshot, age, ok
}
