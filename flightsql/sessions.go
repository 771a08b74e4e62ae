package flightsql

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/vegadb/vega-flight/ducklake"
	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/flightsql/auth"
)

// cookieName is the session's cookie.
const cookieName = "vega_session"

// sessions are all open ones. A session is found by the cookie that names it,
// or, until its client has once sent that cookie, by its connection. So a
// client that keeps cookies may use several connections, one that does not has
// a session per connection, and two clients with one token never share one.
type sessions struct {
	mu     sync.Mutex
	byID   map[string]*session
	byConn map[place]*session
	users  map[string]int
}

// place is where a session without a cookie lives.
type place struct {
	conn      connection
	principal string
}

func newSessions() *sessions {
	return &sessions{byID: map[string]*session{}, byConn: map[place]*session{}, users: map[string]int{}}
}

// session finds the session of a call, or opens one. The caller must call its
// done when the call ends.
func (s *Service) session(ctx context.Context) (*session, error) {
	p, ok := auth.FromContext(ctx)
	if !ok {
		return nil, fault.Unauthorized.Newf("the call has no caller")
	}
	if id := sessionCookie(ctx); id != "" {
		sess := s.entitled(s.sessions.claim(id, p), p)
		if sess == nil {
			setCookie(ctx, &http.Cookie{Name: cookieName, MaxAge: -1})
			return nil, fault.SessionNotFound.Newf("the session has ended, and its settings, temporary objects and transaction with it").
				WithHint("the next call starts a new one")
		}
		return sess, nil
	}
	conn, _ := connectionOf(ctx)
	return s.openSession(ctx, place{conn, p.Name}, p)
}

// entitled ends a session that was opened while its user had other rights than the call has now, and gives nil for it.
func (s *Service) entitled(sess *session, p auth.Principal) *session {
	if sess == nil || sess.principal == p {
		return sess
	}
	s.log.Info("session ended", "session", sess.label(), "user", p.Name, "reason", "the user's rights changed")
	s.end(sess)
	sess.done()
	return nil
}

// existing finds the session of a call without opening one.
func (s *Service) existing(ctx context.Context) *session {
	p, ok := auth.FromContext(ctx)
	if !ok {
		return nil
	}
	if id := sessionCookie(ctx); id != "" {
		return s.sessions.claim(id, p)
	}
	conn, _ := connectionOf(ctx)
	return s.sessions.at(place{conn, p.Name})
}

func (s *Service) openSession(ctx context.Context, at place, p auth.Principal) (*session, error) {
	if sess := s.entitled(s.sessions.at(at), p); sess != nil {
		return sess, nil
	}
	if s.ctx.Err() != nil {
		return nil, fault.Draining.Newf("the server is shutting down")
	}
	lake, err := s.lake.NewSession(ctx, ducklake.SessionConfig{
		Principal: p.Name, Admin: p.Admin,
		StatementTimeout: s.limits.Statement, Streams: s.limits.Results,
	})
	if err != nil {
		return nil, err
	}
	sess := newSession(s, p, lake)
	s.running.Add(1) // until it is freed
	other, err := s.sessions.add(sess, at, s.limits)
	if err != nil || other != nil {
		// A call of the same client was quicker, or there are too many.
		s.running.Done()
		sess.cancel()
		lake.Close()
		return other, err
	}
	if s.ctx.Err() != nil { // Close may have looked already
		s.end(sess)
		sess.done()
		return nil, fault.Draining.Newf("the server is shutting down")
	}
	s.observe.Sessions(s.sessions.count())
	setCookie(ctx, &http.Cookie{Name: cookieName, Value: sess.id, HttpOnly: true})
	s.log.Debug("session opened", "session", sess.label(), "user", p.Name)
	return sess, nil
}

// at finds the session of a connection and holds it for a call.
func (ss *sessions) at(at place) *session {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	return ss.byConn[at].hold()
}

// claim finds the caller's session by its cookie and holds it for a call. From
// now on the connection it was opened on may open another one.
func (ss *sessions) claim(id string, p auth.Principal) *session {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	sess := ss.byID[id]
	if sess == nil || sess.principal.Name != p.Name {
		return nil
	}
	if ss.byConn[sess.at] == sess {
		delete(ss.byConn, sess.at)
	}
	return sess.hold()
}

// add makes a session known, unless its place is taken (then the one that is there is held) or limits are reached.
func (ss *sessions) add(sess *session, at place, l Limits) (other *session, err error) {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	if other := ss.byConn[at].hold(); other != nil {
		return other, nil
	}
	user := sess.principal.Name
	if ss.users[user] >= l.SessionsPerUser {
		return nil, fault.QuotaExceeded.Newf("user %s has %d open sessions, the most a user may have", user, ss.users[user]).
			WithHint("close connections that are not used")
	}
	if len(ss.byID) >= l.Sessions {
		return nil, fault.QuotaExceeded.Newf("the server has %d open sessions, the most it takes", len(ss.byID)).
			WithHint("try again later")
	}
	sess.at = at
	ss.byID[sess.id], ss.byConn[at] = sess, sess
	ss.users[user]++
	sess.hold()
	return nil, nil
}

// remove forgets a session and says whether it was known: whoever removes it closes it.
func (ss *sessions) remove(sess *session) bool {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	if ss.byID[sess.id] != sess {
		return false
	}
	delete(ss.byID, sess.id)
	if ss.byConn[sess.at] == sess {
		delete(ss.byConn, sess.at)
	}
	if ss.users[sess.principal.Name]--; ss.users[sess.principal.Name] == 0 {
		delete(ss.users, sess.principal.Name)
	}
	return true
}

func (ss *sessions) count() int {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	return len(ss.byID)
}

func (ss *sessions) all() []*session {
	return ss.which(func(*session) bool { return true })
}

// on are the sessions that live by a connection.
func (ss *sessions) on(c connection) []*session {
	return ss.which(func(sess *session) bool { return sess.at.conn == c && ss.byConn[sess.at] == sess })
}

// idle are the sessions without a call since the given time.
func (ss *sessions) idle(since time.Time) []*session {
	return ss.which(func(sess *session) bool { return sess.idleSince(since) })
}

func (ss *sessions) which(f func(*session) bool) []*session {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	var out []*session
	for _, sess := range ss.byID {
		if f(sess) {
			out = append(out, sess)
		}
	}
	return out
}

// connectionEnded ends the sessions that live by the connection.
func (s *Service) connectionEnded(c connection) {
	for _, sess := range s.sessions.on(c) {
		s.log.Debug("session ended", "session", sess.label(), "user", sess.principal.Name, "reason", "connection closed")
		s.end(sess)
	}
}

// end closes a session in the background: what runs in it is stopped first.
func (s *Service) end(sess *session) {
	if !s.sessions.remove(sess) {
		return
	}
	s.observe.Sessions(s.sessions.count())
	for _, r := range s.results.of(sess) {
		r.drop()
	}
	sess.close()
}

// sessionCookie is the session's cookie in the call's headers, "" without one.
func sessionCookie(ctx context.Context) string {
	for _, line := range metadata.ValueFromIncomingContext(ctx, "cookie") {
		cookies, err := http.ParseCookie(strings.ReplaceAll(line, ";", "; "))
		if err != nil {
			continue
		}
		for _, c := range cookies {
			if c.Name == cookieName {
				return c.Value
			}
		}
	}
	return ""
}

func setCookie(ctx context.Context, c *http.Cookie) {
	// Without a gRPC stream in ctx there is nobody to give a cookie to.
	_ = grpc.SetHeader(ctx, metadata.Pairs("set-cookie", c.String()))
}
