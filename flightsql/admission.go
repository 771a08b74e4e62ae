package flightsql

import (
	"context"
	"sync"

	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/flightsql/auth"
)

// admission counts the calls that are at work, bounds them per user, and closes
// the door while the server drains.
type admission struct {
	perUser int

	mu       sync.Mutex
	users    map[string]int
	running  int
	draining bool
	idle     chan struct{} // closed when draining and nothing runs
}

func newAdmission(perUser int) *admission {
	return &admission{perUser: perUser, users: map[string]int{}, idle: make(chan struct{})}
}

// enter lets a call in until leave. Work is what starts something; calls that
// read or end what is there are always let in, so that a user at the limit can
// still cancel, and a draining server is still drained.
func (a *admission) enter(ctx context.Context, work bool) (leave func(), err error) {
	p, _ := auth.FromContext(ctx)
	a.mu.Lock()
	defer a.mu.Unlock()
	if work {
		if a.draining {
			return nil, fault.Draining.Newf("the server is shutting down").WithHint("connect again in a moment")
		}
		if a.users[p.Name] >= a.perUser {
			return nil, fault.QuotaExceeded.Newf("user %s has %d calls at work, the most a user may have", p.Name, a.perUser).
				WithHint("wait for some of them to end")
		}
		a.users[p.Name]++
	}
	a.running++
	var once sync.Once
	return func() { once.Do(func() { a.leave(p.Name, work) }) }, nil
}

func (a *admission) leave(user string, work bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if work {
		if a.users[user]--; a.users[user] == 0 {
			delete(a.users, user)
		}
	}
	a.running--
	a.signalLocked()
}

// drain closes the door and gives a channel that closes when the last call has left.
func (a *admission) drain() <-chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.draining {
		a.draining = true
		a.signalLocked()
	}
	return a.idle
}

func (a *admission) signalLocked() {
	if a.draining && a.running == 0 {
		select {
		case <-a.idle:
		default:
			close(a.idle)
		}
	}
}
