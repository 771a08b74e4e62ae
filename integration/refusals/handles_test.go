package refusals

import (
	"context"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/flight"

	"github.com/vegadb/vega-flight/integration/process"
)

const endless = "SELECT count(*) AS n FROM range(300000) a(i), range(300000) b(j) WHERE (i * j) % 7 = 9"

func TestForeignHandles(t *testing.T) {
	s := newHouse(t).start(t)
	ann, ben := s.ConnectAs(t, "ann"), s.ConnectAs(t, "ben")
	ann.Must(t, "CREATE MATERIALIZED VIEW v AS "+endless+" WITH NO DATA")
	var handles []*process.Handle
	for _, sql := range []string{endless, "REFRESH MATERIALIZED VIEW v"} {
		h, err := ann.Submit(t.Context(), sql)
		if err != nil {
			t.Fatal(err)
		}
		handles = append(handles, h.Running(t))
	}
	for _, h := range handles {
		theirs := h.On(ben)
		process.Refused(t, theirs.Poll(t.Context()), "QUERY_HANDLE_NOT_FOUND")
		_, err := theirs.Cancel(t.Context())
		process.Refused(t, err, "QUERY_HANDLE_NOT_FOUND")
		_, err = ben.CancelQuery(t.Context(), h.Info) //nolint:staticcheck // older clients send it
		process.Refused(t, err, "QUERY_HANDLE_NOT_FOUND")
		_, err = ben.Fetch(t.Context(), h.Info)
		process.Refused(t, err, "QUERY_HANDLE_NOT_FOUND")
		_, err = ben.RenewFlightEndpoint(t.Context(), &flight.RenewFlightEndpointRequest{Endpoint: h.Info.Endpoint[0]})
		process.Refused(t, err, "QUERY_HANDLE_NOT_FOUND")
		for _, action := range []string{"vega.cancel_job", "vega.job_status"} {
			var answer any
			err := ben.Action(t.Context(), action, map[string]string{"job": h.Status.Job}, &answer)
			process.Refused(t, err, "QUERY_HANDLE_NOT_FOUND", "JOB_NOT_FOUND")
		}
		if _, err := ben.Query(t.Context(), "CANCEL JOB '"+h.Status.Job+"'"); err == nil {
			t.Error("ben cancelled ann's job")
		} else {
			process.Refused(t, err, "JOB_NOT_FOUND", "QUERY_HANDLE_NOT_FOUND")
		}
		if err := h.Poll(t.Context()); err != nil || h.Status.State != "RUNNING" {
			t.Errorf("ann's statement is %s after all that: %v", h.Status.State, err)
		}
	}
	if n := ben.Value(t, "SELECT count(*) FROM vega.jobs"); n != "0" {
		t.Errorf("ben sees %s jobs", n)
	}
	// A ticket of a result that is read once is its owner's too.
	info, err := ann.Execute(t.Context(), "SELECT 1 AS one")
	if err != nil {
		t.Fatal(err)
	}
	_, err = ben.Fetch(t.Context(), info)
	process.Refused(t, err, "QUERY_HANDLE_NOT_FOUND")
	if rows, err := ann.Fetch(t.Context(), info); err != nil || rows[0][0] != "1" {
		t.Errorf("after ben tried: %v %v", rows, err)
	}
	_, err = ann.Fetch(t.Context(), info)
	process.Refused(t, err, "QUERY_HANDLE_NOT_FOUND")
	// An administrator may.
	root := s.ConnectAs(t, "root")
	for _, h := range handles {
		if _, err := h.On(root).Cancel(t.Context()); err != nil {
			t.Fatal(err)
		}
		_, err := h.End(t.Context())
		process.Refused(t, err, "CANCELLED")
	}
}

func TestExpiredHandles(t *testing.T) {
	s := newHouse(t).start(t, "--handle-expiry", "200ms")
	c := s.ConnectAs(t, "ann")
	h, err := c.Submit(t.Context(), "SELECT 1 AS one")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.End(t.Context()); err != nil {
		process.Refused(t, err, "QUERY_HANDLE_NOT_FOUND") // on a machine that sleeps
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	for err = nil; err == nil; {
		err = h.Poll(ctx)
	}
	process.Refused(t, err, "QUERY_HANDLE_NOT_FOUND")
	_, err = c.Fetch(t.Context(), h.Info)
	process.Refused(t, err, "QUERY_HANDLE_NOT_FOUND")
	_, err = h.Cancel(t.Context())
	process.Refused(t, err, "QUERY_HANDLE_NOT_FOUND")
	_, err = c.RenewFlightEndpoint(t.Context(), &flight.RenewFlightEndpointRequest{Endpoint: h.Info.Endpoint[0]})
	process.Refused(t, err, "QUERY_HANDLE_NOT_FOUND")
	c.Must(t, "SELECT 1")
}
