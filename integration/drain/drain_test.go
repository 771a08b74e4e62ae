package drain

import (
	"syscall"
	"testing"

	"github.com/vegadb/vega-flight/integration/process"
)

// TestWhatRunsMayFinish ends the server while a reader reads, a call inserts, a polled statement runs and a job refreshes.
func TestWhatRunsMayFinish(t *testing.T) {
	l := newLake(t)
	s := l.start(t, "5m")
	c := s.Connect(t)
	for _, sql := range []string{
		"CREATE TABLE target (n BIGINT)", "CREATE MATERIALIZED VIEW v AS " + endless + " WITH NO DATA", "CREATE MATERIALIZED VIEW short AS " + while + " WITH NO DATA",
	} {
		c.Must(t, sql)
	}
	long := submit(t, s.Connect(t), "REFRESH MATERIALIZED VIEW v")
	polled := submit(t, s.Connect(t), "INSERT INTO target "+while)
	awaited := s.Connect(t)
	cpu := s.CPU(t)
	refreshed := background(t, awaited, "REFRESH MATERIALIZED VIEW short")
	for s.CPU(t) == cpu || c.Value(t, "SELECT count(*) FROM vega.jobs WHERE view = 'main.short' AND state = 'RUNNING'") == "0" {
		select {
		case r := <-refreshed:
			t.Fatalf("the refresh ended before it was seen: %v %v", r.rows, r.err)
		default:
		}
	}
	slow := s.Connect(t)
	info, err := slow.Execute(t.Context(), "SELECT i, repeat('x', 100) || i AS text FROM range(500000) r(i)")
	if err != nil {
		t.Fatal(err)
	}
	reader, err := slow.DoGet(t.Context(), info.Endpoint[0].Ticket)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Release()
	if !reader.Next() {
		t.Fatal(reader.Err())
	}
	read := reader.RecordBatch().NumRows()
	writer := s.Connect(t)
	tx, err := writer.BeginTransaction(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.ExecuteUpdate(t.Context(), "INSERT INTO target VALUES (-1)"); err != nil {
		t.Fatal(err)
	}

	terminate(t, s)

	for _, sql := range []string{"SELECT 1", "INSERT INTO target VALUES (-2)", "REFRESH MATERIALIZED VIEW v"} {
		_, err := c.Query(t.Context(), sql)
		process.Refused(t, err, "SERVER_DRAINING")
		_, err = c.Submit(t.Context(), sql)
		process.Refused(t, err, "SERVER_DRAINING")
	}
	if r := <-refreshed; r.err != nil || r.rows[0][2] != "rebuild" {
		t.Errorf("the refresh that somebody waited for: %v %v", r.rows, r.err)
	}
	if rows, err := polled.End(t.Context()); err != nil || rows[0][0] != "1" {
		t.Errorf("the polled statement: %v %v", rows, err)
	}
	select {
	case <-s.Done():
		t.Fatalf("the process ended while a client was reading:\n%s", s.Log())
	default:
	}
	for reader.Next() {
		read += reader.RecordBatch().NumRows()
	}
	if err := reader.Err(); err != nil || read != 500_000 {
		t.Errorf("the reader got %d rows: %v", read, err)
	}
	if err := s.Ended(); err != nil {
		t.Errorf("the process ended badly: %v", err)
	}

	s = l.start(t, "1s")
	c = s.Connect(t)
	if n := c.Value(t, "SELECT count(*) || ' ' || count(*) FILTER (n < 0) FROM target"); n != "1 0" {
		t.Errorf("the table has %s rows", n)
	}
	if n := c.Value(t, "SELECT count(*) FROM short"); n != "1" {
		t.Errorf("the view that was refreshed has %s rows", n)
	}
	// Nobody waited for this job: the next server goes on with it, and its being stopped was not the job's failure.
	h := long.On(c).Running(t)
	if h.Status.Job != long.Status.Job || c.Value(t, "SELECT attempt FROM vega.jobs WHERE job_id = '"+h.Status.Job+"'") != "1" {
		t.Errorf("the job goes on as %+v", h.Status)
	}
	c.Must(t, "CANCEL JOB '"+h.Status.Job+"'")
	_, err = h.End(t.Context())
	process.Refused(t, err, "CANCELLED")
}

// cut ends a server, by what end does after SIGTERM, while a call and a polled statement insert for ever and a job refreshes.
func cut(t *testing.T, grace string, end func(s *process.Server, polled *process.Handle)) {
	l := newLake(t)
	s := l.start(t, grace)
	c := s.Connect(t)
	c.Must(t, "CREATE TABLE target (n BIGINT)")
	c.Must(t, "CREATE MATERIALIZED VIEW v AS "+while+" WITH NO DATA")
	polled := submit(t, s.Connect(t), "INSERT INTO target "+endless)
	call := background(t, s.Connect(t), "INSERT INTO target "+endless)
	job := submit(t, s.Connect(t), "REFRESH MATERIALIZED VIEW v")
	terminate(t, s)
	end(s, polled)
	if r := <-call; r.err == nil {
		t.Errorf("the call that was cut off answers %v", r.rows)
	}
	if err := s.Ended(); err != nil {
		t.Errorf("the process ended badly: %v", err)
	}
	s = l.start(t, "1s")
	c = s.Connect(t)
	if n := c.Value(t, "SELECT count(*) FROM target"); n != "0" {
		t.Errorf("statements that were cut off left %s rows", n)
	}
	_, err := polled.On(c).End(t.Context())
	process.Refused(t, err, "JOB_INTERRUPTED")
	// The job had done nothing wrong: it is run again, to its end.
	rows, err := job.On(c).End(t.Context())
	if err != nil || rows[0][0] != job.Status.Job || rows[0][2] != "rebuild" {
		t.Errorf("the job after the restart: %v %v", rows, err)
	}
	if state := c.Value(t, "SELECT state || ' ' || attempt FROM vega.jobs WHERE job_id = '"+job.Status.Job+"'"); state != "SUCCEEDED 1" {
		t.Errorf("the job's row says %s", state)
	}
	if rows := c.Must(t, "SHOW MATERIALIZED VIEW v"); rows[0][4] != "1" || rows[0][5] != "1" {
		t.Errorf("the view: %v", rows)
	}
}

func TestASecondSignalForces(t *testing.T) {
	cut(t, "5m", func(s *process.Server, polled *process.Handle) {
		if err := polled.Poll(t.Context()); err != nil || polled.Status.State != "RUNNING" {
			t.Errorf("the polled statement while the server drains: %s %v", polled.Status.State, err)
		}
		s.Signal(syscall.SIGTERM)
	})
}

func TestTheGraceEnds(t *testing.T) {
	cut(t, "500ms", func(*process.Server, *process.Handle) {})
}
