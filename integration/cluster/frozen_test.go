package cluster

import (
	"strings"
	"syscall"
	"testing"

	"github.com/vegadb/vega-flight/integration/process"
)

// TestAFrozenServerIsFenced stops a server in the middle of a refresh until the other one has done that refresh and a
// later one, and lets it go on.
func TestAFrozenServerIsFenced(t *testing.T) {
	l := newLake(t)
	a, b := l.start("a"), l.start("b")
	ca, cb := a.Connect(t), b.Connect(t)
	ca.Must(t, "CREATE TABLE src (i BIGINT)")
	ca.Must(t, "INSERT INTO src VALUES (1)")
	// Long enough to be caught at it, short enough to end on the other server.
	ca.Must(t, "CREATE MATERIALIZED VIEW v AS SELECT sum(i) AS s, (SELECT count(*) FROM range(40000) a(x), range(25000) b(y) WHERE (x * y) % 7 = 9) AS n FROM src WITH NO DATA")
	h, err := ca.Submit(t.Context(), "REFRESH MATERIALIZED VIEW v")
	if err != nil {
		t.Fatal(err)
	}
	h.Evaluating(t)
	a.Signal(syscall.SIGSTOP)
	before := job(t, cb, h.Status.Job)
	if before.state != "RUNNING" || before.server != "a" {
		t.Fatalf("frozen too late: %+v", before)
	}
	if _, err := h.On(cb).End(t.Context()); err != nil {
		t.Fatalf("the job on the other server: %v", err)
	}
	if j := job(t, cb, h.Status.Job); j.state != "SUCCEEDED" || j.server != "b" || j.attempt != "2" {
		t.Errorf("the job that was taken over: %+v", j)
	}
	cb.Must(t, "INSERT INTO src VALUES (10)")
	cb.Must(t, "REFRESH MATERIALIZED VIEW v")
	state := func() string {
		return cb.Value(t, "SELECT v.s || ' ' || m.generation || ' ' || m.version FROM v, vega.materialized_views m WHERE m.view_name = 'v'")
	}
	published, done := state(), job(t, cb, h.Status.Job)
	until(t, "the frozen server is given up", func() bool { return l.value(`SELECT count(*)::text FROM {M}vega_servers WHERE id = 'a'`) == "0" })

	a.Signal(syscall.SIGCONT)
	if err := a.Ended(); err == nil {
		t.Error("the server that was given up ended as if all were well")
	}
	if log := a.Log(); !strings.Contains(log, "FENCED: server a was taken over") {
		t.Errorf("the log does not say why the process ended:\n%s", log)
	}
	if now := state(); now != published || !strings.HasPrefix(now, "11 ") {
		t.Errorf("the view was %s and is %s after the frozen server went on", published, now)
	}
	if j := job(t, cb, h.Status.Job); j != done {
		t.Errorf("the job was %+v and is %+v", done, j)
	}
	if left := l.staged(h.Status.Job); left != "" {
		t.Errorf("staging is left: %s", left)
	}
	// It may come back under its name.
	again := l.start("a").Connect(t)
	if row := again.Must(t, "REFRESH MATERIALIZED VIEW v")[0]; row[2] != "no_op" {
		t.Errorf("%v", row)
	}
	_, err = process.Run(t, "check", b.Flight)
	if err != nil {
		t.Error(err)
	}
}
