package cluster

import (
	"testing"

	"github.com/vegadb/vega-flight/integration/process"
)

// TestAHandleOfAnotherServer polls handles where their statements do not run.
func TestAHandleOfAnotherServer(t *testing.T) {
	l := newLake(t)
	a, b := l.start("a"), l.start("b")
	ca, cb := a.Connect(t), b.Connect(t)
	plain, err := ca.Submit(t.Context(), endless)
	if err != nil {
		t.Fatal(err)
	}
	plain.Running(t)
	// A statement that lives elsewhere is not called dead.
	process.Refused(t, plain.On(cb).Poll(t.Context()), "QUERY_HANDLE_NOT_FOUND")
	if err := plain.Poll(t.Context()); err != nil || plain.Status.State != "RUNNING" {
		t.Errorf("the statement is %s after the other server was asked: %v", plain.Status.State, err)
	}
	// The job behind a view statement is everybody's.
	ca.Must(t, "CREATE MATERIALIZED VIEW v AS "+endless+" WITH NO DATA")
	h := submit(t, ca, "v")
	elsewhere := h.On(cb).Running(t)
	if _, err := elsewhere.Cancel(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, h := range []*process.Handle{elsewhere, h} {
		_, err := h.End(t.Context())
		process.Refused(t, err, "CANCELLED")
	}
	// The server of the plain statement dies: now it is over.
	a.Kill()
	until(t, "the dead server is given up", func() bool { return process.Code(plain.On(cb).Poll(t.Context())) == "JOB_INTERRUPTED" })
}
