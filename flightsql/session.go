package flightsql

import (
	"context"
	"sync"
	"time"

	"github.com/vegadb/vega-flight/ducklake"
	"github.com/vegadb/vega-flight/flightsql/auth"
	"github.com/vegadb/vega-flight/ivm"
)

// session is one client's session: its SQL session in the lake, its prepared
// statements and its transaction. It ends when it is closed and nothing uses
// it any more; closing stops all of its work but retained handles.
type session struct {
	svc       *Service
	id        string // secret: the cookie's value
	principal auth.Principal
	lake      *ducklake.Session
	at        place           // where it lives without a cookie; guarded by sessions.mu
	ctx       context.Context // ends when the session is closed
	cancel    context.CancelFunc
	gone      chan struct{} // closed when everything is freed

	mu       sync.Mutex
	uses     int // calls, waiting results, streams and handles
	lastUse  time.Time
	closed   bool
	prepared map[string]*prepared
	bytes    int64  // of bound parameters
	lost     string // the transaction that was rolled back for being idle
}

func newSession(s *Service, p auth.Principal, lake *ducklake.Session) *session {
	sess := &session{
		svc: s, id: newToken("vqs_"), principal: p, lake: lake,
		gone: make(chan struct{}), lastUse: time.Now(), prepared: map[string]*prepared{},
	}
	sess.ctx, sess.cancel = context.WithCancel(s.ctx)
	return sess
}

// label is the part of the id that logs may show.
func (sess *session) label() string { return sess.id[4:10] }

// hold keeps the session from ending; nil when it is closed or not there.
func (sess *session) hold() *session {
	if sess == nil {
		return nil
	}
	sess.mu.Lock()
	defer sess.mu.Unlock()
	if sess.closed {
		return nil
	}
	sess.uses++
	return sess
}

// done undoes a hold. The last one ends a closed session.
func (sess *session) done() {
	sess.mu.Lock()
	sess.uses--
	sess.lastUse = time.Now()
	last := sess.uses == 0 && sess.closed
	sess.mu.Unlock()
	if last {
		sess.finish()
	}
}

// close stops the session's work and ends it, now or when the last holder lets go.
func (sess *session) close() {
	sess.mu.Lock()
	was := sess.closed
	sess.closed = true
	last := sess.uses == 0
	sess.prepared = nil
	sess.mu.Unlock()
	if was {
		return
	}
	sess.cancel()
	if last {
		sess.finish()
	}
}

// finish rolls back and frees, in the background: it is called from whatever noticed the end.
func (sess *session) finish() { go sess.free() }

func (sess *session) free() {
	defer sess.svc.running.Done()
	defer close(sess.gone)
	if err := sess.lake.Close(); err != nil {
		sess.svc.log.Warn("closing a session failed", "session", sess.label(), "error", err)
	}
}

func (sess *session) idleSince(t time.Time) bool {
	sess.mu.Lock()
	defer sess.mu.Unlock()
	return sess.uses == 0 && sess.lastUse.Before(t)
}

// within gives a context that ends with ctx or with the session.
func (sess *session) within(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(sess.ctx, func() { cancel(context.Cause(sess.ctx)) })
	return ctx, func() { stop(); cancel(nil) }
}

// caller is the session's user as the engine sees it.
func (sess *session) caller() ivm.Caller {
	accept, _ := sess.lake.Options()["vega.accept_stale"].(bool)
	return ivm.Caller{
		Principal:      sess.principal.Name,
		Admin:          sess.principal.Admin,
		MayAcceptStale: sess.principal.MayAcceptStale,
		AcceptStale:    accept,
		SessionKey:     sess.label(),
		Session:        sess.lake,
		Clean:          sess.svc.hidden.cleaner(sess.principal),
	}
}
