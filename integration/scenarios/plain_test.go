package scenarios

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	vega "github.com/vegadb/vega-flight/flightsql"
	"github.com/vegadb/vega-flight/flightsql/auth"
)

// Scenarios about Flight alone: the router's answers are canned, the way there is ours.

func canned(s flight.FlightServer) func(*vega.Service) flight.FlightServer {
	return func(*vega.Service) flight.FlightServer { return s }
}

func single(kind arrow.DataType) *arrow.Schema {
	return arrow.NewSchema([]arrow.Field{{Name: "number", Type: kind}}, nil)
}

func describe(schema *arrow.Schema, desc *flight.FlightDescriptor, endpoints ...*flight.FlightEndpoint) *flight.FlightInfo {
	return &flight.FlightInfo{
		Schema: flight.SerializeSchema(schema, memory.DefaultAllocator), FlightDescriptor: desc, Endpoint: endpoints,
		TotalRecords: -1, TotalBytes: -1,
	}
}

// whoami answers any action with the caller's name.
type whoami struct{ flight.BaseFlightServer }

func (*whoami) DoAction(_ *flight.Action, s flight.FlightService_DoActionServer) error {
	p, _ := auth.FromContext(s.Context())
	return s.Send(&flight.Result{Body: []byte(p.Name)})
}

func TestAuthBasicProto(t *testing.T) {
	hash, err := auth.HashPassword("flight")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "users.yaml")
	if err := os.WriteFile(path, fmt.Appendf(nil, "users: {arrow: {password: %q}}\n", hash), 0o600); err != nil {
		t.Fatal(err)
	}
	users, err := auth.OpenUsers(auth.UsersConfig{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	play(t, start(t, users, canned(&whoami{})), "auth:basic_proto")
}

// echo gives the x-middleware header back, whether the call succeeds or not.
type echo struct{ flight.BaseFlightServer }

func (*echo) GetFlightInfo(ctx context.Context, desc *flight.FlightDescriptor) (*flight.FlightInfo, error) {
	if err := grpc.SetHeader(ctx, metadata.Pairs("x-middleware", metadata.ValueFromIncomingContext(ctx, "x-middleware")[0])); err != nil {
		return nil, err
	}
	if string(desc.Cmd) != "success" {
		return nil, status.Error(codes.Unknown, "unknown")
	}
	return describe(arrow.NewSchema(nil, nil), desc), nil
}

func TestMiddleware(t *testing.T) {
	play(t, start(t, auth.NoAuth{}, canned(&echo{})), "middleware")
}

// ordered has three endpoints that must be read in order.
type ordered struct{ flight.BaseFlightServer }

func (*ordered) GetFlightInfo(_ context.Context, desc *flight.FlightDescriptor) (*flight.FlightInfo, error) {
	var endpoints []*flight.FlightEndpoint
	for _, ticket := range []string{"1", "10", "100"} {
		endpoints = append(endpoints, &flight.FlightEndpoint{Ticket: &flight.Ticket{Ticket: []byte(ticket)}})
	}
	info := describe(single(arrow.PrimitiveTypes.Int32), desc, endpoints...)
	info.Ordered = string(desc.Cmd) == "ordered"
	return info, nil
}

func (*ordered) DoGet(ticket *flight.Ticket, s flight.FlightService_DoGetServer) error {
	var n int32
	if _, err := fmt.Sscan(string(ticket.Ticket), &n); err != nil {
		return err
	}
	schema := single(arrow.PrimitiveTypes.Int32)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer b.Release()
	b.Field(0).(*array.Int32Builder).AppendValues([]int32{n, 2 * n, 3 * n}, nil)
	batch := b.NewRecordBatch()
	defer batch.Release()
	return flight.NewRecordWriter(s, ipc.WithSchema(schema)).Write(batch)
}

func TestOrdered(t *testing.T) {
	play(t, start(t, auth.NoAuth{}, canned(&ordered{})), "ordered")
}

// located names a connection that is open already; labelled gives a command back as metadata.
type located struct{ flight.BaseFlightServer }

func (*located) GetFlightInfo(_ context.Context, desc *flight.FlightDescriptor) (*flight.FlightInfo, error) {
	return describe(arrow.NewSchema(nil, nil), desc, &flight.FlightEndpoint{
		Ticket: &flight.Ticket{Ticket: desc.Cmd}, Location: []*flight.Location{{Uri: flight.LocationReuseConnection}},
	}), nil
}

func TestReuseConnection(t *testing.T) {
	play(t, start(t, auth.NoAuth{}, canned(&located{})), "location:reuse_connection")
}

type labelled struct{ flight.BaseFlightServer }

func (*labelled) GetFlightInfo(_ context.Context, desc *flight.FlightDescriptor) (*flight.FlightInfo, error) {
	info := describe(single(arrow.PrimitiveTypes.Uint32), desc, &flight.FlightEndpoint{AppMetadata: desc.Cmd})
	info.AppMetadata = desc.Cmd
	return info, nil
}

func TestAppMetadata(t *testing.T) {
	play(t, start(t, auth.NoAuth{}, canned(&labelled{})), "app_metadata_flight_info_endpoint")
}
