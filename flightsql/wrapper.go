package flightsql

import (
	"context"
	"errors"
	"io"
	"log/slog"

	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"

	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/flightsql/auth"
)

// front is the Flight service as clients see it. What the Flight SQL library
// has no room for is answered here (handshakes, retained handles' tickets and
// descriptors, our own actions); the rest is passed on to it.
type front struct {
	flight.FlightServer // the library's router, or what a test puts in its place

	auth    auth.Authenticator
	handles *handles // nil when only the router answers
	gate    *admission
	log     *slog.Logger
}

// GetFlightInfo answers a retained handle's descriptor itself: it waits for the statement's end.
func (f *front) GetFlightInfo(ctx context.Context, desc *flight.FlightDescriptor) (*flight.FlightInfo, error) {
	if f.handles != nil && isHandleDescriptor(desc) {
		return f.handles.infoAtEnd(ctx, desc)
	}
	leave, err := f.gate.enter(ctx, true)
	if err != nil {
		return nil, err
	}
	defer leave()
	return f.FlightServer.GetFlightInfo(ctx, desc)
}

// GetSchema passes on what is not a retained handle's.
func (f *front) GetSchema(ctx context.Context, desc *flight.FlightDescriptor) (*flight.SchemaResult, error) {
	if f.handles != nil && isHandleDescriptor(desc) {
		return f.handles.schemaOf(ctx, desc)
	}
	leave, err := f.gate.enter(ctx, true)
	if err != nil {
		return nil, err
	}
	defer leave()
	return f.FlightServer.GetSchema(ctx, desc)
}

// PollFlightInfo waits for news of a retained handle, or submits a statement.
func (f *front) PollFlightInfo(ctx context.Context, desc *flight.FlightDescriptor) (*flight.PollInfo, error) {
	if f.handles != nil && isHandleDescriptor(desc) {
		// Waiting is not work: it neither counts nor holds up the server's end.
		return f.handles.poll(ctx, desc)
	}
	leave, err := f.gate.enter(ctx, true)
	if err != nil {
		return nil, err
	}
	defer leave()
	return f.FlightServer.PollFlightInfo(ctx, desc)
}

// DoGet reads a retained handle's rows or passes the ticket on. Reading what was begun goes on while the server drains.
func (f *front) DoGet(ticket *flight.Ticket, stream flight.FlightService_DoGetServer) error {
	leave, err := f.gate.enter(stream.Context(), false)
	if err != nil {
		return err
	}
	defer leave()
	if id, ok := parseTicket(ticket.GetTicket()); ok && f.handles != nil {
		return f.handles.fetch(id, stream)
	}
	if id, ok := parseSubscription(ticket.GetTicket()); ok && f.handles != nil {
		return f.handles.svc.tail(id, stream)
	}
	return f.FlightServer.DoGet(ticket, stream)
}

// DoPut refuses a stream that does not say what it is; the router takes that for granted.
func (f *front) DoPut(stream flight.FlightService_DoPutServer) error {
	leave, err := f.gate.enter(stream.Context(), true)
	if err != nil {
		return err
	}
	defer leave()
	in := &checked{FlightService_DoPutServer: stream}
	first, err := in.Recv()
	if errors.Is(err, io.EOF) {
		return fault.InvalidParameter.Newf("the stream has no first message").
			WithHint("drivers send nothing of a table without batches; CREATE TABLE makes an empty one")
	}
	if err != nil {
		return err
	}
	if first.GetFlightDescriptor() == nil {
		return fault.InvalidParameter.Newf("the stream's first message has no descriptor")
	}
	in.first = first
	if err := f.FlightServer.DoPut(in); err != nil {
		return err
	}
	return in.flush()
}

// checked is a stream of messages whose metadata is fit for the library.
type checked struct {
	flight.FlightService_DoPutServer
	messages messageCheck
	first    *flight.FlightData // was looked at and is given once more
	answer   *flight.PutResult  // waits until nothing can fail any more
}

// Send keeps an answer back. The library answers a failed ingest with a number of rows before the error, and clients that read one
// answer only take it for success.
func (c *checked) Send(answer *flight.PutResult) error {
	err := c.flush()
	c.answer = answer
	return err
}

func (c *checked) flush() error {
	answer := c.answer
	if c.answer = nil; answer == nil {
		return nil
	}
	return c.FlightService_DoPutServer.Send(answer)
}

// Recv gives the next message.
func (c *checked) Recv() (*flight.FlightData, error) {
	if first := c.first; first != nil {
		c.first = nil
		return first, nil
	}
	data, err := c.FlightService_DoPutServer.Recv()
	if err == nil && len(data.GetDataHeader()) > 0 {
		if err := c.messages.check(data.GetDataHeader(), data.GetDataBody()); err != nil {
			return nil, fault.InvalidParameter.Wrap(err, "the rows sent cannot be read")
		}
	}
	return data, err
}

// DoExchange is not part of Flight SQL.
func (f *front) DoExchange(flight.FlightService_DoExchangeServer) error {
	return fault.NotYetSupported.Newf("DoExchange")
}

// ListFlights has nothing to list: statements, not flights, are what the server knows.
func (f *front) ListFlights(*flight.Criteria, flight.FlightService_ListFlightsServer) error {
	return fault.NotYetSupported.Newf("ListFlights").WithHint("list tables with Flight SQL's GetTables")
}

// DoAction does our own actions and passes the others on.
func (f *front) DoAction(action *flight.Action, stream flight.FlightService_DoActionServer) error {
	leave, err := f.gate.enter(stream.Context(), startsWork(action.GetType()))
	if err != nil {
		return err
	}
	defer leave()
	if do := ownActions[action.GetType()]; do != nil && f.handles != nil {
		return do(f.handles, action.GetBody(), stream)
	}
	return f.FlightServer.DoAction(action, stream)
}

// router is the Flight SQL library's, with a clearer answer to actions that do not exist.
type router struct{ flight.FlightServer }

// DoAction passes known actions on.
func (r router) DoAction(action *flight.Action, stream flight.FlightService_DoActionServer) error {
	if !knownAction(action.GetType()) {
		return fault.InvalidParameter.Newf("there is no action %q", fit(action.GetType(), 100)).WithHint("ListActions names them")
	}
	return r.FlightServer.DoAction(action, stream)
}

// startsWork tells the actions that a draining server refuses from those that end what is there.
func startsWork(action string) bool {
	switch action {
	case flightsql.BeginTransactionActionType, flightsql.CreatePreparedStatementActionType,
		flightsql.CreatePreparedSubstraitPlanActionType, flightsql.BeginSavepointActionType, flight.SetSessionOptionsActionType:
		return true
	}
	return false
}
