package flightsql

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/flightsql/auth"
	"github.com/vegadb/vega-flight/ivm"
)

// HandleLimits bound retained query handles. A zero means the default.
type HandleLimits struct {
	PerUser     int           // kept for one user; default 200
	InAll       int           // kept in all; default 1000
	Running     int           // plain statements of one user that run at once; default 16
	Keep        time.Duration // after the end, and each renewal adds as much; default 5 min
	KeepAtMost  time.Duration // after the end, however often renewed; default 24 h
	Abandon     time.Duration // a plain statement that nobody polls for so long is stopped; default 1 h
	LongPoll    time.Duration // a poll without news is answered after this; default 30 s
	SpoolBytes  int64         // disk for all kept results; default 10 GiB
	SpoolByUser int64         // disk for one user's; default a quarter of SpoolBytes
}

func (l HandleLimits) withDefaults() HandleLimits {
	number(&l.PerUser, 200)
	number(&l.InAll, 1000)
	number(&l.Running, 16)
	number(&l.Keep, 5*time.Minute)
	number(&l.KeepAtMost, 24*time.Hour)
	number(&l.Abandon, time.Hour)
	number(&l.LongPoll, 30*time.Second)
	number(&l.SpoolBytes, 10<<30)
	number(&l.SpoolByUser, l.SpoolBytes/4)
	return l
}

// handles are the retained ones of this process. Those of an earlier process
// are taken up from the store when somebody asks for them.
type handles struct {
	svc    *Service
	limits HandleLimits
	store  *handleStore
	spools *spools
	errors translator
	log    *slog.Logger
	server string // this server among those of one lake
	boot   string // this process among those of one server

	mu      sync.Mutex
	byID    map[string]*handle
	working int           // plain statements that run
	quieted chan struct{} // closed when the server drains and nothing runs
	letting chan struct{} // closed when pollers are to be let go
	loading sync.Mutex    // one handle is taken up at a time

	ctx   context.Context
	stop  context.CancelFunc
	group sync.WaitGroup
}

// newHandles opens what the service keeps of polled statements.
func newHandles(s *Service) (*handles, error) {
	limits := s.config.Handles.withDefaults()
	store, err := openHandleStore(s.ctx, s.lake.Store())
	if err != nil {
		return nil, err
	}
	spools, err := openSpools(s.config.SpoolDir, limits.SpoolBytes, limits.SpoolByUser, limits.KeepAtMost+limits.Keep)
	if err != nil {
		return nil, err
	}
	hs := &handles{
		svc: s, limits: limits, store: store, spools: spools, errors: translator{log: s.log, hidden: s.hidden}, log: s.log,
		server: s.config.ServerID, boot: newToken("boot_"),
		byID: map[string]*handle{}, quieted: make(chan struct{}), letting: make(chan struct{}),
	}
	hs.ctx, hs.stop = context.WithCancel(s.ctx)
	hs.group.Add(1)
	go hs.reap()
	return hs, nil
}

// admit refuses a new handle beyond the limits.
func (hs *handles) admit(p auth.Principal) error {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	mine, running := 0, 0
	for _, h := range hs.byID {
		if h.principal != p.Name {
			continue
		}
		mine++
		if now, _ := h.state(); h.job == "" && !now.State.Ended() {
			running++
		}
	}
	switch {
	case len(hs.byID) >= hs.limits.InAll:
		return fault.QuotaExceeded.Newf("the server keeps %d query handles, the most it takes", len(hs.byID)).WithHint("try again later")
	case mine >= hs.limits.PerUser:
		return fault.QuotaExceeded.Newf("user %s has %d query handles, the most a user may have", p.Name, mine).
			WithHint("they expire %s after their statements end", hs.limits.Keep)
	case running >= hs.limits.Running:
		return fault.QuotaExceeded.Newf("user %s has %d polled statements running, the most a user may have", p.Name, running).
			WithHint("wait for some of them to end, or cancel them")
	}
	return nil
}

// keep makes a handle known, durably.
func (hs *handles) keep(ctx context.Context, h *handle) error {
	h.touch(h.submitted, hs.limits.Abandon)
	if h.job != "" && !h.ended() {
		h.extend(h.submitted.Add(jobRowLife))
	}
	row := h.row(hs.server, hs.boot)
	if err := hs.store.insert(ctx, row); err != nil {
		return err
	}
	h.recorded(row.expires)
	hs.mu.Lock()
	hs.byID[h.id] = h
	hs.mu.Unlock()
	return nil
}

// jobRowLife is how long the row of a running job's handle stays when no process is there to record the job's end.
const jobRowLife = 30 * 24 * time.Hour

// get finds the caller's handle. Somebody else's does not exist.
func (hs *handles) get(ctx context.Context, id string) (*handle, error) {
	p, ok := auth.FromContext(ctx)
	if !ok {
		return nil, fault.Unauthorized.Newf("the call has no caller")
	}
	hs.mu.Lock()
	h := hs.byID[id]
	hs.mu.Unlock()
	if h == nil {
		var err error
		if h, err = hs.takeUp(ctx, id); err != nil {
			return nil, err
		}
	}
	if h == nil || h.expired(time.Now()) || h.principal != p.Name && !p.Admin {
		return nil, fault.HandleNotFound.Newf("there is no query handle of this id").
			WithHint("handles expire some time after their statement ends; run the statement again")
	}
	return h, nil
}

// reap forgets expired handles until the service ends.
func (hs *handles) reap() {
	defer hs.group.Done()
	tick := time.NewTicker(min(max(hs.limits.Keep/4, 10*time.Millisecond), 15*time.Second))
	defer tick.Stop()
	for {
		select {
		case <-hs.ctx.Done():
			return
		case now := <-tick.C:
			hs.expire(hs.ctx, now)
		}
	}
}

// expire stops statements that nobody asked about for long, and forgets handles whose time is over.
func (hs *handles) expire(ctx context.Context, now time.Time) {
	var over []*handle
	behind := map[*handle]time.Time{}
	hs.mu.Lock()
	for id, h := range hs.byID {
		if expires, yes := h.renewed(now, hs.limits.Abandon); yes {
			behind[h] = expires
		}
		if h.expired(now) {
			delete(hs.byID, id)
			over = append(over, h)
		}
	}
	hs.mu.Unlock()
	hs.prolong(ctx, behind)
	if len(over) == 0 {
		return
	}
	ids := make([]string, len(over))
	for i, h := range over {
		ids[i] = h.id
		h.cancel()
		if _, sp := h.result(); sp != nil {
			sp.remove()
		}
	}
	// Rows of processes that are gone go with them, a while after they expired.
	if err := hs.store.remove(ctx, now.Add(-time.Hour), ids...); err != nil && ctx.Err() == nil {
		hs.log.Warn("expired query handles stay in the catalog for now", "err", err)
	}
	hs.spools.clean(now.Add(-hs.limits.KeepAtMost - hs.limits.Keep))
}

// prolong writes until when handles are kept that are still asked for: any server of the lake removes rows that are over.
func (hs *handles) prolong(ctx context.Context, behind map[*handle]time.Time) {
	if len(behind) == 0 {
		return
	}
	if err := hs.store.prolong(ctx, behind); err != nil {
		if ctx.Err() == nil {
			hs.log.Warn("how long query handles are kept is not recorded for now", "err", err)
		}
		return
	}
	for h, expires := range behind {
		h.recorded(expires)
	}
}

// saved writes what changed of a handle. Losing that write costs a client at
// most a repeated statement after a crash, so a failure is only logged.
func (hs *handles) saved(h *handle) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(hs.ctx), 10*time.Second)
	defer cancel()
	row := h.row(hs.server, hs.boot)
	if err := hs.store.update(ctx, row); err != nil {
		hs.log.Warn("a query handle's end is not recorded", "handle", h.id, "err", err)
		return
	}
	h.recorded(row.expires)
}

// begin and finish count the plain statements that run.
func (hs *handles) begin() {
	hs.group.Add(1)
	hs.mu.Lock()
	hs.working++
	hs.mu.Unlock()
}

func (hs *handles) finish() {
	hs.mu.Lock()
	hs.working--
	hs.signalLocked()
	hs.mu.Unlock()
	hs.group.Done()
}

// letGo answers all waiting pollers: the server drains.
func (hs *handles) letGo() {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	if !hs.draining() {
		close(hs.letting)
		hs.signalLocked()
	}
}

func (hs *handles) draining() bool {
	select {
	case <-hs.letting:
		return true
	default:
		return false
	}
}

// quiet closes when the server drains and no plain statement runs.
func (hs *handles) quiet() <-chan struct{} { return hs.quieted }

func (hs *handles) signalLocked() {
	if hs.working > 0 || !hs.draining() {
		return
	}
	select {
	case <-hs.quieted:
	default:
		close(hs.quieted)
	}
}

// close stops the plain statements, which are INTERRUPTED, and waits for them as long as ctx allows.
func (hs *handles) close(ctx context.Context) error {
	hs.letGo()
	hs.stop()
	done := make(chan struct{})
	go hs.wait(done)
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (hs *handles) wait(done chan<- struct{}) {
	hs.group.Wait()
	close(done)
}

// callerOf is the engine's word for who is asking, without a session.
func callerOf(p auth.Principal) ivm.Caller {
	return ivm.Caller{Principal: p.Name, Admin: p.Admin, MayAcceptStale: p.MayAcceptStale}
}
