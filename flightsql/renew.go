package flightsql

import (
	"context"
	"time"

	"github.com/apache/arrow-go/v18/arrow/flight"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/vegadb/vega-flight/fault"
)

// RenewFlightEndpoint keeps a handle's result for longer, up to a limit. Results
// of direct statements are read once and cannot be kept.
func (s *Service) RenewFlightEndpoint(ctx context.Context, req *flight.RenewFlightEndpointRequest) (*flight.FlightEndpoint, error) {
	endpoint := req.GetEndpoint()
	id, ok := parseTicket(endpoint.GetTicket().GetTicket())
	if !ok {
		return nil, fault.InvalidParameter.Newf("the endpoint's result is read once and is not kept").
			WithHint("poll the statement to get a result that is kept")
	}
	h, err := s.handles.get(ctx, id)
	if err != nil {
		return nil, err
	}
	expires := s.handles.renew(h, time.Now())
	return &flight.FlightEndpoint{
		Ticket: endpoint.GetTicket(), Location: endpoint.GetLocation(), AppMetadata: endpoint.GetAppMetadata(),
		ExpirationTime: timestamppb.New(expires),
	}, nil
}

func (hs *handles) renew(h *handle, at time.Time) time.Time {
	now, _ := h.state()
	if !now.State.Ended() {
		return h.touch(at, hs.limits.Abandon)
	}
	until := at.Add(hs.limits.Keep)
	if most := now.Ended.Add(hs.limits.KeepAtMost); until.After(most) {
		until = most
	}
	expires := h.extend(until)
	hs.saved(h)
	return expires
}
