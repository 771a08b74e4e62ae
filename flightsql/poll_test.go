package flightsql

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight"
	pb "github.com/apache/arrow-go/v18/arrow/flight/gen/flight"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/vegadb/vega-flight/fault"
)

// endless is a query that only a cancellation ends within a test's life.
const endless = "SELECT count(*) AS n FROM range(300000) a(i), range(300000) b(j) WHERE (i * j) % 7 = 1"

func command(t *testing.T, m proto.Message) *flight.FlightDescriptor {
	t.Helper()
	a, err := anypb.New(m)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := proto.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	return &flight.FlightDescriptor{Type: flight.DescriptorCMD, Cmd: raw}
}

func (c *client) poll(desc *flight.FlightDescriptor) (*flight.PollInfo, error) {
	return c.Client.Client.PollFlightInfo(c.ctx(), desc)
}

func (c *client) submit(sql string) *flight.PollInfo {
	c.t.Helper()
	p, err := c.poll(command(c.t, &pb.CommandStatementQuery{Query: sql}))
	if err != nil {
		c.t.Fatalf("submit %s: %v", sql, err)
	}
	return p
}

// await polls until the statement has ended.
func (c *client) await(p *flight.PollInfo) (*flight.PollInfo, error) {
	for p.FlightDescriptor != nil {
		next, err := c.poll(p.FlightDescriptor)
		if err != nil {
			return p, err
		}
		p = next
	}
	return p, nil
}

func (c *client) polled(sql string) *flight.PollInfo {
	c.t.Helper()
	p, err := c.await(c.submit(sql))
	if err != nil {
		c.t.Fatalf("%s: %v", sql, err)
	}
	return p
}

// running polls until the statement runs.
func (c *client) running(p *flight.PollInfo) *flight.PollInfo {
	c.t.Helper()
	for said(c.t, p).State != "RUNNING" {
		next, err := c.poll(p.FlightDescriptor)
		if err != nil {
			c.t.Fatal(err)
		}
		p = next
	}
	return p
}

func (c *client) cancel(info *flight.FlightInfo) (flight.CancelStatus, error) {
	r, err := c.CancelFlightInfo(c.ctx(), &flight.CancelFlightInfoRequest{Info: info})
	return r.GetStatus(), err
}

// stop cancels and waits for the end.
func (c *client) stop(p *flight.PollInfo) {
	c.t.Helper()
	if st, err := c.cancel(p.Info); err != nil || st != flight.CancelStatusCancelled && st != flight.CancelStatusCancelling {
		c.t.Fatalf("cancel: %v %v", st, err)
	}
	_, err := c.await(p)
	named(c.t, err, fault.Cancelled)
}

func said(t *testing.T, p *flight.PollInfo) handleMetadata {
	t.Helper()
	var m handleMetadata
	if err := json.Unmarshal(p.GetInfo().GetAppMetadata(), &m); err != nil {
		t.Fatal(err)
	}
	return m
}

func TestPolledStatements(t *testing.T) {
	h := open(t)
	c := h.client("ann")
	p := c.polled("SELECT i, 'x' || i AS s FROM range(100000) r(i)")
	if p.GetProgress() != 1 || p.Info.TotalRecords != 100000 || !p.ExpirationTime.AsTime().After(time.Now()) {
		t.Fatalf("%v", p)
	}
	for range 2 {
		if rows, err := c.rows(p.Info); err != nil || len(rows) != 100000 || rows[99999][1] != "x99999" {
			t.Fatalf("%d rows, %v", len(rows), err)
		}
	}
	c.polled("CREATE TABLE t(i INT)")
	if rows, err := c.rows(c.polled("INSERT INTO t VALUES (1), (2)").Info); err != nil || fmt.Sprint(rows) != "[[2]]" {
		t.Fatalf("%v %v", rows, err)
	}
	if rows, err := c.rows(c.polled("INSERT INTO t VALUES (3); SELECT count(*) AS n FROM t").Info); err != nil || fmt.Sprint(rows) != "[[3]]" {
		t.Fatalf("%v %v", rows, err)
	}
	if rows, err := c.rows(c.polled("SHOW MATERIALIZED VIEWS").Info); err != nil || len(rows) != 0 {
		t.Fatalf("%v %v", rows, err)
	}
	if rows, err := c.rows(c.polled("SET vega.isolation = 'snapshot'; SHOW vega.settings").Info); err != nil || len(rows) == 0 {
		t.Fatalf("%v %v", rows, err)
	}
	// Nothing to read is a result too.
	if rows, err := c.rows(c.polled("SELECT i FROM t WHERE i > 9").Info); err != nil || len(rows) != 0 {
		t.Fatalf("%v %v", rows, err)
	}
	_, err := c.poll(command(t, &pb.CommandStatementQuery{Query: "SELECT * FROM absent"}))
	named(t, err, fault.ObjectNotFound)
	_, err = c.poll(&flight.FlightDescriptor{Type: flight.DescriptorCMD, Cmd: []byte("vega-job:v1:x:1")})
	named(t, err, fault.InvalidParameter)
	_, err = c.poll(&flight.FlightDescriptor{Type: flight.DescriptorCMD, Cmd: []byte("surprise")})
	named(t, err, fault.InvalidParameter)
}

// However soon a statement fails, who submits it gets a handle first.
func TestPolledFailures(t *testing.T) {
	h := open(t)
	c := h.client("ann")
	failures := []string{
		"SELECT CAST('x' || i AS INT) AS n FROM range(10) r(i)",
		"SELECT CAST('x' || max(md5(i::VARCHAR)) AS INT) AS n FROM range(2000000) r(i)",
	}
	for range 20 {
		failures = append(failures, failures[0])
	}
	for _, sql := range failures {
		p := c.submit(sql)
		if said(t, p).Handle == "" || p.FlightDescriptor == nil || len(p.Info.GetEndpoint()) != 1 {
			t.Fatalf("%v", p)
		}
		_, err := c.await(p)
		named(t, err, fault.SQLError)
		_, err = c.rows(p.Info)
		named(t, err, fault.SQLError)
	}
}

func TestPolledPreparedStatement(t *testing.T) {
	h := open(t)
	c := h.client("ann")
	st, err := c.Prepare(c.ctx(), "SELECT ? + 1 AS n")
	if err != nil {
		t.Fatal(err)
	}
	b := array.NewRecordBuilder(memory.DefaultAllocator, arrow.NewSchema([]arrow.Field{{Name: "p", Type: arrow.PrimitiveTypes.Int64}}, nil))
	defer b.Release()
	b.Field(0).(*array.Int64Builder).Append(41)
	row := b.NewRecordBatch()
	defer row.Release()
	st.SetParameters(row)
	p, err := st.ExecutePoll(c.ctx(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if p, err = c.await(p); err != nil {
		t.Fatal(err)
	}
	if rows, err := c.rows(p.Info); err != nil || fmt.Sprint(rows) != "[[42]]" {
		t.Fatalf("%v %v", rows, err)
	}
}

func TestLongPollAndGivingUp(t *testing.T) {
	h := open(t)
	c := h.client("ann")
	p := c.running(c.submit(endless))
	// Whoever gives up costs the statement nothing.
	for range 3 {
		ctx, cancel := context.WithCancel(c.ctx())
		var wg sync.WaitGroup
		wg.Go(func() { _, _ = c.Client.Client.PollFlightInfo(ctx, p.FlightDescriptor) })
		cancel()
		wg.Wait()
	}
	first := newDescriptor(said(t, p).Handle, 1)
	if again, err := c.poll(first); err != nil || said(t, again).State != "RUNNING" {
		t.Fatalf("an old descriptor: %v %v", again, err)
	}
	// The statement outlives the session and the connection it was sent on.
	_ = c.Close()
	other := h.client("ann")
	if again, err := other.poll(first); err != nil || said(t, again).State != "RUNNING" {
		t.Fatalf("from another connection: %v %v", again, err)
	}
	other.stop(p)
	if st, err := other.cancel(p.Info); err != nil || st != flight.CancelStatusCancelled {
		t.Fatalf("cancelled again: %v %v", st, err)
	}
}

// TestProgress: what DuckDB says of a running statement is news to pollers.
func TestProgress(t *testing.T) {
	h := open(t)
	c := h.client("ann")
	c.must("CREATE TABLE t AS SELECT i FROM range(20000000) r(i)")
	const deep = 40 // for longer than a poller may be held up
	p := c.submit("SELECT count(*) AS n FROM t WHERE hash(" + strings.Repeat("md5(", deep) + "CAST(i AS VARCHAR)" + strings.Repeat(")", deep) + ") % 7 = 1")
	for p.GetProgress() == 0 {
		next, err := c.poll(p.FlightDescriptor)
		if err != nil {
			t.Fatal(err)
		}
		p = next
	}
	if f := p.GetProgress(); f < 0 || f >= 1 {
		t.Fatal(f)
	}
	c.stop(p)
}

func TestCancellingMeansStopped(t *testing.T) {
	h := open(t)
	c := h.client("ann")
	for range 10 {
		p := c.submit(endless)
		st, err := c.cancel(p.Info)
		if err != nil {
			t.Fatal(err)
		}
		h.svc.handles.mu.Lock()
		working := h.svc.handles.working
		h.svc.handles.mu.Unlock()
		if st == flight.CancelStatusCancelled && working != 0 {
			t.Fatal("CANCELLED was reported while the statement ran")
		}
		_, err = c.await(p)
		named(t, err, fault.Cancelled)
	}
	// By statement, direct and polled.
	p := c.submit(endless)
	if rows := c.must("CANCEL JOB '" + said(t, p).Job + "'"); fmt.Sprint(rows) != "[["+said(t, p).Job+" CANCELLED]]" {
		t.Fatal(rows)
	}
	_, err := c.await(p)
	named(t, err, fault.Cancelled)
	p = c.submit(endless)
	c.polled("CANCEL JOB '" + said(t, p).Job + "'")
	_, err = c.await(p)
	named(t, err, fault.Cancelled)
	done := c.polled("SELECT 1 AS a")
	c.fails("CANCEL JOB '"+said(t, done).Job+"'", fault.JobNotCancellable)
	h.client("bob").fails("CANCEL JOB '"+said(t, done).Job+"'", fault.HandleNotFound)
	if st, err := c.cancel(done.Info); err != nil || st != flight.CancelStatusNotCancellable {
		t.Fatalf("%v %v", st, err)
	}
	if _, err := c.rows(done.Info); err != nil {
		t.Fatal(err)
	}
	// A direct statement whose result waits, and one that is being read.
	info, err := c.Execute(c.ctx(), "SELECT i FROM range(1000000000000) r(i)")
	if err != nil {
		t.Fatal(err)
	}
	r, err := c.DoGet(c.ctx(), info.Endpoint[0].Ticket)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Release()
	if !r.Next() {
		t.Fatal(r.Err())
	}
	if st, err := c.cancel(info); err != nil || st != flight.CancelStatusCancelled && st != flight.CancelStatusCancelling {
		t.Fatalf("%v %v", st, err)
	}
	for r.Next() {
	}
	if r.Err() == nil {
		t.Fatal("a cancelled result looks complete")
	}
	if info, err = c.Execute(c.ctx(), "SELECT 1 AS a"); err != nil {
		t.Fatal(err)
	}
	if st, err := c.cancel(info); err != nil || st != flight.CancelStatusCancelled {
		t.Fatalf("%v %v", st, err)
	}
	_, err = c.rows(info)
	wants(t, err, fault.HandleNotFound)
	_, err = c.cancel(&flight.FlightInfo{})
	named(t, err, fault.HandleNotFound)
	_, err = c.cancel(nil)
	named(t, err, fault.InvalidParameter)
}

func TestForeignHandles(t *testing.T) {
	h := open(t)
	ann, bob, admin := h.client("ann"), h.client("bob"), h.client("admin")
	p := ann.submit(endless)
	_, err := bob.poll(p.FlightDescriptor)
	named(t, err, fault.HandleNotFound)
	_, err = bob.cancel(p.Info)
	named(t, err, fault.HandleNotFound)
	_, err = bob.rows(p.Info)
	named(t, err, fault.HandleNotFound)
	_, err = bob.RenewFlightEndpoint(bob.ctx(), &flight.RenewFlightEndpointRequest{Endpoint: p.Info.Endpoint[0]})
	named(t, err, fault.HandleNotFound)
	if st, err := admin.cancel(p.Info); err != nil || st == flight.CancelStatusNotCancellable {
		t.Fatalf("%v %v", st, err)
	}
	_, err = ann.await(p)
	named(t, err, fault.Cancelled)
}

func TestHandleLimits(t *testing.T) {
	h := open(t, func(c *Config) {
		c.Handles = HandleLimits{PerUser: 3, InAll: 5, Running: 1, SpoolBytes: 1 << 20, SpoolByUser: 1 << 20}
	})
	ann, bob := h.client("ann"), h.client("bob")
	query := func(c *client, sql string) error {
		_, err := c.poll(command(t, &pb.CommandStatementQuery{Query: sql}))
		return err
	}
	p := ann.submit(endless)
	named(t, query(ann, "SELECT 1 AS a"), fault.QuotaExceeded)
	_, err := bob.await(bob.submit("SELECT i FROM range(1000000) r(i)"))
	named(t, err, fault.QuotaExceeded)
	ann.stop(p)
	ann.polled("SELECT 1 AS a")
	ann.polled("SELECT 1 AS a")
	named(t, query(ann, "SELECT 1 AS a"), fault.QuotaExceeded)
	bob.polled("SELECT 1 AS a")
	named(t, query(bob, "SELECT 1 AS a"), fault.QuotaExceeded) // five in all
}

func TestExpiry(t *testing.T) {
	h := open(t)
	c := h.client("ann")
	ctx := context.Background()
	hs := h.svc.handles
	p := c.polled("SELECT 1 AS a")
	long := c.running(c.submit(endless))
	id := said(t, p).Handle
	renewed, err := c.RenewFlightEndpoint(c.ctx(), &flight.RenewFlightEndpointRequest{Endpoint: p.Info.Endpoint[0]})
	if err != nil || !renewed.ExpirationTime.AsTime().After(p.Info.Endpoint[0].ExpirationTime.AsTime()) {
		t.Fatalf("%v %v", renewed, err)
	}
	hs.expire(ctx, time.Now())
	if _, err := c.rows(p.Info); err != nil {
		t.Fatal(err)
	}
	hs.expire(ctx, time.Now().Add(hs.limits.Keep+time.Minute))
	_, err = c.rows(p.Info)
	named(t, err, fault.HandleNotFound)
	if _, found, err := hs.store.byID(ctx, id); err != nil || found {
		t.Fatalf("the row of an expired handle stays: %v %v", found, err)
	}
	if _, err := os.Stat(hs.spools.path(id)); err == nil {
		t.Fatal("the rows of an expired handle stay")
	}
	if again, err := c.poll(newDescriptor(said(t, long).Handle, 1)); err != nil || said(t, again).State != "RUNNING" {
		t.Fatalf("a running statement went with an ended one: %v %v", again, err)
	}
	// Nobody asks any more: it is stopped.
	live, err := hs.get(authed("ann"), said(t, long).Handle)
	if err != nil {
		t.Fatal(err)
	}
	hs.expire(ctx, time.Now().Add(hs.limits.Abandon+time.Minute))
	<-live.stopped
	// A renewal has its limit.
	if got := hs.renew(ended(hs), time.Now().Add(100*time.Hour)); got.After(time.Now().Add(hs.limits.KeepAtMost + time.Minute)) {
		t.Fatalf("renewed until %v", got)
	}
}

// ended is a handle that has just finished.
func ended(hs *handles) *handle {
	h := newHandle(newToken(handlePrefix), "ann", time.Now())
	h.end(time.Now(), nil, hs.limits.Keep)
	return h
}

func TestRestart(t *testing.T) {
	h := open(t)
	c := h.client("ann")
	c.must("CREATE TABLE t(i INT)")
	query, insert := c.polled("SELECT 42 AS a"), c.polled("INSERT INTO t VALUES (1), (2)")
	long := c.running(c.submit(endless))
	cancelled := c.submit(endless)
	c.stop(cancelled)
	ctx := authed("ann")
	for _, p := range []*flight.PollInfo{query, insert, cancelled} { // their ends are told before they are written down
		live, err := h.svc.handles.get(ctx, said(t, p).Handle)
		if err != nil {
			t.Fatal(err)
		}
		<-live.stopped
	}

	// What the process would have written next was lost: the store still says that the insert runs.
	row, found, err := h.svc.handles.store.byID(ctx, said(t, insert).Handle)
	if err != nil || !found || row.commit.id == "" {
		t.Fatalf("%+v %v %v", row, found, err)
	}
	row.state, row.ended = "RUNNING", time.Time{}
	if err := h.svc.handles.store.update(ctx, row); err != nil {
		t.Fatal(err)
	}
	again := h.again()
	poll := func(p *flight.PollInfo) (*flight.PollInfo, error) {
		return again.handles.poll(ctx, newDescriptor(said(t, p).Handle, 1))
	}
	p, err := poll(query)
	if err != nil || p.FlightDescriptor != nil || p.Info.TotalRecords != 1 || string(p.Info.Schema) != string(query.Info.Schema) {
		t.Fatalf("%v %v", p, err)
	}
	old, err := again.handles.get(ctx, said(t, query).Handle)
	if err != nil {
		t.Fatal(err)
	}
	if _, sp := old.result(); sp == nil {
		t.Fatal("the kept rows were not found again")
	}
	if p, err = poll(insert); err != nil || said(t, p).State != "SUCCEEDED" {
		t.Fatalf("a committed insert: %v %v", p, err)
	}
	_, err = poll(long)
	wants(t, err, fault.JobInterrupted)
	_, err = poll(cancelled)
	wants(t, err, fault.Cancelled)
	if _, err := again.handles.poll(authed("bob"), newDescriptor(said(t, query).Handle, 1)); fault.CodeOf(err) != fault.HandleNotFound {
		t.Fatal(err)
	}
	if n := c.value("SELECT count(*) FROM t"); n != "2" {
		t.Fatal(n)
	}
	c.stop(long)
}

func TestDrainLetsPollersGo(t *testing.T) {
	h := open(t)
	c := h.client("ann")
	p := c.running(c.submit(endless))
	var wg sync.WaitGroup
	wg.Go(func() { // whatever is news meanwhile, the poller comes back in the end
		for q := p; ; {
			next, err := c.poll(q.FlightDescriptor)
			if err != nil || h.svc.handles.draining() {
				return
			}
			q = next
		}
	})
	h.svc.handles.letGo()
	wg.Wait()
	select {
	case <-h.svc.handles.quiet():
		t.Fatal("quiet, but a statement runs")
	default:
	}
	if _, err := c.poll(command(t, &pb.CommandStatementQuery{Query: "SELECT 1 AS a"})); err == nil {
		t.Fatal("new work was taken")
	}
	c.stop(p)
	<-h.svc.handles.quiet()
}
