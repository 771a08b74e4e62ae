package plugin

import (
	"context"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/vegadb/vega-flight/fault"
)

// Supervisor keeps a sidecar running: it launches it, opens its lake, starts it again when it has ended, and changes it for another binary.
type Supervisor struct {
	log     hclog.Logger
	options Options // the goroutine's

	mu      sync.Mutex
	now     *Sidecar      // nil while there is none
	trouble error         // why there is none
	starts  int           // sidecars that could be used so far
	changed chan struct{} // closed when any of these changes
	upgrade *upgrade      // asked for
	asked   chan struct{} // has one when there is an upgrade

	stop context.CancelFunc
	done chan struct{}
}

// upgrade is a wish for another binary.
type upgrade struct {
	options Options
	outcome chan error
}

// The pause before a sidecar that has ended is started again doubles from the first to the last, and begins anew when one has served for
// steady: what is lost then is little beside what is served.
const (
	firstPause = 50 * time.Millisecond
	lastPause  = 10 * time.Second
	steady     = 500 * time.Millisecond
)

// Supervise begins to keep a sidecar running, until Close. It does not wait for the first one: Sidecar does.
func Supervise(o Options) *Supervisor {
	if o.Log == nil {
		o.Log = hclog.NewNullLogger()
	}
	ctx, stop := context.WithCancel(context.Background())
	s := &Supervisor{log: o.Log, options: o, changed: make(chan struct{}), asked: make(chan struct{}, 1), stop: stop, done: make(chan struct{})}
	go s.run(ctx)
	return s
}

// Sidecar waits until there is a sidecar whose lake is open, and gives it. When ctx ends first, the error is why there is none; an error that waiting
// does not mend, such as a checksum that differs or a lake that cannot be opened, is told at once. It is tried again all the same.
// A sidecar that is given may end at any time: ask again when a call fails with SIDECAR_GONE or the status UNAVAILABLE.
func (s *Supervisor) Sidecar(ctx context.Context) (*Sidecar, error) {
	for {
		s.mu.Lock()
		now, trouble, changed := s.now, s.trouble, s.changed
		s.mu.Unlock()
		if now != nil && !now.hasEnded() {
			return now, nil
		}
		if code := fault.CodeOf(trouble); code != nil && code.Kind() != fault.Unavailable {
			return nil, trouble
		}
		select {
		case <-changed:
		case <-s.done:
			return nil, closed()
		case <-ctx.Done():
			if trouble == nil {
				return nil, fault.TimedOut.Wrap(ctx.Err(), "waiting for the sidecar")
			}
			return nil, trouble
		}
	}
}

func closed() error {
	return fault.SidecarGone.Newf("the supervisor is closed").WithHint("make another one")
}

// Starts is how many sidecars have come to serve so far.
func (s *Supervisor) Starts() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.starts
}

// Upgrade drains the sidecar and goes on with another binary, or other options of the lake. If that does not come to serve, the old one is
// started again and the error says why. Callers of Sidecar wait meanwhile.
func (s *Supervisor) Upgrade(ctx context.Context, to Options) error {
	if to.Log == nil {
		to.Log = s.log
	}
	u := &upgrade{options: to, outcome: make(chan error, 1)}
	s.mu.Lock()
	select {
	case <-s.done: // an upgrade that was asked for at last is under way for ever
		s.mu.Unlock()
		return closed()
	default:
	}
	if s.upgrade != nil {
		s.mu.Unlock()
		return fault.SidecarGone.Newf("another upgrade of the sidecar is under way").WithHint("wait for its end")
	}
	s.upgrade = u
	s.mu.Unlock()
	s.asked <- struct{}{}
	select {
	case err := <-u.outcome:
		return err
	case <-s.done:
		return closed()
	case <-ctx.Done():
		return fault.TimedOut.Wrap(ctx.Err(), "the upgrade goes on")
	}
}

// Close drains the sidecar and ends it. When ctx ends before it has drained, it is ended all the same, and the error says so.
func (s *Supervisor) Close(ctx context.Context) error {
	s.stop()
	<-s.done
	s.mu.Lock()
	last := s.now
	s.mu.Unlock()
	s.set(nil, nil)
	if last == nil {
		return nil
	}
	return last.Close(ctx)
}

// set makes a sidecar the one that is given, or says why there is none.
func (s *Supervisor) set(now *Sidecar, trouble error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now, s.trouble = now, trouble
	if now != nil {
		s.starts++
	}
	close(s.changed)
	s.changed = make(chan struct{})
}

// run starts sidecars until ctx ends; the last one is left to Close.
func (s *Supervisor) run(ctx context.Context) {
	defer close(s.done)
	pause := firstPause
	var now *Sidecar
	for ctx.Err() == nil {
		var serving time.Time
		var err error
		if now == nil {
			now, err = Start(ctx, s.options)
		}
		if err == nil {
			s.set(now, nil)
			serving = time.Now()
			select {
			case <-ctx.Done():
				return
			case <-s.asked:
				now = s.change(ctx, now)
				continue
			case <-now.Ended():
			}
			now.Kill() // it has ended; this frees what the host has of it
			now, err = nil, fault.SidecarGone.Newf("the sidecar has ended").WithHint("it is started again; the host's log has its last lines")
		}
		s.set(nil, err)
		if ctx.Err() == nil {
			s.log.Warn("the sidecar is started again", "error", err, "in", pause)
		}
		if !serving.IsZero() && time.Since(serving) >= steady {
			pause = firstPause
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-s.asked:
			now = s.change(ctx, nil)
		case <-ctx.Done():
		}
		timer.Stop()
		pause = min(2*pause, lastPause)
	}
	if now != nil { // it came with an upgrade, as the supervisor was closed
		s.set(now, nil)
	}
}

// change goes over to what an upgrade asks for, and gives the new sidecar; nil when it does not come to serve. Two sidecars cannot have one
// embedded lake, so the old one ends first.
func (s *Supervisor) change(ctx context.Context, old *Sidecar) *Sidecar {
	s.mu.Lock()
	u := s.upgrade
	s.mu.Unlock()
	s.set(nil, fault.SidecarGone.Newf("the sidecar is being exchanged"))
	if old != nil {
		if err := old.Close(ctx); err != nil {
			s.log.Warn("the sidecar before the upgrade has not drained", "error", err)
		}
	}
	now, err := Start(ctx, u.options)
	if err == nil {
		s.options = u.options
	}
	s.mu.Lock()
	s.upgrade = nil
	s.mu.Unlock()
	u.outcome <- err
	return now
}
