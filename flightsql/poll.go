package flightsql

import (
	"context"
	"time"

	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/vegadb/vega-flight/flightsql/auth"
	"github.com/vegadb/vega-flight/ivm/job"
)

// describeWait is how long a first poll waits for the schema of a text whose
// last statement can be described only after the earlier ones have run.
const describeWait = 2 * time.Second

// drainPoll is how long a poll waits for news while the server drains.
const drainPoll = 250 * time.Millisecond

// PollFlightInfoStatement submits a text.
func (s *Service) PollFlightInfoStatement(ctx context.Context, cmd flightsql.StatementQuery, _ *flight.FlightDescriptor) (*flight.PollInfo, error) {
	sess, err := s.session(ctx)
	if err != nil {
		return nil, err
	}
	defer sess.done()
	return s.pollText(ctx, sess, cmd.GetQuery(), cmd.GetTransactionId(), nil)
}

// PollFlightInfoPreparedStatement submits a prepared statement with its bound parameters.
func (s *Service) PollFlightInfoPreparedStatement(ctx context.Context, cmd flightsql.PreparedStatementQuery, _ *flight.FlightDescriptor) (*flight.PollInfo, error) {
	p, err := s.prepared(ctx, cmd.GetPreparedStatementHandle())
	if err != nil {
		return nil, err
	}
	defer p.sess.done()
	return s.pollText(ctx, p.sess, p.text, p.tx, p.rows)
}

func (s *Service) pollText(ctx context.Context, sess *session, text string, tx []byte, params [][]any) (*flight.PollInfo, error) {
	planning, stop := sess.within(ctx)
	defer stop()
	x, err := s.plan(planning, sess, text, tx, params)
	if err != nil {
		return nil, err
	}
	if x.follow != nil {
		return s.pollSubscription(planning, x)
	}
	return s.handles.first(ctx, x)
}

// PollFlightInfo is where descriptors come that are no Flight SQL command: those of handles.
func (s *Service) PollFlightInfo(ctx context.Context, desc *flight.FlightDescriptor) (*flight.PollInfo, error) {
	return s.handles.poll(ctx, desc)
}

// first submits and answers the first poll, which does not wait for the statement: who has submitted gets a handle, however soon the
// statement fails, unless what its rows are like is known only when it runs.
func (hs *handles) first(ctx context.Context, x *execution) (*flight.PollInfo, error) {
	h, err := hs.submit(ctx, x)
	if err != nil {
		return nil, err
	}
	schema, _ := h.result()
	if schema != nil {
		now, seq := h.state()
		return hs.news(h, now, seq), nil
	}
	waiting, cancel := context.WithTimeout(ctx, describeWait)
	defer cancel()
	for schema == nil && waiting.Err() == nil {
		now, seq := h.state()
		if now.State.Ended() {
			break
		}
		h.await(waiting, seq, hs.letting)
		schema, _ = h.result()
	}
	return hs.pollInfo(h)
}

// described finds the caller's handle by its descriptor, which also says what change the caller has seen.
func (hs *handles) described(ctx context.Context, desc *flight.FlightDescriptor) (h *handle, seen uint64, err error) {
	id, seen, err := parseDescriptor(desc)
	if err != nil {
		return nil, 0, err
	}
	h, err = hs.get(ctx, id)
	return h, seen, err
}

// poll waits until the handle differs from what its descriptor has seen. A poll
// that is given up cancels nothing.
func (hs *handles) poll(ctx context.Context, desc *flight.FlightDescriptor) (*flight.PollInfo, error) {
	h, seen, err := hs.described(ctx, desc)
	if err != nil {
		return nil, err
	}
	h.touch(time.Now(), hs.limits.Abandon)
	if now, _ := h.state(); !now.State.Ended() {
		patience, stop := hs.limits.LongPoll, hs.letting
		if hs.draining() { // whoever asks again all the same must not do it without a pause
			patience, stop = min(patience, drainPoll), nil
		}
		waiting, cancel := context.WithTimeout(ctx, patience)
		h.await(waiting, seen, stop)
		cancel()
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		h.touch(time.Now(), hs.limits.Abandon)
	}
	return hs.pollInfo(h)
}

// pollInfo says how far the statement is. Its failure is the poll's error.
func (hs *handles) pollInfo(h *handle) (*flight.PollInfo, error) {
	now, seq := h.state()
	if now.State.Ended() && now.State != job.Succeeded {
		return nil, now.Err
	}
	return hs.news(h, now, seq), nil
}

// news says how far the statement is. There is a descriptor to ask on with until it has succeeded.
func (hs *handles) news(h *handle, now progress, seq uint64) *flight.PollInfo {
	info := &flight.PollInfo{
		Info:           hs.info(h, now, seq),
		ExpirationTime: timestamppb.New(h.promised(time.Now(), hs.limits.Keep)),
	}
	if now.Fraction >= 0 {
		info.Progress = proto.Float64(min(now.Fraction, 1))
	}
	if now.State != job.Succeeded {
		info.FlightDescriptor = newDescriptor(h.id, seq)
	}
	return info
}

// info has the endpoint from the start: reading it follows the statement.
func (hs *handles) info(h *handle, now progress, seq uint64) *flight.FlightInfo {
	schema, _ := h.result()
	info := &flight.FlightInfo{
		FlightDescriptor: newDescriptor(h.id, seq),
		TotalRecords:     -1, TotalBytes: -1,
		AppMetadata: h.metadata(now, hs.svc.hidden.cleaner(auth.Principal{})),
	}
	if schema == nil {
		return info
	}
	info.Schema = flight.SerializeSchema(schema, hs.svc.Alloc)
	info.Endpoint = []*flight.FlightEndpoint{{Ticket: newTicket(h.id), ExpirationTime: timestamppb.New(h.promised(time.Now(), hs.limits.Keep))}}
	if now.State == job.Succeeded && h.job == "" {
		info.TotalRecords = now.Rows
	}
	return info
}

// infoAtEnd is for clients that cannot poll: it waits for the statement's end.
func (hs *handles) infoAtEnd(ctx context.Context, desc *flight.FlightDescriptor) (*flight.FlightInfo, error) {
	h, _, err := hs.described(ctx, desc)
	if err != nil {
		return nil, err
	}
	h.touch(time.Now(), hs.limits.Abandon)
	now, err := h.awaitEnd(ctx)
	if err != nil {
		return nil, err
	}
	if now.State != job.Succeeded {
		return nil, now.Err
	}
	now, seq := h.state()
	return hs.info(h, now, seq), nil
}

// schemaOf gives a handle's schema once it is known.
func (hs *handles) schemaOf(ctx context.Context, desc *flight.FlightDescriptor) (*flight.SchemaResult, error) {
	h, _, err := hs.described(ctx, desc)
	if err != nil {
		return nil, err
	}
	for {
		schema, _ := h.result()
		if schema != nil {
			return &flight.SchemaResult{Schema: flight.SerializeSchema(schema, hs.svc.Alloc)}, nil
		}
		now, seq := h.state()
		if now.State.Ended() {
			return nil, now.Err
		}
		h.await(ctx, seq, nil)
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
}
