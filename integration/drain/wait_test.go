package drain

import (
	"syscall"
	"testing"

	"github.com/vegadb/vega-flight/integration/process"
)

// TestWhoWaitsForAJobIsLetGo ends the server while somebody waits for a job that will not end: the wait ends at once, with other work still running.
func TestWhoWaitsForAJobIsLetGo(t *testing.T) {
	l := newLake(t)
	s := l.start(t, "5m")
	c := s.Connect(t)
	c.Must(t, "CREATE TABLE target (n BIGINT)")
	c.Must(t, "CREATE MATERIALIZED VIEW v AS "+endless+" WITH NO DATA")
	job := submit(t, s.Connect(t), "REFRESH MATERIALIZED VIEW v")
	waiter := s.Connect(t)
	waiting := background(t, waiter, "SHOW JOB '"+job.Status.Job+"' WITH (wait = true)")
	cpu := s.CPU(t)
	call := background(t, s.Connect(t), "INSERT INTO target "+endless)
	for sessions := 0.0; sessions < 4 || s.CPU(t) == cpu; { // each call has come, and the endless one is at work
		var err error
		if sessions, err = s.Metric(t.Context(), "vega_flight_sessions"); err != nil {
			t.Fatal(err)
		}
	}
	terminate(t, s)
	r := <-waiting
	process.Refused(t, r.err, "SERVER_DRAINING")
	select {
	case r := <-call:
		t.Errorf("the call that was at work has ended: %v %v", r.rows, r.err)
	case <-s.Done():
		t.Errorf("the process ended while a call was at work:\n%s", s.Log())
	default:
	}
	s.Signal(syscall.SIGTERM)
	<-call
	if err := s.Ended(); err != nil {
		t.Errorf("the process ended badly: %v", err)
	}
	s = l.start(t, "1s")
	c = s.Connect(t)
	c.Must(t, "CANCEL JOB '"+job.Status.Job+"'")
}
