package flightsql

import (
	"context"
	"slices"
	"time"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"

	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/flightsql/auth"
	"github.com/vegadb/vega-flight/ivm/ddl"
	"github.com/vegadb/vega-flight/ivm/job"
)

// cancelWait is how long a cancellation waits for the work to stop before it
// answers that it is under way.
const cancelWait = 5 * time.Second

// CancelFlightInfo stops the statement that a FlightInfo belongs to, which is
// found by the info's descriptor or by a ticket. CancelQuery comes here too.
func (s *Service) CancelFlightInfo(ctx context.Context, req *flight.CancelFlightInfoRequest) (flight.CancelFlightInfoResult, error) {
	status, err := s.cancelInfo(ctx, req.GetInfo())
	return flight.CancelFlightInfoResult{Status: status}, err
}

func (s *Service) cancelInfo(ctx context.Context, info *flight.FlightInfo) (flight.CancelStatus, error) {
	if info == nil {
		return flight.CancelStatusUnspecified, fault.InvalidParameter.Newf("the request has no FlightInfo")
	}
	if isHandleDescriptor(info.GetFlightDescriptor()) {
		h, _, err := s.handles.described(ctx, info.GetFlightDescriptor())
		if err != nil {
			return flight.CancelStatusUnspecified, err
		}
		return s.handles.cancelHandle(ctx, h)
	}
	// An info of ours has one endpoint. One put together from several is cancelled whole.
	var all []flight.CancelStatus
	var missing error
	for _, endpoint := range info.GetEndpoint() {
		switch status, err := s.cancelEndpoint(ctx, endpoint); {
		case err == nil:
			all = append(all, status)
		case fault.CodeOf(err) == fault.HandleNotFound:
			missing = err
		default:
			return flight.CancelStatusUnspecified, err
		}
	}
	for _, status := range []flight.CancelStatus{flight.CancelStatusCancelling, flight.CancelStatusCancelled, flight.CancelStatusNotCancellable} {
		if slices.Contains(all, status) {
			return status, nil
		}
	}
	if missing != nil {
		return flight.CancelStatusUnspecified, missing
	}
	return flight.CancelStatusUnspecified, fault.HandleNotFound.Newf("the FlightInfo belongs to no statement")
}

func (s *Service) cancelEndpoint(ctx context.Context, endpoint *flight.FlightEndpoint) (flight.CancelStatus, error) {
	if id, ok := parseTicket(endpoint.GetTicket().GetTicket()); ok {
		return s.handles.cancelByID(ctx, id)
	}
	id, ok := parseSubscription(endpoint.GetTicket().GetTicket())
	if cmd, err := flightsql.GetStatementQueryTicket(&flight.Ticket{Ticket: endpoint.GetTicket().GetTicket()}); err == nil && !ok {
		id, ok = string(cmd.GetStatementHandle()), true
	}
	if ok {
		waiting, stop := context.WithTimeout(ctx, cancelWait)
		defer stop()
		switch found, stopped := s.cancelResult(waiting, id); {
		case found && stopped:
			return flight.CancelStatusCancelled, nil
		case found:
			return flight.CancelStatusCancelling, nil
		}
	}
	return flight.CancelStatusUnspecified, fault.HandleNotFound.Newf("the ticket is of no statement of the caller that runs or waits")
}

func (hs *handles) cancelByID(ctx context.Context, id string) (flight.CancelStatus, error) {
	h, err := hs.get(ctx, id)
	if err != nil {
		return flight.CancelStatusUnspecified, err
	}
	return hs.cancelHandle(ctx, h)
}

// cancelHandle is the one way in which a polled statement is cancelled. It says
// CANCELLED only when nothing of the statement runs any more.
func (hs *handles) cancelHandle(ctx context.Context, h *handle) (flight.CancelStatus, error) {
	if h.job != "" {
		p, _ := auth.FromContext(ctx)
		return hs.cancelJob(ctx, p, h.job)
	}
	if now, _ := h.state(); !now.State.Ended() {
		h.update(func(p *progress) { p.State, p.Phase = job.Cancelling, "cancelling" })
		h.cancel()
		patience := time.NewTimer(cancelWait)
		defer patience.Stop()
		select {
		case <-h.stopped:
		case <-patience.C:
			return flight.CancelStatusCancelling, nil
		case <-ctx.Done():
			return flight.CancelStatusCancelling, nil
		}
	}
	if now, _ := h.state(); now.State != job.Cancelled {
		return flight.CancelStatusNotCancellable, nil
	}
	return flight.CancelStatusCancelled, nil
}

// cancelJob cancels a durable job of the caller. It waits a while for the work
// to stop: some clients take CANCELLING for the last word.
func (hs *handles) cancelJob(ctx context.Context, p auth.Principal, id string) (flight.CancelStatus, error) {
	state, err := hs.svc.engine.Cancel(ctx, callerOf(p), id)
	switch {
	case fault.CodeOf(err) == fault.JobNotCancellable:
		return flight.CancelStatusNotCancellable, nil
	case err != nil:
		return flight.CancelStatusUnspecified, err
	}
	waiting, stop := context.WithTimeout(ctx, cancelWait)
	defer stop()
	for seen := uint64(0); !state.Ended(); {
		j, err := hs.svc.engine.Wait(waiting, id, seen)
		if err != nil {
			return flight.CancelStatusCancelling, nil
		}
		state, seen = j.State, j.Seq()
	}
	if state != job.Cancelled {
		return flight.CancelStatusNotCancellable, nil // it came to its end first
	}
	return flight.CancelStatusCancelled, nil
}

// cancelHandle is CANCEL JOB with the id of a polled statement that has no durable job.
func (x *execution) cancelHandle(ctx context.Context, stmt *ddl.CancelJob) (*stream, error) {
	h, err := x.svc.handles.get(auth.NewContext(ctx, x.sess.principal), stmt.ID)
	if err != nil {
		return nil, err
	}
	status, err := x.svc.handles.cancelHandle(ctx, h)
	state := job.Cancelling
	switch {
	case err != nil:
		return nil, err
	case status == flight.CancelStatusNotCancellable:
		return nil, fault.JobNotCancellable.Newf("%s has ended", stmt.ID)
	case status == flight.CancelStatusCancelled:
		state = job.Cancelled
	}
	schema := x.svc.engine.ResultSchema(stmt)
	b := array.NewRecordBuilder(x.svc.Alloc, schema)
	defer b.Release()
	for i, value := range []string{stmt.ID, string(state)} {
		if err := b.Field(i).AppendValueFromString(value); err != nil {
			return nil, err
		}
	}
	return newStream(newBatches(schema, b.NewRecordBatch()), unknownRows), nil
}
