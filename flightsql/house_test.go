package flightsql

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"

	"github.com/vegadb/vega-flight/ducklake"
	"github.com/vegadb/vega-flight/ducklake/laketest"
	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/flightsql/auth"
	"github.com/vegadb/vega-flight/ivm/enginetest"
)

// house is a lake, the engine over it and a server, all real, for one test.
type house struct {
	t       *testing.T
	lake    *ducklake.Lake
	svc     *Service
	address string
}

// byName takes the name that a client sends as its caller; "admin" is an administrator.
type byName struct{ auth.NoAuth }

func (byName) Check(_ context.Context, c auth.Credentials) (auth.Grant, error) {
	name := c.APIKey
	if name == "" {
		name = auth.Anonymous
	}
	return auth.Grant{Principal: auth.Principal{Name: name, Admin: name == "admin", MayAcceptStale: name == "admin"}}, nil
}

// open starts everything; it ends with the test, and leaves nothing behind.
func open(t *testing.T, change ...func(*Config)) *house { return openIn(t, nil, change...) }

// openIn is open with another lake.
func openIn(t *testing.T, lake func(*ducklake.Config), change ...func(*Config)) *house {
	t.Helper()
	ctx := context.Background()
	if lake == nil {
		lake = func(*ducklake.Config) {}
	}
	h := &house{t: t, lake: enginetest.Lake(t, laketest.DuckDB, lake)}
	config := Config{Lake: h.lake, Engine: enginetest.Engine(t, h.lake), Log: testLog(t), Version: "test", SpoolDir: t.TempDir()}
	for _, f := range change {
		f(&config)
	}
	svc, err := New(ctx, config)
	if err != nil {
		t.Fatal(err)
	}
	h.svc = svc
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h.address = listener.Addr().String()
	serving, stop := context.WithCancel(ctx)
	server := NewServer(svc, ServerConfig{Auth: byName{}, Log: config.Log, Grace: 10 * time.Second})
	var group sync.WaitGroup
	group.Go(func() {
		if err := server.Serve(serving, listener); err != nil {
			t.Errorf("serving: %v", err)
		}
	})
	t.Cleanup(func() {
		stop()
		server.Stop()
		group.Wait()
		if err := svc.Close(ctx); err != nil {
			t.Errorf("close the service: %v", err)
		}
		if n := svc.sessions.count(); n != 0 {
			t.Errorf("%d sessions are left", n)
		}
	})
	return h
}

// client is one connection of one user.
type client struct {
	*flightsql.Client
	t    *testing.T
	user string
}

// client connects a client that keeps no cookies.
func (h *house) client(user string) *client { return h.connect(user) }

// keeper connects a client that keeps cookies.
func (h *house) keeper(user string) *client {
	return h.connect(user, flight.NewClientCookieMiddleware())
}

func (h *house) connect(user string, m ...flight.ClientMiddleware) *client {
	h.t.Helper()
	c, err := flightsql.NewClient(h.address, nil, m, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { _ = c.Close() }) // a test may have closed it
	return &client{c, h.t, user}
}

// ctx is a call's context with the user's credential.
func (c *client) ctx() context.Context { return c.as(context.Background()) }

func (c *client) as(ctx context.Context) context.Context {
	return metadata.AppendToOutgoingContext(ctx, "x-api-key", c.user)
}

// try runs a statement by GetFlightInfo and DoGet, and gives its rows.
func (c *client) try(sql string) ([][]string, error) {
	info, err := c.Execute(c.ctx(), sql)
	if err != nil {
		return nil, err
	}
	return c.rows(info)
}

// rows fetches a result and checks that its stream has the announced schema.
func (c *client) rows(info *flight.FlightInfo) ([][]string, error) {
	c.t.Helper()
	if len(info.Endpoint) != 1 {
		c.t.Errorf("%d endpoints", len(info.Endpoint))
	}
	r, err := c.DoGet(c.ctx(), info.Endpoint[0].Ticket)
	if err != nil {
		return nil, err
	}
	defer r.Release()
	announced, err := flight.DeserializeSchema(info.Schema, memory.DefaultAllocator)
	if err != nil {
		c.t.Error(err)
	}
	if !announced.Equal(r.Schema()) {
		c.t.Errorf("the stream has the schema %s, announced was %s", r.Schema(), announced)
	}
	return read(r)
}

func read(r array.RecordReader) ([][]string, error) {
	var out [][]string
	for r.Next() {
		out = append(out, texts(r.RecordBatch())...)
	}
	if err := r.Err(); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return out, nil
}

func texts(batch arrow.RecordBatch) [][]string {
	out := make([][]string, batch.NumRows())
	for i := range out {
		for _, column := range batch.Columns() {
			out[i] = append(out[i], column.ValueStr(i))
		}
	}
	return out
}

// must is try that has to succeed.
func (c *client) must(sql string) [][]string {
	c.t.Helper()
	rows, err := c.try(sql)
	if err != nil {
		c.t.Fatalf("%s: %v", sql, err)
	}
	return rows
}

// value is the one value of a statement.
func (c *client) value(sql string) string {
	c.t.Helper()
	rows := c.must(sql)
	if len(rows) != 1 || len(rows[0]) != 1 {
		c.t.Fatalf("%s: %v", sql, rows)
	}
	return rows[0][0]
}

// update runs a statement by DoPut and gives its count.
func (c *client) update(sql string) int64 {
	c.t.Helper()
	n, err := c.ExecuteUpdate(c.ctx(), sql)
	if err != nil {
		c.t.Fatalf("%s: %v", sql, err)
	}
	return n
}

// fails expects an error of a stable name.
func (c *client) fails(sql string, code *fault.Code) {
	c.t.Helper()
	_, err := c.try(sql)
	wants(c.t, err, code)
}

func wants(t *testing.T, err error, code *fault.Code) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), code.Name()) {
		t.Fatalf("got %v, want %s", err, code.Name())
	}
}

func equal[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

// testLog writes to the test's log.
func testLog(t *testing.T) *slog.Logger {
	return slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// with is a call's context with one more header.
func (c *client) with(ctx context.Context, header, value string) context.Context {
	return metadata.AppendToOutgoingContext(c.as(ctx), header, value)
}
