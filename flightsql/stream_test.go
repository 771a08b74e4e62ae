package flightsql

import (
	"context"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/vegadb/vega-flight/fault"
)

// unending runs until it is stopped, and gives no row before.
const unending = "SELECT count(*) FROM range(1000000000000) a(i), range(1000) b(j) WHERE (i * j) % 7 = 3"

func TestLargeResultStreams(t *testing.T) {
	h := open(t)
	c := h.client("ann")
	info, err := c.Execute(c.ctx(), "SELECT i, i * 2 AS j, i::VARCHAR AS s FROM range(5000000) t(i)")
	if err != nil {
		t.Fatal(err)
	}
	r, err := c.DoGet(c.ctx(), info.Endpoint[0].Ticket)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Release()
	var rows, batches int64
	for r.Next() {
		rows += r.RecordBatch().NumRows()
		batches++
		if n := r.RecordBatch().NumRows(); n > 1<<17 {
			t.Fatalf("a batch of %d rows", n)
		}
	}
	if r.Err() != nil && !errors.Is(r.Err(), io.EOF) {
		t.Fatal(r.Err())
	}
	equal(t, "rows", rows, 5_000_000)
	if batches < 20 || batches > 500 {
		t.Errorf("%d batches", batches)
	}
}

func TestWideRowsFitMessages(t *testing.T) {
	h := open(t)
	c := h.client("ann") // its limit is gRPC's default, 4 MiB, but for the library's own of 16 MiB
	info, err := c.Execute(c.ctx(), "SELECT repeat('x', (CASE WHEN i % 100 = 0 THEN 2000000 ELSE 10 END)::INTEGER) FROM range(2000) t(i)")
	if err != nil {
		t.Fatal(err)
	}
	rows, err := c.rows(info)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "rows", len(rows), 2000)
}

func TestErrorInTheMiddleIsNotLost(t *testing.T) {
	h := open(t)
	c := h.client("ann")
	_, err := c.try("SELECT CASE WHEN i = 900000 THEN error('boom') ELSE i::VARCHAR END FROM range(1000000) t(i)")
	wants(t, err, fault.SQLError) // "boom", unless DuckDB lost it, which happens now and then
	equal(t, "the session goes on", c.value("SELECT 1"), "1")
}

func TestClientGoesAwayWhileRowsAreComputed(t *testing.T) {
	h := open(t)
	c := h.client("ann")
	c.must("CREATE TEMP TABLE own AS SELECT 1 AS o") // the session's own connection is to be free again
	for _, sql := range []string{unending, strings.ReplaceAll(unending, "FROM", "FROM own,")} {
		info, err := c.Execute(c.ctx(), sql)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(c.ctx())
		done := make(chan error, 1)
		go func() {
			_, err := c.DoGet(ctx, info.Endpoint[0].Ticket)
			done <- err
		}()
		h.untilReading(t)
		cancel()
		if err := <-done; status.Code(err) != codes.Canceled {
			t.Errorf("%v", err)
		}
		h.untilQuiet(t)
		equal(t, "the session goes on", c.value("SELECT o FROM own"), "1")
	}
}

// untilReading waits until a DoGet has taken its result.
func (h *house) untilReading(t *testing.T) {
	t.Helper()
	h.until(t, func(rs *results) bool { return len(rs.reading) > 0 })
}

// untilQuiet waits until no result is read any more, and its work has stopped.
func (h *house) untilQuiet(t *testing.T) {
	t.Helper()
	h.until(t, func(rs *results) bool { return len(rs.reading) == 0 })
}

func (h *house) until(t *testing.T, what func(*results) bool) {
	t.Helper()
	for t.Context().Err() == nil {
		h.svc.results.mu.Lock()
		ok := what(h.svc.results)
		h.svc.results.mu.Unlock()
		if ok {
			return
		}
		runtime.Gosched()
	}
}

func TestClientGoesAwayWhileRowsAreSent(t *testing.T) {
	h := open(t)
	c := h.client("ann")
	info, err := c.Execute(c.ctx(), "SELECT i FROM range(1000000000) t(i)")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(c.ctx())
	r, err := c.DoGet(ctx, info.Endpoint[0].Ticket)
	if err != nil {
		t.Fatal(err)
	}
	if !r.Next() {
		t.Fatal(r.Err())
	}
	cancel()
	h.untilQuiet(t)
	r.Release()
	equal(t, "the session goes on", c.value("SELECT 1"), "1")
}

func TestSlowReaderHoldsBackNobody(t *testing.T) {
	h := open(t)
	c := h.client("ann")
	c.must("CREATE TABLE w (i INTEGER)")
	c.must("CREATE TEMP TABLE own AS SELECT i FROM range(3000000) t(i)")
	for _, sql := range []string{"SELECT i FROM range(100000000) t(i)", "SELECT i FROM own"} {
		info, err := c.Execute(c.ctx(), sql)
		if err != nil {
			t.Fatal(err)
		}
		r, err := c.DoGet(c.ctx(), info.Endpoint[0].Ticket)
		if err != nil {
			t.Fatal(err)
		}
		if !r.Next() {
			t.Fatal(r.Err())
		}
		c.must("INSERT INTO w VALUES (1)")
		c.must("INSERT INTO own VALUES (1)") // needs the connection that has the open result
		r.Release()
	}
}

func TestExecutingCallIsCancelled(t *testing.T) {
	h := open(t)
	c := h.client("ann")
	c.must("CREATE TABLE w AS SELECT 1::BIGINT AS i")
	sess := h.sessionOf(c)
	ctx, cancel := context.WithCancel(c.ctx())
	done := make(chan error, 1)
	go func() {
		_, err := c.Execute(ctx, "INSERT INTO w "+unending)
		done <- err
	}()
	for busy := false; !busy; runtime.Gosched() {
		sess.mu.Lock()
		busy = sess.uses > 1
		sess.mu.Unlock()
	}
	cancel()
	if err := <-done; status.Code(err) != codes.Canceled {
		t.Errorf("%v", err)
	}
	for busy := true; busy; runtime.Gosched() {
		sess.mu.Lock()
		busy = sess.uses > 0
		sess.mu.Unlock()
	}
	equal(t, "rows", c.value("SELECT count(*) FROM w"), "1")
}

func TestStatementTimeout(t *testing.T) {
	h := open(t)
	c := h.client("ann")
	c.must("SET vega.statement_timeout = '50ms'")
	c.fails(unending, fault.TimedOut)
	equal(t, "the session goes on", c.value("SELECT 1"), "1")
}

func TestPiecesWeighNoMoreThanTheLimit(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{{Name: "s", Type: arrow.BinaryTypes.String}, {Name: "l", Type: arrow.ListOf(arrow.PrimitiveTypes.Int64)}}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	for i := range 1000 {
		size := 10
		if i%97 == 0 {
			size = 5000
		}
		b.Field(0).(*array.StringBuilder).Append(strings.Repeat("x", size))
		list := b.Field(1).(*array.ListBuilder)
		list.Append(true)
		for j := range i % 7 {
			list.ValueBuilder().(*array.Int64Builder).Append(int64(j))
		}
	}
	batch := b.NewRecordBatch()
	var rows int64
	for _, p := range pieces(batch, 6000) {
		if n := batchSize(p); n > 6000 && p.NumRows() > 1 {
			t.Errorf("%d rows weigh %d", p.NumRows(), n)
		}
		for i := range int(p.NumRows()) {
			if p.Column(0).ValueStr(i) != batch.Column(0).ValueStr(int(rows)+i) || p.Column(1).ValueStr(i) != batch.Column(1).ValueStr(int(rows)+i) {
				t.Fatalf("row %d differs", int(rows)+i)
			}
		}
		rows += p.NumRows()
	}
	equal(t, "rows", rows, 1000)
}

func TestDirectStatementIsCancelledByItsInfo(t *testing.T) {
	h := open(t)
	c := h.client("ann")
	info, err := c.Execute(c.ctx(), unending)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		r, err := c.DoGet(c.ctx(), info.Endpoint[0].Ticket)
		if err == nil {
			_, err = read(r)
			r.Release()
		}
		done <- err
	}()
	h.untilReading(t)
	bob := h.client("bob")
	if _, err := bob.CancelFlightInfo(bob.ctx(), &flight.CancelFlightInfoRequest{Info: info}); err == nil {
		t.Error("somebody else's statement was cancelled")
	}
	res, err := c.CancelFlightInfo(c.ctx(), &flight.CancelFlightInfoRequest{Info: info})
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "status", res.Status, flight.CancelStatusCancelled)
	wants(t, <-done, fault.Cancelled)
	h.untilQuiet(t)
}

func TestReservedCatalogShowsEachCallerTheirs(t *testing.T) {
	h := open(t)
	ann, admin := h.client("ann"), h.client("admin")
	ann.must("CREATE TABLE src AS SELECT 1 AS i")
	ann.must("CREATE MATERIALIZED VIEW mv AS SELECT i FROM src")
	equal(t, "ann's jobs", ann.value("SELECT count(*) FROM vega.jobs"), "1")
	equal(t, "all jobs", admin.value("SELECT count(*) FROM vega.jobs"), "1")
	equal(t, "bob's jobs", h.client("bob").value("SELECT count(*) FROM vega.jobs"), "0")
	equal(t, "twice in one statement", ann.value("SELECT count(*) FROM vega.jobs a JOIN vega.jobs b USING (job_id)"), "1")
	equal(t, "with the lake", ann.value("SELECT count(*) FROM vega.materialized_views, src"), "1")
	ann.must("CREATE TEMP TABLE own AS SELECT 1 AS i")
	equal(t, "with a temporary table", ann.value("SELECT count(*) FROM vega.materialized_views, own"), "1")
	ann.must("INSERT INTO own VALUES (2)")
	ann.fails("CREATE TABLE copied AS SELECT * FROM vega.jobs", fault.NotYetSupported)
	ann.fails("INSERT INTO own SELECT count(*) FROM vega.jobs", fault.NotYetSupported)
	ann.must("BEGIN")
	ann.must("INSERT INTO src VALUES (2)")
	equal(t, "in a transaction that has written", ann.value("SELECT count(*) FROM vega.jobs"), "1")
	ann.fails("SELECT count(*) FROM vega.jobs, src", fault.NotYetSupported)
	ann.must("ROLLBACK")
	if _, err := ann.try("DELETE FROM vega.jobs"); err == nil {
		t.Error("the reserved catalog was written")
	}
	equal(t, "nothing stays", ann.value("SELECT count(*) FROM vega.jobs"), "1")
}
