package ducklake

import (
	"context"
	"errors"
	"runtime/debug"
	"sync"
	"time"

	"github.com/vegadb/vega-flight/ducklake/duck"
)

// DuckDB's memory limit is for its buffers. Values of functions and aggregates, and what Go has, come on top. Above a ceiling
// for the process, DuckDB's large allocations are refused (package duck); what grows in small steps is seen by a watch, which
// ends the newest statement, again and again until it is enough.

// errMemory is the cause of a context that the watch ended.
var errMemory = errors.New("the process is above its memory ceiling")

const (
	memoryTick = 100 * time.Millisecond
	memoryRest = time.Second // between two ends, and between two times that freed memory is given back
)

// memory knows what runs that can be ended, for the watch: users' statements and refreshes.
type memory struct {
	ceiling uint64 // 0: there is no watch

	mu      sync.Mutex
	running []*consumer // the newest last

	leak leak
}

// consumer is a running statement, or an open result.
type consumer struct {
	since  time.Time
	cancel context.CancelCauseFunc
}

// enter makes a statement known until it is over.
func (m *memory) enter(cancel context.CancelCauseFunc) (leave func()) {
	if m.ceiling == 0 {
		return func() {}
	}
	c := &consumer{since: time.Now(), cancel: cancel}
	m.mu.Lock()
	m.running = append(m.running, c)
	m.mu.Unlock()
	return func() { m.drop(c) }
}

func (m *memory) drop(c *consumer) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i, r := range m.running {
		if r == c {
			m.running = append(m.running[:i], m.running[i+1:]...)
			return
		}
	}
}

// end ends the newest statement that ran at a time, and forgets it.
func (m *memory) end(at time.Time) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := len(m.running) - 1; i >= 0; i-- {
		if c := m.running[i]; c.since.Before(at) {
			m.running = append(m.running[:i], m.running[i+1:]...)
			c.cancel(errMemory)
			return true
		}
	}
	return false
}

// line is where memory becomes short, below the ceiling.
func line(ceiling uint64) uint64 { return ceiling - ceiling/8 }

// busy says whether anything runs since before a time; the zero time is now.
func (m *memory) busy(at time.Time) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.running) > 0 && (at.IsZero() || m.running[0].since.Before(at))
}

// Bounded is for statements on an acquired connection that may take much memory. Its context ends when the process is above its ceiling and
// they are the newest; why then says so in place of their error. leave must be called when they are over.
func (l *Lake) Bounded(ctx context.Context) (_ context.Context, why func(error) error, leave func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	unwatch := l.memory.enter(cancel)
	return ctx, func(err error) error { return stopped(ctx, err) }, func() {
		unwatch()
		cancel(nil)
	}
}

// startMemory puts the ceiling up.
func (l *Lake) startMemory(ctx context.Context) {
	if l.memory.ceiling == 0 {
		return
	}
	duck.SetCeiling(l.memory.ceiling)
	l.memory.leak.base = l.read(ctx).unknown()
	l.work.Add(1)
	go l.watchMemory(ctx)
}

// watchMemory keeps the process below its ceiling until ctx ends.
func (l *Lake) watchMemory(ctx context.Context) {
	defer l.work.Done()
	tick := time.NewTicker(memoryTick)
	defer tick.Stop()
	var rested time.Time // when there may be something to do again
	before := time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			if now.After(rested) && l.relieve(ctx, l.memory.ceiling, before) {
				rested = now.Add(memoryRest)
			}
			before = now
		}
	}
}

// relieve does what is necessary, if anything is. Who came after since has not made the process large.
func (l *Lake) relieve(ctx context.Context, ceiling uint64, since time.Time) bool {
	m := &l.memory
	switch resident := duck.Resident(); {
	case resident >= line(ceiling):
	case resident <= m.leak.base+ceiling/2:
		m.leak.rest()
		return false
	case m.busy(time.Time{}):
		return false
	case !m.leak.took(l.read(ctx), ceiling/2):
		m.leak.rest()
		return true
	}
	duck.Purge()
	debug.FreeOSMemory()
	busy := m.busy(m.leak.since())
	if !busy {
		duck.Trim()
	}
	now := l.read(ctx)
	if now.resident > ceiling && m.end(since) {
		l.log.Warn("a statement is ended: the process is above its memory ceiling", "resident", now.resident, "ceiling", ceiling)
	}
	l.weigh(now, ceiling, busy)
	return true
}
