package metadata

import (
	"context"
	"sync"
)

// CommitLock is held around COMMITs that make a lake snapshot, and around nothing longer. There is one for each lake
// in a process. It is first come, first served: without it and a short retry wait, writers of one process
// starve each other for seconds.
type CommitLock struct{ slot chan struct{} }

// NewCommitLock makes a free lock.
func NewCommitLock() *CommitLock { return &CommitLock{slot: make(chan struct{}, 1)} }

// Lock waits for the lock or for ctx. The returned function gives it back; calling it again does nothing.
func (l *CommitLock) Lock(ctx context.Context) (unlock func(), err error) {
	// The runtime queues senders of a full channel in order.
	select {
	case l.slot <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	var once sync.Once
	return func() { once.Do(func() { <-l.slot }) }, nil
}
