package flightsql

import (
	"context"
	"fmt"
	"testing"

	"google.golang.org/grpc/metadata"

	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/flightsql/auth"
)

// What a text means is decided when it runs, not when it was described.
func TestAStatementIsAnalysedWhenItIsFetched(t *testing.T) {
	h := open(t)
	c := h.client("ann")
	c.must("CREATE TABLE t (i INTEGER)")
	c.must("INSERT INTO t VALUES (1)")
	c.must("CREATE TABLE src (i INTEGER)")
	fetch := func(sql string, between ...string) error {
		t.Helper()
		info, err := c.Execute(c.ctx(), sql)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range between {
			c.must(s)
		}
		r, err := c.DoGet(c.ctx(), info.Endpoint[0].Ticket)
		if err != nil {
			return err
		}
		defer r.Release()
		for r.Next() {
		}
		return r.Err()
	}
	wants(t, fetch("SELECT * FROM t", "DROP TABLE t"), fault.ObjectNotFound)
	c.must("CREATE TABLE t (i INTEGER)")
	// The name is a view's now, and that has no content.
	wants(t, fetch("SELECT * FROM t", "DROP TABLE t", "CREATE MATERIALIZED VIEW t AS SELECT i FROM src WITH NO DATA"), fault.NotPopulated)
	// A temporary object of the session takes the name away from it.
	if err := fetch("SELECT i FROM src", "CREATE TEMP TABLE src AS SELECT 7::INTEGER AS i"); err != nil {
		t.Error(err)
	}
	wants(t, fetch("SELECT i FROM src", "DROP TABLE src", "DROP TABLE lake.main.src"), fault.ObjectNotFound)
}

// The columns of an old version are announced as they were then.
func TestOldVersionsHaveTheirColumns(t *testing.T) {
	h := open(t)
	c := h.client("ann")
	c.must("CREATE TABLE t (a INTEGER, b INTEGER)")
	c.must("INSERT INTO t VALUES (1, 2)")
	at, err := h.lake.Snapshot(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	c.must("ALTER TABLE t ADD COLUMN c INTEGER")
	c.must("ALTER TABLE t ALTER a TYPE BIGINT")
	equal(t, "the old version", c.value(fmt.Sprintf("SELECT x::VARCHAR FROM (FROM t AT (VERSION => %d)) x", at.ID)), "{'a': 1, 'b': 2}")
	c.must(fmt.Sprintf("FROM t AT (VERSION => %d)", at.ID))
}

// Rights that a user loses are lost in the sessions that are open too.
func TestASessionEndsWithItsRights(t *testing.T) {
	h := open(t)
	as := func(admin bool, cookie string) context.Context {
		ctx := context.WithValue(context.Background(), connectionKey{}, connection{99})
		if cookie != "" {
			ctx = metadata.NewIncomingContext(ctx, metadata.Pairs("cookie", cookieName+"="+cookie))
		}
		return auth.NewContext(ctx, auth.Principal{Name: "ann", Admin: admin})
	}
	open := func(ctx context.Context) *session {
		t.Helper()
		sess, err := h.svc.session(ctx)
		if err != nil {
			t.Fatal(err)
		}
		sess.done()
		return sess
	}
	first := open(as(true, ""))
	if again := open(as(true, "")); again != first {
		t.Error("another session without a reason")
	}
	second := open(as(false, ""))
	<-first.gone
	if second == first || second.caller().Admin {
		t.Error("the session kept its user's rights")
	}
	open(as(false, second.id))
	if _, err := h.svc.session(as(true, second.id)); fault.CodeOf(err) != fault.SessionNotFound {
		t.Errorf("a session got more rights: %v", err)
	}
	<-second.gone
}
