package auth

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/vegadb/vega-flight/fault"
)

// throttle slows down guessing. What it counts is the pair of address and user
// name, so neither other users of an address nor the user from another address
// are kept out. Hashing is bounded too: each address hashes one password at a
// time, and all together a few.
type throttle struct {
	now    func() time.Time
	hashes *semaphore.Weighted

	mu       sync.Mutex
	failures map[attempt]*failure
	busy     map[string]chan struct{} // one token per address that is hashing
	waiting  map[string]int
}

type attempt struct{ address, user string }

type failure struct {
	count int
	until time.Time // refused before this
	last  time.Time
}

const (
	freeFailures = 5                // typing errors cost nothing
	maxPenalty   = 30 * time.Second // a bounded one: nobody is locked out for long
	forgetAfter  = 15 * time.Minute
	maxFailures  = 20_000 // pairs remembered
	maxWaiting   = 16     // logins of one address that may queue
	hashSlots    = 4
)

func newThrottle(now func() time.Time) *throttle {
	return &throttle{now: now, hashes: semaphore.NewWeighted(hashSlots),
		failures: map[attempt]*failure{}, busy: map[string]chan struct{}{}, waiting: map[string]int{}}
}

// admit refuses a pair that failed too often just now.
func (t *throttle) admit(a attempt) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	f := t.failures[a]
	if f == nil {
		return nil
	}
	if wait := f.until.Sub(t.now()); wait > 0 {
		return fault.QuotaExceeded.Newf("too many failed logins of this user from this address").
			WithHint("try again in %d s", int(wait/time.Second)+1)
	}
	return nil
}

// hashing waits for the right to hash one password and returns its release.
func (t *throttle) hashing(ctx context.Context, address string) (func(), error) {
	t.mu.Lock()
	if t.waiting[address] >= maxWaiting {
		t.mu.Unlock()
		return nil, fault.QuotaExceeded.Newf("too many logins at once from this address")
	}
	t.waiting[address]++
	turn := t.busy[address]
	if turn == nil {
		turn = make(chan struct{}, 1)
		t.busy[address] = turn
	}
	t.mu.Unlock()
	leave := func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.waiting[address]--; t.waiting[address] == 0 {
			delete(t.waiting, address)
			delete(t.busy, address)
		}
	}
	select {
	case turn <- struct{}{}:
	case <-ctx.Done():
		leave()
		return nil, ctx.Err()
	}
	if err := t.hashes.Acquire(ctx, 1); err != nil {
		<-turn
		leave()
		return nil, err
	}
	return func() {
		t.hashes.Release(1)
		<-turn
		leave()
	}, nil
}

// failed counts a failure of the pair; succeeded forgets them.
func (t *throttle) failed(a attempt) {
	now := t.now()
	t.mu.Lock()
	defer t.mu.Unlock()
	f := t.failures[a]
	if f == nil || now.Sub(f.last) > forgetAfter {
		if len(t.failures) >= maxFailures {
			t.forget(now)
		}
		f = &failure{}
		t.failures[a] = f
	}
	f.count++
	f.last = now
	if over := f.count - freeFailures; over >= 0 {
		f.until = now.Add(min(time.Second<<min(over, 10), maxPenalty))
	}
}

func (t *throttle) succeeded(a attempt) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.failures, a)
}

// forget makes room: first the old ones, then, in a flood of made-up names, those that failed least.
func (t *throttle) forget(now time.Time) {
	for a, f := range t.failures {
		if now.Sub(f.last) > forgetAfter {
			delete(t.failures, a)
		}
	}
	for limit := 1; len(t.failures) >= maxFailures; limit *= 4 {
		for a, f := range t.failures {
			if f.count <= limit {
				delete(t.failures, a)
			}
		}
	}
}
