package flightsql

import (
	"context"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"

	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/flightsql/auth"
)

// GetFlightInfoStatement runs what changes something, and describes what only reads.
func (s *Service) GetFlightInfoStatement(ctx context.Context, cmd flightsql.StatementQuery, desc *flight.FlightDescriptor) (*flight.FlightInfo, error) {
	sess, err := s.session(ctx)
	if err != nil {
		return nil, err
	}
	defer sess.done()
	return s.flightInfo(ctx, sess, cmd.GetQuery(), cmd.GetTransactionId(), nil, desc)
}

// flightInfo runs a text up to its last statement, and that too unless it only
// reads: then its rows are computed when they are fetched.
func (s *Service) flightInfo(ctx context.Context, sess *session, text string, tx []byte, params [][]any, desc *flight.FlightDescriptor) (*flight.FlightInfo, error) {
	ctx, stop := sess.within(ctx)
	defer stop()
	x, err := s.plan(ctx, sess, text, tx, params)
	if err != nil {
		return nil, err
	}
	r, records, err := s.begin(ctx, x)
	if err != nil {
		return nil, err
	}
	s.results.keep(r, s.limits.Results)
	return s.info(r, desc, records)
}

// begin brings an execution to where its rows can be fetched. It owns x.
func (s *Service) begin(ctx context.Context, x *execution) (r *result, records int64, err error) {
	r = &result{principal: x.sess.principal.Name, sess: x.sess, expires: time.Now().Add(s.limits.ResultWait)}
	if err := x.Prelude(ctx); err != nil {
		x.Close()
		return nil, 0, err
	}
	if x.follow != nil {
		return x.subscribe(ctx, r)
	}
	if x.IsQuery() && x.schema != nil {
		r.schema, r.run = x.schema, x
		return r, unknownRows, nil
	}
	// A query whose types depend on its parameters is started to learn them, and then waits.
	// It must outlive this call, so only the session ends it.
	runs := ctx
	if x.IsQuery() {
		runs, r.stop = context.WithCancel(x.sess.ctx)
	}
	st, err := x.Run(runs)
	if err != nil {
		if r.stop != nil {
			r.stop()
		}
		x.Close()
		return nil, 0, err
	}
	st.atEnd(func(error) { x.Close() })
	r.schema, r.ready = st.Schema(), st
	return r, st.affected, nil
}

// GetSchemaStatement describes the result of a text.
func (s *Service) GetSchemaStatement(ctx context.Context, cmd flightsql.StatementQuery, _ *flight.FlightDescriptor) (*flight.SchemaResult, error) {
	sess, err := s.session(ctx)
	if err != nil {
		return nil, err
	}
	defer sess.done()
	return s.schemaOf(ctx, sess, cmd.GetQuery(), cmd.GetTransactionId(), nil)
}

// schemaOf describes a text's result without running anything.
func (s *Service) schemaOf(ctx context.Context, sess *session, text string, tx []byte, params [][]any) (*flight.SchemaResult, error) {
	ctx, stop := sess.within(ctx)
	defer stop()
	x, err := s.read(sess, text, string(tx), params)
	if err != nil {
		return nil, err
	}
	defer x.Close()
	if err := x.prepare(ctx); err != nil {
		return nil, err
	}
	if x.schema == nil {
		return nil, fault.InvalidParameter.Newf("the types of the result depend on its parameters").
			WithHint("bind them first, or cast them in the statement")
	}
	return &flight.SchemaResult{Schema: flight.SerializeSchema(x.schema, s.Alloc)}, nil
}

// DoGetStatement streams a result to whoever has its ticket.
func (s *Service) DoGetStatement(ctx context.Context, ticket flightsql.StatementQueryTicket) (*arrow.Schema, <-chan flight.StreamChunk, error) {
	handle := string(ticket.GetStatementHandle())
	p, ok := auth.FromContext(ctx)
	if !ok {
		return nil, nil, fault.Unauthorized.Newf("the call has no caller")
	}
	ctx, cancel := context.WithCancel(ctx)
	r, done, err := s.results.take(handle, p, cancel)
	if err != nil {
		cancel()
		return nil, nil, err
	}
	schema, ch, err := s.fetch(ctx, r, func() { done(); cancel() })
	return schema, ch, err
}

// fetch opens a result and pumps its rows. after runs when everything has stopped.
func (s *Service) fetch(ctx context.Context, r *result, after ...func()) (*arrow.Schema, <-chan flight.StreamChunk, error) {
	ctx, stop := r.sess.within(ctx)
	end := func() {
		stop()
		for _, f := range after {
			f()
		}
	}
	st, err := r.open(ctx)
	if err != nil {
		end()
		return nil, nil, err
	}
	st.atEnd(func(error) { end() })
	schema, ch := s.chunks(ctx, st)
	return schema, ch, nil
}
