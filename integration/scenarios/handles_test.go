package scenarios

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	pb "github.com/apache/arrow-go/v18/arrow/flight/gen/flight"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	vega "github.com/vegadb/vega-flight/flightsql"
	"github.com/vegadb/vega-flight/flightsql/auth"
)

// Scenarios about statements: the router turns canned commands into real ones.
// Tickets, descriptors and the two actions are then the server's own.

// inner is the server's real router, which the scenario's router falls back to.
type inner struct{ flight.FlightServer }

func real(s *vega.Service) inner { return inner{flightsql.NewFlightServer(s)} }

func sql(query string) *flight.FlightDescriptor {
	return command(&pb.CommandStatementQuery{Query: query})
}

func command(m proto.Message) *flight.FlightDescriptor {
	a, err := anypb.New(m)
	if err != nil {
		panic(err) // the messages are this file's
	}
	raw, err := proto.Marshal(a)
	if err != nil {
		panic(err)
	}
	return &flight.FlightDescriptor{Type: flight.DescriptorCMD, Cmd: raw}
}

// finish polls until the statement has ended.
func (r inner) finish(ctx context.Context, p *flight.PollInfo) (*flight.PollInfo, error) {
	for p.FlightDescriptor != nil {
		next, err := r.PollFlightInfo(ctx, p.FlightDescriptor)
		if err != nil {
			return nil, err
		}
		p = next
	}
	return p, nil
}

// heavy answers "heavy query" by a polled statement, and "poll" by its end.
type heavy struct {
	inner
	latest *flight.PollInfo
}

func (h *heavy) PollFlightInfo(ctx context.Context, desc *flight.FlightDescriptor) (*flight.PollInfo, error) {
	switch string(desc.Cmd) {
	case "heavy query":
		p, err := h.FlightServer.PollFlightInfo(ctx, sql("SELECT 1::UINTEGER AS number"))
		if err != nil {
			return nil, err
		}
		h.latest = proto.Clone(p).(*flight.PollInfo)
		p.FlightDescriptor = &flight.FlightDescriptor{Type: flight.DescriptorCMD, Cmd: []byte("poll")}
		p.Progress = proto.Float64(0) // unknown; the scenario wants a number
		return p, nil
	case "poll":
		p, err := h.finish(ctx, h.latest)
		if err == nil {
			p.ExpirationTime = nil // see doc.go
		}
		return p, err
	}
	return nil, status.Error(codes.InvalidArgument, "not of this scenario")
}

func TestPollFlightInfo(t *testing.T) {
	play(t, start(t, auth.NoAuth{}, func(s *vega.Service) flight.FlightServer { return &heavy{inner: real(s)} }), "poll_flight_info")
}

// expiring answers by an endpoint that is read once and two that are kept.
type expiring struct {
	inner
	running bool // the kept ones are of statements that have not ended
}

func (e *expiring) GetFlightInfo(ctx context.Context, desc *flight.FlightDescriptor) (*flight.FlightInfo, error) {
	if string(desc.Cmd) != "expiration_time" {
		return nil, errors.New("not of this scenario")
	}
	info, err := e.FlightServer.GetFlightInfo(ctx, sql("SELECT 0::UINTEGER AS number"))
	if err != nil {
		return nil, err
	}
	info.FlightDescriptor = desc
	for i := 1; i <= 2; i++ {
		query := fmt.Sprintf("SELECT %d::UINTEGER AS number", i)
		if e.running {
			query += " FROM range(300000) a(i), range(300000) b(j) WHERE (i * j) % 7 = 1"
		}
		p, err := e.FlightServer.PollFlightInfo(ctx, sql(query))
		if err != nil {
			return nil, err
		}
		if !e.running {
			if p, err = e.finish(ctx, p); err != nil {
				return nil, err
			}
		}
		info.Endpoint = append(info.Endpoint, p.Info.Endpoint...)
	}
	return info, nil
}

func TestExpirationTime(t *testing.T) {
	for _, scenario := range []string{"do_get", "cancel_flight_info", "renew_flight_endpoint"} {
		t.Run(scenario, func(t *testing.T) {
			route := func(s *vega.Service) flight.FlightServer {
				return &expiring{inner: real(s), running: scenario == "cancel_flight_info"}
			}
			play(t, start(t, auth.NoAuth{}, route), "expiration_time:"+scenario)
		})
	}
}
