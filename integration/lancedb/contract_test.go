package lancedb

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	pb "github.com/apache/arrow-go/v18/arrow/flight/gen/flight"
	"go.uber.org/goleak"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/vegadb/vega-flight/flightsql/auth"
	"github.com/vegadb/vega-flight/integration/process"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// endless is a query that nothing but a cancellation ends within a test's life.
const endless = "SELECT count(*) AS n FROM range(300000) a(i), range(300000) b(j) WHERE (i * j) % 7 = 1"

// lake is a server's folder with its users; servers may come and go on it.
type lake struct {
	folder, users, spool string
}

func newLake(t *testing.T) lake {
	t.Helper()
	dir := t.TempDir()
	l := lake{filepath.Join(dir, "lake"), filepath.Join(dir, "users.yaml"), filepath.Join(dir, "tmp")}
	text := fmt.Sprintf("users:\n  ann: {api_keys: [{hash: %q}]}\n  ben: {api_keys: [{hash: %q}]}\n  root: {admin: true, api_keys: [{hash: %q}]}\n",
		auth.HashAPIKey("k-ann"), auth.HashAPIKey("k-ben"), auth.HashAPIKey("k-root"))
	if err := os.WriteFile(l.users, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return l
}

func (l lake) start(t *testing.T, args ...string) *process.Server {
	t.Helper()
	return process.Start(t, process.Options{Lake: l.folder, Args: append([]string{"--users-file", l.users, "--temp-dir", l.spool, "--shutdown-grace", "1s"}, args...)})
}

// client sends what LanceDB's client sends.
type client struct {
	flight.FlightServiceClient
	t   *testing.T
	key string
}

func connect(t *testing.T, s *process.Server, key string) client {
	t.Helper()
	conn, err := grpc.NewClient(strings.TrimPrefix(s.Flight, "grpc://"), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return client{flight.NewFlightServiceClient(conn), t, key}
}

func (c client) ctx() context.Context {
	return metadata.AppendToOutgoingContext(c.t.Context(), "x-api-key", c.key, "database", "main", "namespace-path", "public", "x-request-id", "r1")
}

func statement(t *testing.T, sql string) *flight.FlightDescriptor {
	t.Helper()
	return &flight.FlightDescriptor{Type: flight.DescriptorCMD, Cmd: packed(t, &pb.CommandStatementQuery{Query: sql})}
}

// packed is a Flight SQL message as it goes over the wire.
func packed(t *testing.T, m proto.Message) []byte {
	t.Helper()
	a, err := anypb.New(m)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := proto.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// submit is the first poll. It gives info and schema at once.
func (c client) submit(sql string) *flight.PollInfo {
	c.t.Helper()
	p, err := c.PollFlightInfo(c.ctx(), statement(c.t, sql))
	if err != nil {
		c.t.Fatalf("submit %s: %v", sql, err)
	}
	if p.Info == nil || len(p.Info.Schema) == 0 || len(p.Info.Endpoint) != 1 {
		c.t.Fatalf("submit %s: the first answer lacks info, schema or endpoint: %v", sql, p)
	}
	return p
}

// wait polls until the statement has ended.
func (c client) wait(p *flight.PollInfo) (*flight.PollInfo, error) {
	for p.FlightDescriptor != nil {
		next, err := c.PollFlightInfo(c.ctx(), p.FlightDescriptor)
		if err != nil {
			return p, err
		}
		p = next
	}
	return p, nil
}

func (c client) finished(sql string) *flight.PollInfo {
	c.t.Helper()
	p, err := c.wait(c.submit(sql))
	if err != nil {
		c.t.Fatalf("%s: %v", sql, err)
	}
	return p
}

// describe is a poll that the client gives up after a second; news is nil when there was none.
func (c client) describe(p *flight.PollInfo) (news *flight.PollInfo, err error) {
	ctx, cancel := context.WithTimeout(c.ctx(), time.Second)
	defer cancel()
	news, err = c.PollFlightInfo(ctx, p.FlightDescriptor)
	if status.Code(err) == codes.DeadlineExceeded {
		return nil, nil
	}
	return news, err
}

// rows reads every endpoint.
func (c client) rows(p *flight.PollInfo) ([][]string, error) {
	var out [][]string
	for _, e := range p.Info.Endpoint {
		stream, err := c.DoGet(c.ctx(), e.Ticket)
		if err != nil {
			return nil, err
		}
		r, err := flight.NewRecordReader(stream)
		if err != nil {
			return nil, err
		}
		for r.Next() {
			out = append(out, process.Rows(r.RecordBatch())...)
		}
		err = r.Err()
		r.Release()
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
	}
	return out, nil
}

func (c client) cancel(info *flight.FlightInfo) (flight.CancelStatus, error) {
	body, err := proto.Marshal(&flight.CancelFlightInfoRequest{Info: info})
	if err != nil {
		return 0, err
	}
	var res flight.CancelFlightInfoResult
	err = c.act(flight.CancelFlightInfoActionType, body, func(b []byte) error { return proto.Unmarshal(b, &res) })
	return res.Status, err
}

// act does one action and has its answer read.
func (c client) act(kind string, body []byte, read func([]byte) error) error {
	stream, err := c.DoAction(c.ctx(), &flight.Action{Type: kind, Body: body})
	if err != nil {
		return err
	}
	r, err := stream.Recv()
	if err != nil {
		return err
	}
	return read(r.Body)
}

func named(t *testing.T, err error, code codes.Code, name string) {
	t.Helper()
	s, _ := status.FromError(err)
	reason := ""
	for _, d := range s.Details() {
		if info, ok := d.(*errdetails.ErrorInfo); ok && info.Domain == "vega-flight" {
			reason = info.Reason
		}
	}
	if s.Code() != code || reason != name || !strings.HasPrefix(s.Message(), name+":") {
		t.Fatalf("got %v, want %s %s", err, code, name)
	}
}

// meta is the JSON that FlightInfo.app_metadata carries.
type meta struct {
	Handle, Job, State, Phase, View string
	Rows                            int64
	Progress                        *float64
}

func metaOf(t *testing.T, p *flight.PollInfo) meta {
	t.Helper()
	var m meta
	if err := json.Unmarshal(p.Info.AppMetadata, &m); err != nil {
		t.Fatalf("app_metadata %q: %v", p.Info.AppMetadata, err)
	}
	return m
}

func TestSubmitWaitRead(t *testing.T) {
	s := newLake(t).start(t)
	c := connect(t, s, "k-ann")
	p := c.finished("SELECT 42 AS a")
	if p.ExpirationTime == nil || !p.ExpirationTime.AsTime().After(time.Now()) || p.GetProgress() != 1 || metaOf(t, p).State != "SUCCEEDED" {
		t.Fatalf("%v", p)
	}
	for range 3 { // kept, and read again
		if rows, err := c.rows(p); err != nil || fmt.Sprint(rows) != "[[42]]" {
			t.Fatalf("%v %v", rows, err)
		}
	}
	c.finished("CREATE TABLE t(k INT, v BIGINT)")
	n := c.finished("INSERT INTO t SELECT i % 5, i FROM range(1000) r(i)")
	if rows, err := c.rows(n); err != nil || fmt.Sprint(rows) != "[[1000]]" {
		t.Fatalf("%v %v", rows, err)
	}
	// Side effects happen once, however often the result is read.
	if rows, _ := c.rows(c.finished("SELECT count(*) FROM t")); fmt.Sprint(rows) != "[[1000]]" {
		t.Fatal(rows)
	}

	created := c.finished("CREATE MATERIALIZED VIEW v AS SELECT k, sum(v) AS s FROM t GROUP BY k")
	if m := metaOf(t, created); m.Job == "" || m.Job == m.Handle || m.State != "SUCCEEDED" {
		t.Fatalf("%+v", m)
	}
	if rows, err := c.rows(created); err != nil || len(rows) != 1 {
		t.Fatalf("%v %v", rows, err)
	}
	c.finished("INSERT INTO t VALUES (9, 9)")
	refreshed := c.finished("REFRESH MATERIALIZED VIEW v")
	if rows, err := c.rows(refreshed); err != nil || len(rows) != 1 || rows[0][2] != "rebuild" {
		t.Fatalf("%v %v", rows, err)
	}
	if rows, _ := c.rows(c.finished("SELECT count(*) FROM v")); fmt.Sprint(rows) != "[[6]]" {
		t.Fatal(rows)
	}

	// Several statements in one text; the last one's rows count.
	both := c.finished("CREATE TABLE u(i INT); INSERT INTO u VALUES (1), (2); SELECT sum(i) AS s FROM u")
	if rows, err := c.rows(both); err != nil || fmt.Sprint(rows) != "[[3]]" {
		t.Fatalf("%v %v", rows, err)
	}

	_, err := c.PollFlightInfo(c.ctx(), statement(t, "SELECT 1 +"))
	named(t, err, codes.InvalidArgument, "SYNTAX_ERROR")
	_, err = c.PollFlightInfo(c.ctx(), statement(t, "SELECT * FROM absent"))
	named(t, err, codes.NotFound, "OBJECT_NOT_FOUND")
	// A failure while the statement runs is the poll's error and the reader's.
	failing := c.submit("SELECT CAST(concat('x', i) AS INT) AS n FROM range(10) r(i)")
	_, err = c.rows(failing)
	named(t, err, codes.InvalidArgument, "SQL_ERROR")
	_, err = c.wait(failing)
	named(t, err, codes.InvalidArgument, "SQL_ERROR")
}

func TestCredentials(t *testing.T) {
	s := newLake(t).start(t)
	c := connect(t, s, "wrong")
	_, err := c.PollFlightInfo(c.ctx(), statement(t, "SELECT 1"))
	named(t, err, codes.Unauthenticated, "UNAUTHENTICATED")
	c.key = "k-ann"
	_, err = c.PollFlightInfo(metadata.AppendToOutgoingContext(c.ctx(), "authorization", "Bearer k-ann"), statement(t, "SELECT 1"))
	named(t, err, codes.Unauthenticated, "UNAUTHENTICATED")
	if _, err := c.PollFlightInfo(metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer k-ann"), statement(t, "SELECT 1")); err != nil {
		t.Fatal(err)
	}
}

// TestGivenUpPolls: describing must cost the statement nothing.
func TestGivenUpPolls(t *testing.T) {
	s := newLake(t).start(t)
	c := connect(t, s, "k-ann")
	c.finished("CREATE TABLE t AS SELECT 1 AS i")
	for _, sql := range []string{endless, "CREATE MATERIALIZED VIEW slow AS " + endless} {
		first := c.submit(sql)
		latest := first
		for quiet := 0; quiet < 2; {
			news, err := c.describe(latest)
			if err != nil {
				t.Fatalf("%s: %v", sql, err)
			}
			if news == nil {
				quiet++ // the client gave up; the statement must not notice
				continue
			}
			latest = news
			if latest.FlightDescriptor == nil {
				t.Fatalf("%s ended: %v", sql, latest)
			}
			if quiet == 0 && metaOf(t, latest).State == "RUNNING" && latest.GetProgress() > 0 {
				quiet++ // progress is news each time
			}
		}
		// Any descriptor but the newest is answered at once, also the very first.
		for range 3 {
			if string(first.FlightDescriptor.Cmd) == string(latest.FlightDescriptor.Cmd) {
				break // it ran when the first answer left
			}
			p, err := c.PollFlightInfo(c.ctx(), first.FlightDescriptor)
			if err != nil || metaOf(t, p).State != "RUNNING" {
				t.Fatalf("%s: %v %v", sql, p, err)
			}
		}
		if st, err := c.cancel(latest.Info); err != nil || st != flight.CancelStatusCancelled && st != flight.CancelStatusCancelling {
			t.Fatalf("%s: %v %v", sql, st, err)
		}
		_, err := c.wait(latest)
		named(t, err, codes.Canceled, "CANCELLED")
	}
}

// TestEarlyEndpoint reads rows of a statement that has not ended.
func TestEarlyEndpoint(t *testing.T) {
	s := newLake(t).start(t)
	c := connect(t, s, "k-ann")
	p := c.submit("SELECT i FROM range(10000000000) r(i)")
	stream, err := c.DoGet(c.ctx(), p.Info.Endpoint[0].Ticket)
	if err != nil {
		t.Fatal(err)
	}
	r, err := flight.NewRecordReader(stream)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Release()
	if !r.Next() || r.RecordBatch().Column(0).(*array.Int64).Value(0) != 0 {
		t.Fatalf("no rows while the statement runs: %v", r.Err())
	}
	if st, err := c.cancel(p.Info); err != nil || st == flight.CancelStatusNotCancellable {
		t.Fatalf("%v %v", st, err)
	}
	for r.Next() {
	}
	named(t, r.Err(), codes.Canceled, "CANCELLED")
}

func TestCancelAtEachMoment(t *testing.T) {
	s := newLake(t).start(t)
	c := connect(t, s, "k-ann")
	view := 0
	texts := func() []string {
		view++
		return []string{endless, fmt.Sprintf("CREATE MATERIALIZED VIEW c%d AS %s", view, endless)}
	}
	// While it is being submitted: the client has to wait for the first answer, and then cancels at once.
	for _, sql := range texts() {
		p := c.submit(sql)
		if st, err := c.cancel(p.Info); err != nil || st != flight.CancelStatusCancelled && st != flight.CancelStatusCancelling {
			t.Fatalf("%s: %v %v", sql, st, err)
		}
		_, err := c.wait(p)
		named(t, err, codes.Canceled, "CANCELLED")
		// Again, when it is over: the same answer.
		if st, err := c.cancel(p.Info); err != nil || st != flight.CancelStatusCancelled {
			t.Fatalf("%s, again: %v %v", sql, st, err)
		}
		_, err = c.rows(p)
		named(t, err, codes.Canceled, "CANCELLED")
	}
	// While it runs, with the info of a later poll, of which only one part is kept.
	for i, sql := range texts() {
		p := c.submit(sql)
		for metaOf(t, p).State != "RUNNING" {
			next, err := c.PollFlightInfo(c.ctx(), p.FlightDescriptor)
			if err != nil {
				t.Fatal(err)
			}
			p = next
		}
		info := &flight.FlightInfo{FlightDescriptor: p.Info.FlightDescriptor}
		if i == 1 {
			info = &flight.FlightInfo{Endpoint: p.Info.Endpoint}
		}
		if st, err := c.cancel(info); err != nil || st != flight.CancelStatusCancelled && st != flight.CancelStatusCancelling {
			t.Fatalf("%s: %v %v", sql, st, err)
		}
		_, err := c.wait(p)
		named(t, err, codes.Canceled, "CANCELLED")
	}
	// When it is finished.
	done := c.finished("SELECT 1 AS a")
	if st, err := c.cancel(done.Info); err != nil || st != flight.CancelStatusNotCancellable {
		t.Fatalf("%v %v", st, err)
	}
	if rows, err := c.rows(done); err != nil || len(rows) != 1 {
		t.Fatalf("a refused cancellation took the result away: %v", err)
	}
	// The older action does the same.
	p := c.submit(endless)
	raw, err := proto.Marshal(p.Info)
	if err != nil {
		t.Fatal(err)
	}
	body := packed(t, &pb.ActionCancelQueryRequest{Info: raw}) //nolint:staticcheck // older clients send it
	if err := c.act(flightsql.CancelQueryActionType, body, func([]byte) error { return nil }); err != nil {
		t.Fatal(err)
	}
	_, err = c.wait(p)
	named(t, err, codes.Canceled, "CANCELLED")
	// And so does the action with JSON, and the statement, on handles as on jobs.
	for i, sql := range texts() {
		p := c.submit(sql)
		id := metaOf(t, p).Job
		if i == 0 {
			var state struct{ State string }
			err = c.act("vega.cancel_job", fmt.Appendf(nil, `{"job": %q}`, id), func(b []byte) error { return json.Unmarshal(b, &state) })
			if err != nil || !strings.HasPrefix(state.State, "CANCELL") {
				t.Fatalf("%v %v", state, err)
			}
		} else {
			c.finished(fmt.Sprintf("CANCEL JOB '%s'", id))
		}
		_, err = c.wait(p)
		named(t, err, codes.Canceled, "CANCELLED")
		var m meta
		if err := c.act("vega.job_status", fmt.Appendf(nil, `{"job": %q}`, id), func(b []byte) error { return json.Unmarshal(b, &m) }); err != nil || m.State != "CANCELLED" {
			t.Fatalf("%+v %v", m, err)
		}
	}
}

// TestForeignHandles: nobody learns whether somebody else's handle exists.
func TestForeignHandles(t *testing.T) {
	s := newLake(t).start(t)
	ann, ben, root := connect(t, s, "k-ann"), connect(t, s, "k-ben"), connect(t, s, "k-root")
	p := ann.submit(endless)
	j := ann.submit("CREATE MATERIALIZED VIEW v AS " + endless)
	unknown := proto.Clone(p.Info).(*flight.FlightInfo)
	id := metaOf(t, p).Handle
	other := id[:len(id)-1] + "A"
	if other == id {
		other = id[:len(id)-1] + "B"
	}
	replace := func(b []byte) []byte { return []byte(strings.ReplaceAll(string(b), id, other)) }
	unknown.FlightDescriptor.Cmd = replace(unknown.FlightDescriptor.Cmd)
	unknown.Endpoint[0].Ticket.Ticket = replace(unknown.Endpoint[0].Ticket.Ticket)
	text := func(err error) string {
		named(t, err, codes.NotFound, "QUERY_HANDLE_NOT_FOUND")
		return status.Convert(err).Message()
	}
	_, foreign := ben.cancel(p.Info)
	_, absent := ben.cancel(unknown)
	if text(foreign) != text(absent) {
		t.Fatalf("%q tells more than %q", foreign, absent)
	}
	_, foreign = ben.cancel(j.Info)
	if text(foreign) != text(absent) {
		t.Fatalf("%q tells more than %q", foreign, absent)
	}
	_, foreign = ben.PollFlightInfo(ben.ctx(), p.FlightDescriptor)
	_, absent = ben.PollFlightInfo(ben.ctx(), unknown.FlightDescriptor)
	if text(foreign) != text(absent) {
		t.Fatalf("%q tells more than %q", foreign, absent)
	}
	_, foreign = ben.rows(p)
	_, absent = ben.rows(&flight.PollInfo{Info: unknown})
	if text(foreign) != text(absent) {
		t.Fatalf("%q tells more than %q", foreign, absent)
	}
	err := ben.act("vega.cancel_job", fmt.Appendf(nil, `{"job": %q}`, metaOf(t, j).Job), func([]byte) error { return nil })
	named(t, err, codes.NotFound, "JOB_NOT_FOUND")
	// An administrator may stop both.
	for _, p := range []*flight.PollInfo{p, j} {
		if st, err := root.cancel(p.Info); err != nil || st == flight.CancelStatusNotCancellable {
			t.Fatalf("%v %v", st, err)
		}
		_, err = ann.wait(p)
		named(t, err, codes.Canceled, "CANCELLED")
	}
}

func TestExpiryAndRenewal(t *testing.T) {
	s := newLake(t).start(t, "--handle-expiry", "8s")
	c := connect(t, s, "k-ann")
	gone := c.finished("SELECT 1 AS a")
	kept := c.finished("SELECT 2 AS a")
	body, err := proto.Marshal(&flight.RenewFlightEndpointRequest{Endpoint: kept.Info.Endpoint[0]})
	if err != nil {
		t.Fatal(err)
	}
	before := kept.Info.Endpoint[0].ExpirationTime.AsTime()
	renew := func() time.Time {
		var e flight.FlightEndpoint
		if err := c.act(flight.RenewFlightEndpointActionType, body, func(b []byte) error { return proto.Unmarshal(b, &e) }); err != nil {
			t.Fatal(err)
		}
		return e.ExpirationTime.AsTime()
	}
	for { // the client sees the expiry as an error of whatever it does next
		if got := renew(); !got.After(before) {
			t.Fatalf("renewed until %v, it was %v before", got, before)
		}
		if _, err := c.rows(gone); err != nil {
			named(t, err, codes.NotFound, "QUERY_HANDLE_NOT_FOUND")
			break
		}
		time.Sleep(50 * time.Millisecond) // the client's own pace of polling
	}
	_, err = c.cancel(gone.Info)
	named(t, err, codes.NotFound, "QUERY_HANDLE_NOT_FOUND")
	if rows, err := c.rows(kept); err != nil || fmt.Sprint(rows) != "[[2]]" {
		t.Fatalf("%v %v", rows, err)
	}
}

// TestPollAfterRestart kills the server under its handles.
func TestPollAfterRestart(t *testing.T) {
	l := newLake(t)
	s := l.start(t)
	c := connect(t, s, "k-ann")
	c.finished("CREATE TABLE t AS SELECT i % 5 AS k, i AS v FROM range(1000) r(i)")
	view := c.finished("CREATE MATERIALIZED VIEW v AS SELECT k, sum(v) AS s FROM t GROUP BY k")
	insert := c.finished("INSERT INTO t VALUES (1, 1), (2, 2)")
	refresh := c.finished("REFRESH MATERIALIZED VIEW v")
	query := c.finished("SELECT 42 AS a")
	running := c.submit(endless)
	writing := c.submit("INSERT INTO t SELECT i, j FROM range(300000) a(i), range(300000) b(j) WHERE (i * j) % 7 = 1")
	slow := c.submit("CREATE MATERIALIZED VIEW w AS " + endless)
	cancelled := c.submit(endless)
	if _, err := c.cancel(cancelled.Info); err != nil {
		t.Fatal(err)
	}
	_, err := c.wait(cancelled)
	named(t, err, codes.Canceled, "CANCELLED")
	s.Kill()

	s = l.start(t)
	c = connect(t, s, "k-ann")
	poll := func(p *flight.PollInfo) (*flight.PollInfo, error) {
		// The client's last descriptor; the info's stays when the statement has ended.
		desc := p.FlightDescriptor
		if desc == nil {
			desc = p.Info.FlightDescriptor
		}
		return c.PollFlightInfo(c.ctx(), desc)
	}
	for name, p := range map[string]*flight.PollInfo{"view": view, "insert": insert, "refresh": refresh, "query": query} {
		again, err := poll(p)
		if err != nil || again.FlightDescriptor != nil || metaOf(t, again).State != "SUCCEEDED" || string(again.Info.Schema) != string(p.Info.Schema) {
			t.Fatalf("%s: %v %v", name, again, err)
		}
	}
	if rows, err := c.rows(refresh); err != nil || len(rows) != 1 || rows[0][2] != "rebuild" {
		t.Fatalf("%v %v", rows, err)
	}
	if rows, err := c.rows(query); err != nil || fmt.Sprint(rows) != "[[42]]" {
		t.Fatalf("kept rows after a restart: %v %v", rows, err)
	}
	_, err = poll(running)
	named(t, err, codes.Unavailable, "JOB_INTERRUPTED")
	_, err = poll(writing)
	named(t, err, codes.Unavailable, "JOB_INTERRUPTED")
	_, err = c.rows(running)
	named(t, err, codes.Unavailable, "JOB_INTERRUPTED")
	_, err = poll(cancelled)
	named(t, err, codes.Canceled, "CANCELLED")
	if rows, _ := c.rows(c.finished("SELECT count(*) FROM t")); fmt.Sprint(rows) != "[[1002]]" {
		t.Fatalf("an interrupted insert left rows: %v", rows)
	}
	// The job goes on where it can, and can be cancelled by its old handle.
	if p, err := poll(slow); err == nil {
		if st, err := c.cancel(p.Info); err != nil || st == flight.CancelStatusNotCancellable {
			t.Fatalf("%v %v", st, err)
		}
		_, err = c.wait(p)
		named(t, err, codes.Canceled, "CANCELLED")
	} else {
		named(t, err, codes.Unavailable, "JOB_INTERRUPTED")
	}
	// Foreign handles stay foreign.
	ben := connect(t, s, "k-ben")
	_, err = ben.PollFlightInfo(ben.ctx(), view.Info.FlightDescriptor)
	named(t, err, codes.NotFound, "QUERY_HANDLE_NOT_FOUND")
}

// TestPollAfterShutdown ends the server in order: pollers are let go, and what did not end in the grace is INTERRUPTED.
func TestPollAfterShutdown(t *testing.T) {
	l := newLake(t)
	s := l.start(t)
	c := connect(t, s, "k-ann")
	p := c.submit(endless)
	for metaOf(t, p).State != "RUNNING" {
		next, err := c.PollFlightInfo(c.ctx(), p.FlightDescriptor)
		if err != nil {
			t.Fatal(err)
		}
		p = next
	}
	waiting := make(chan error, 1)
	go func() { // with a plain client's patience, as long as the server is there
		_, err := c.wait(p)
		waiting <- err
	}()
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	// Either the connection was gone or the statement was, when the poller asked last.
	if err := <-waiting; status.Code(err) != codes.Unavailable {
		t.Fatal(err)
	}
	s = l.start(t)
	c = connect(t, s, "k-ann")
	_, err := c.PollFlightInfo(c.ctx(), p.FlightDescriptor)
	named(t, err, codes.Unavailable, "JOB_INTERRUPTED")
}
