package flightsql

import (
	"context"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/flight"

	"github.com/vegadb/vega-flight/fault"
)

func TestSessionsAreTheirClients(t *testing.T) {
	h := open(t)
	one, two := h.client("ann"), h.client("ann") // one credential, two connections
	one.must("CREATE TEMP TABLE own AS SELECT 1 AS i")
	one.must("SET TimeZone = 'Asia/Tokyo'")
	equal(t, "own temporary table", one.value("SELECT i FROM own"), "1")
	two.fails("SELECT i FROM own", fault.ObjectNotFound)
	equal(t, "the other's time zone", two.value("SELECT current_setting('TimeZone')"), "UTC")
	equal(t, "sessions", h.svc.sessions.count(), 2)
}

func TestCookieCarriesASessionAcrossConnections(t *testing.T) {
	h := open(t)
	cookies := flight.NewCookieMiddleware()
	one := h.connect("ann", flight.CreateClientMiddleware(cookies))
	one.must("CREATE TEMP TABLE own AS SELECT 1 AS i")
	equal(t, "with the cookie", one.value("SELECT i FROM own"), "1")
	two := h.connect("ann", flight.CreateClientMiddleware(cookies.Clone()))
	equal(t, "on another connection", two.value("SELECT i FROM own"), "1")
	equal(t, "sessions", h.svc.sessions.count(), 1)

	// The cookie is worth nothing to anybody else.
	thief := h.connect("bob", flight.CreateClientMiddleware(cookies.Clone()))
	thief.fails("SELECT i FROM own", fault.SessionNotFound)

	// It survives its first connection.
	if err := one.Close(); err != nil {
		t.Fatal(err)
	}
	equal(t, "after the first connection's end", two.value("SELECT i FROM own"), "1")

	// When the session has ended, the client is told once and then starts anew.
	for _, s := range h.svc.sessions.all() {
		h.svc.end(s)
	}
	two.fails("SELECT 1", fault.SessionNotFound)
	equal(t, "a new session", two.value("SELECT 1"), "1")
}

func TestConnectionEndsItsSession(t *testing.T) {
	h := open(t)
	watch := h.client("ann")
	watch.must("CREATE TABLE w (i INTEGER)")
	c := h.client("ann")
	if _, err := c.BeginTransaction(c.ctx()); err != nil {
		t.Fatal(err)
	}
	c.must("INSERT INTO w VALUES (1)")
	sess := h.sessionOf(c)
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	<-sess.gone
	equal(t, "sessions", h.svc.sessions.count(), 1)
	equal(t, "rows", watch.value("SELECT count(*) FROM w"), "0")
}

// sessionOf is the newest session but those seen before.
func (h *house) sessionOf(c *client) *session {
	h.t.Helper()
	var newest *session
	for _, s := range h.svc.sessions.all() {
		if s.principal.Name == c.user && (newest == nil || s.lastUse.After(newest.lastUse)) {
			newest = s
		}
	}
	return newest
}

func TestCloseSession(t *testing.T) {
	h := open(t)
	for name, c := range map[string]*client{"by connection": h.client("ann"), "by cookie": h.keeper("ann")} {
		t.Run(name, func(t *testing.T) {
			c.must("CREATE TEMP TABLE own AS SELECT 1 AS i")
			res, err := c.CloseSession(c.ctx(), &flight.CloseSessionRequest{})
			if err != nil {
				t.Fatal(err)
			}
			equal(t, "status", res.Status, flight.CloseSessionResultClosed)
			c.fails("SELECT i FROM own", fault.ObjectNotFound) // a new session
			for range 2 {
				if _, err := c.CloseSession(c.ctx(), &flight.CloseSessionRequest{}); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

func TestSessionLimits(t *testing.T) {
	h := open(t, func(c *Config) { c.Limits.SessionsPerUser, c.Limits.Sessions = 2, 3 })
	h.client("ann").must("SELECT 1")
	h.client("ann").must("SELECT 1")
	third := h.client("ann")
	third.fails("SELECT 1", fault.QuotaExceeded)
	h.client("bob").must("SELECT 1")
	h.client("cat").fails("SELECT 1", fault.QuotaExceeded)
	sess := h.sessionOf(third)
	h.svc.end(sess)
	<-sess.gone
	third.must("SELECT 1")
}

func TestIdleThingsEnd(t *testing.T) {
	h := open(t)
	c := h.client("ann")
	c.must("CREATE TABLE w (i INTEGER)")
	tx, err := c.BeginTransaction(c.ctx())
	if err != nil {
		t.Fatal(err)
	}
	l := h.svc.limits
	idle := func() { h.svc.expire(time.Now().Add(l.TransactionIdle + time.Second)) }

	idle() // holds nothing: a notebook may stay open over night
	if _, err := tx.ExecuteUpdate(c.ctx(), "INSERT INTO w VALUES (1)"); err != nil {
		t.Fatal(err)
	}
	h.svc.expire(time.Now())
	if _, err := tx.ExecuteUpdate(c.ctx(), "INSERT INTO w VALUES (2)"); err != nil {
		t.Fatal(err)
	}
	idle()
	_, err = tx.ExecuteUpdate(c.ctx(), "INSERT INTO w VALUES (3)")
	wants(t, err, fault.TransactionUnknown)
	wants(t, tx.Commit(c.ctx()), fault.TransactionUnknown)
	equal(t, "rows", c.value("SELECT count(*) FROM w"), "0")

	info, err := c.Execute(c.ctx(), "SELECT 1")
	if err != nil {
		t.Fatal(err)
	}
	h.svc.expire(time.Now().Add(l.ResultWait + time.Second))
	_, err = c.rows(info)
	wants(t, err, fault.HandleNotFound)

	sess := h.sessionOf(c)
	h.svc.expire(time.Now().Add(l.SessionIdle + time.Second))
	<-sess.gone
	equal(t, "sessions", h.svc.sessions.count(), 0)
	equal(t, "the connection goes on with a new one", c.value("SELECT 1"), "1")
}

func TestResultsWaitingAreBounded(t *testing.T) {
	h := open(t, func(c *Config) { c.Limits.Results = 3 })
	c, other := h.client("ann"), h.client("ann")
	execute := func(c *client) *flight.FlightInfo {
		info, err := c.Execute(c.ctx(), "SELECT 1")
		if err != nil {
			t.Fatal(err)
		}
		return info
	}
	elsewhere, first, second := execute(other), execute(c), execute(c)
	for range 20 { // as clients do that look at the columns and close
		last := execute(c)
		if _, err := c.rows(last); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.rows(second); err != nil {
		t.Fatal(err)
	}
	third, fourth, fifth := execute(c), execute(c), execute(c)
	_, err := c.rows(first)
	wants(t, err, fault.HandleNotFound)
	for _, info := range []*flight.FlightInfo{fifth, third, fourth} {
		if _, err := c.rows(info); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := other.rows(elsewhere); err != nil {
		t.Fatal(err)
	}
}

func TestSessionOptions(t *testing.T) {
	h := open(t)
	c := h.client("ann")
	c.must("CREATE SCHEMA place")
	set := func(name string, value any) *flight.SetSessionOptionsResult {
		t.Helper()
		v, err := flight.NewSessionOptionValue(value)
		if err != nil {
			t.Fatal(err)
		}
		res, err := c.SetSessionOptions(c.ctx(), &flight.SetSessionOptionsRequest{SessionOptions: map[string]*flight.SessionOptionValue{name: &v}})
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
	for _, x := range []struct {
		name  string
		value any
		err   any
	}{
		{"catalog", "lake", nil},
		{"schema", "place", nil},
		{"TimeZone", "Asia/Tokyo", nil},
		{"vega.isolation", "snapshot", nil},
		{"vega.accept_stale", false, nil},
		{"vega.statement_timeout", "90s", nil},
		{"nonsense", "x", flight.SetSessionOptionsResultErrorInvalidName},
		{"vega.nonsense", "x", flight.SetSessionOptionsResultErrorInvalidName},
		{"catalog", "system", flight.SetSessionOptionsResultErrorInvalidValue},
		{"catalog", int64(1), flight.SetSessionOptionsResultErrorInvalidValue},
		{"schema", "missing", flight.SetSessionOptionsResultErrorInvalidValue},
		{"schema", `__ducklake_metadata_lake"."main`, flight.SetSessionOptionsResultErrorInvalidValue},
		{"TimeZone", "Mars/Olympus", flight.SetSessionOptionsResultErrorInvalidValue},
		{"TimeZone", []string{"UTC", "UTC"}, flight.SetSessionOptionsResultErrorInvalidValue},
		{"vega.isolation", 1.5, flight.SetSessionOptionsResultErrorInvalidValue},
		{"vega.accept_stale", true, flight.SetSessionOptionsResultErrorError}, // ann may not
	} {
		got := set(x.name, x.value).Errors[x.name]
		switch {
		case x.err == nil && got != nil:
			t.Errorf("%s = %v: %v", x.name, x.value, got)
		case x.err != nil && (got == nil || got.Value != x.err):
			t.Errorf("%s = %v: %v, want %v", x.name, x.value, got, x.err)
		}
	}
	got, err := c.GetSessionOptions(c.ctx(), &flight.GetSessionOptionsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "schema", got.SessionOptions["schema"].GetStringValue(), "place")
	equal(t, "time zone", got.SessionOptions["TimeZone"].GetStringValue(), "Asia/Tokyo")
	equal(t, "in SQL", c.value("SELECT current_schema()"), "place")
	set("schema", nil)
	equal(t, "reset", c.value("SELECT current_schema()"), "main")

	admin := h.client("admin")
	admin.must("SET vega.accept_stale = true")
	equal(t, "setting", admin.must("SHOW vega.accept_stale")[0][1], "true")
	c.fails("SET vega.accept_stale = true", fault.PermissionDenied)
}

func TestSettingsBySQL(t *testing.T) {
	h := open(t)
	c := h.client("ann")
	c.must("CREATE SCHEMA place")
	c.must("USE place")
	c.must("CREATE TABLE here AS SELECT 1 AS i")
	equal(t, "in the schema", c.value("SELECT i FROM lake.place.here"), "1")
	c.must("USE lake.main")
	c.fails("SELECT i FROM here", fault.ObjectNotFound)
	c.must("SET TimeZone = 'Asia/Tokyo'")
	equal(t, "time zone", c.value("SELECT strftime(TIMESTAMPTZ '2026-01-01 00:00:00+00', '%H')"), "09")
	c.must("RESET TimeZone")
	equal(t, "time zone", c.value("SELECT current_setting('TimeZone')"), "UTC")
}

func TestForgedAndForeignSessions(t *testing.T) {
	h := open(t)
	c := h.client("ann")
	ctx := context.Background()
	for _, cookie := range []string{"vega_session=vqs_guess", "vega_session=", "a=b; vega_session=x;;;"} {
		// A cookie that names nothing is refused; text that is no cookie is none.
		_, err := c.Execute(c.with(ctx, "cookie", cookie), "SELECT 1")
		if err != nil {
			wants(t, err, fault.SessionNotFound)
		}
	}
}
