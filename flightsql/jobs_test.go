package flightsql

import (
	"context"
	"runtime"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/flight"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/vegadb/vega-flight/fault"
)

// slowView makes a view whose refresh goes on until it is cancelled.
func slowView(c *client) {
	c.must("CREATE TABLE n AS SELECT 1000000000000::BIGINT AS upto")
	c.must("CREATE MATERIALIZED VIEW slow AS SELECT count(*) AS c FROM n, range(1000000000000) a(i), range(1000) b(j) WHERE (i * j) % 7 = 3 WITH NO DATA")
}

func TestJobIsCancelledBySQL(t *testing.T) {
	h := open(t)
	c, other := h.client("ann"), h.client("ann")
	slowView(c)
	id := c.must("REFRESH MATERIALIZED VIEW slow WITH (wait = false)")[0][1]
	h.client("bob").fails("CANCEL JOB '"+id+"'", fault.JobNotFound)
	equal(t, "state", other.must("CANCEL JOB '" + id + "'")[0][1], "CANCELLED")
	equal(t, "in the list", other.value("SELECT state FROM vega.jobs WHERE job_id = '"+id+"'"), "CANCELLED")
	c.fails("SELECT * FROM slow", fault.NotPopulated)
}

func TestJobIsCancelledWithTheCallThatWaits(t *testing.T) {
	h := open(t)
	c, other := h.client("ann"), h.client("ann")
	slowView(c)
	ctx, cancel := context.WithCancel(c.ctx())
	done := make(chan error, 1)
	go func() {
		_, err := c.Execute(ctx, "REFRESH MATERIALIZED VIEW slow")
		done <- err
	}()
	for len(other.must("SELECT 1 FROM vega.jobs WHERE state = 'RUNNING'")) == 0 {
		runtime.Gosched()
	}
	cancel()
	if err := <-done; status.Code(err) != codes.Canceled {
		t.Errorf("%v", err)
	}
	for other.value("SELECT state FROM vega.jobs WHERE view LIKE '%slow%'") != "CANCELLED" {
		runtime.Gosched()
	}
	// Reading without content is refused for each way of reading.
	for _, sql := range []string{
		"SELECT * FROM slow", "WITH x AS (SELECT * FROM slow) SELECT * FROM x", "SELECT (SELECT max(c) FROM slow)",
		"CREATE TABLE copied AS SELECT * FROM slow", "INSERT INTO n SELECT c FROM slow",
	} {
		c.fails(sql, fault.NotPopulated)
	}
	// It may be prepared: what counts is when it runs.
	p := c.prepare("SELECT * FROM slow")
	_, err := c.run(p)
	wants(t, err, fault.NotPopulated)
}

func TestFirstBatchLeavesWhenItExists(t *testing.T) {
	h := open(t)
	c := h.client("ann")
	// DuckDB collects about a megabyte before it gives anything out.
	info, err := c.Execute(c.ctx(), "SELECT i FROM range(1000000000000) t(i) WHERE i < 1000000 OR hash(i) = 1")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(c.ctx())
	defer cancel()
	r, err := c.DoGet(ctx, info.Endpoint[0].Ticket)
	if err != nil {
		t.Fatal(err)
	}
	if !r.Next() || r.RecordBatch().Column(0).ValueStr(0) != "0" {
		t.Fatal(r.Err())
	}
	cancel()
	h.untilQuiet(t)
	r.Release()
}

func TestCloseSessionRollsBack(t *testing.T) {
	h := open(t)
	c, other := h.client("ann"), h.client("ann")
	c.must("CREATE TABLE w (i INTEGER)")
	if _, err := c.BeginTransaction(c.ctx()); err != nil {
		t.Fatal(err)
	}
	c.must("INSERT INTO w VALUES (1)")
	if _, err := c.CloseSession(c.ctx(), &flight.CloseSessionRequest{}); err != nil {
		t.Fatal(err)
	}
	other.must("INSERT INTO w VALUES (2)")
	equal(t, "rows", c.value("SELECT sum(i)::INTEGER FROM w"), "2")
}
