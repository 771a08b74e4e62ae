package flightsql

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"

	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"

	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/flightsql/auth"
	"github.com/vegadb/vega-flight/ivm/job"
)

// Actions with JSON bodies, for clients whose libraries lack the protobuf ones.
const (
	cancelJobAction = "vega.cancel_job"
	jobStatusAction = "vega.job_status"
	checkAction     = "vega.check"
)

var ownActions = map[string]func(*handles, []byte, flight.FlightService_DoActionServer) error{
	cancelJobAction: (*handles).actCancel,
	jobStatusAction: (*handles).actStatus,
	checkAction:     (*handles).actCheck,
}

// actionTypes are all actions that DoAction takes, with what to send.
var actionTypes = []*flight.ActionType{
	{Type: flight.CancelFlightInfoActionType, Description: "Cancel the statement of a FlightInfo. Body: CancelFlightInfoRequest; answer: CancelFlightInfoResult."},
	{Type: flight.RenewFlightEndpointActionType, Description: "Keep a retained result for longer. Body: RenewFlightEndpointRequest; answer: FlightEndpoint."},
	{Type: flight.SetSessionOptionsActionType, Description: "Set options of the session. Body: SetSessionOptionsRequest; answer: SetSessionOptionsResult."},
	{Type: flight.GetSessionOptionsActionType, Description: "Read the options of the session. Body: GetSessionOptionsRequest; answer: GetSessionOptionsResult."},
	{Type: flight.CloseSessionActionType, Description: "End the session. Body: CloseSessionRequest; answer: CloseSessionResult."},
	{Type: flightsql.CreatePreparedStatementActionType, Description: "Prepare a statement. Body: Any(ActionCreatePreparedStatementRequest); answer: Any(ActionCreatePreparedStatementResult)."},
	{Type: flightsql.ClosePreparedStatementActionType, Description: "Close a prepared statement. Body: Any(ActionClosePreparedStatementRequest)."},
	{Type: flightsql.BeginTransactionActionType, Description: "Begin the session's transaction. Body: Any(ActionBeginTransactionRequest); answer: Any(ActionBeginTransactionResult)."},
	{Type: flightsql.EndTransactionActionType, Description: "Commit or roll back. Body: Any(ActionEndTransactionRequest)."},
	{Type: flightsql.CancelQueryActionType, Description: "The older form of CancelFlightInfo. Body: Any(ActionCancelQueryRequest); answer: Any(ActionCancelQueryResult)."},
	{Type: flightsql.BeginSavepointActionType, Description: "Not supported; answers UNIMPLEMENTED."},
	{Type: flightsql.EndSavepointActionType, Description: "Not supported; answers UNIMPLEMENTED."},
	{Type: flightsql.CreatePreparedSubstraitPlanActionType, Description: "Not supported; answers UNIMPLEMENTED."},
	{Type: cancelJobAction, Description: `Cancel a job or polled statement. Body: {"job": id}; answer: {"job", "state"}.`},
	{Type: jobStatusAction, Description: `Where a job or polled statement stands. Body: {"job": id}; answer: {"job", "state", "phase", "progress", "rows", ...}.`},
	{Type: checkAction, Description: `Verify every view and look for leftovers, for administrators. No body; answer: {"snapshot", "views", "compared", "findings"}.`},
}

func knownAction(name string) bool {
	return slices.ContainsFunc(actionTypes, func(t *flight.ActionType) bool { return t.Type == name })
}

// ListActions names every action.
func (f *front) ListActions(_ *flight.Empty, stream flight.FlightService_ListActionsServer) error {
	for _, t := range actionTypes {
		if err := stream.Send(t); err != nil {
			return err
		}
	}
	return nil
}

func jobOfBody(body []byte) (string, error) {
	var req struct {
		Job string `json:"job"`
	}
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&req); err != nil || req.Job == "" {
		return "", fault.InvalidParameter.Newf(`the body must be {"job": "id"}`)
	}
	return req.Job, nil
}

func answer(v any, stream flight.FlightService_DoActionServer) error {
	raw, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return stream.Send(&flight.Result{Body: raw})
}

func (hs *handles) actCancel(body []byte, stream flight.FlightService_DoActionServer) error {
	id, err := jobOfBody(body)
	if err != nil {
		return err
	}
	ctx := stream.Context()
	var status flight.CancelStatus
	if plausibleHandle(id) {
		status, err = hs.cancelByID(ctx, id)
	} else {
		p, _ := auth.FromContext(ctx)
		status, err = hs.cancelJob(ctx, p, id)
	}
	if err != nil {
		return err
	}
	state := job.Cancelling
	switch status {
	case flight.CancelStatusCancelled:
		state = job.Cancelled
	case flight.CancelStatusNotCancellable:
		return fault.JobNotCancellable.Newf("%s has ended", id)
	}
	return answer(handleState{Job: id, State: state}, stream)
}

// handleState is the answer to a cancellation.
type handleState struct {
	Job   string    `json:"job"`
	State job.State `json:"state"`
}

func (hs *handles) actStatus(body []byte, stream flight.FlightService_DoActionServer) error {
	id, err := jobOfBody(body)
	if err != nil {
		return err
	}
	m, err := hs.statusOf(stream.Context(), id)
	if err != nil {
		return err
	}
	return answer(m, stream)
}

// statusOf describes a handle, or a job that may have none.
func (hs *handles) statusOf(ctx context.Context, id string) (handleMetadata, error) {
	p, _ := auth.FromContext(ctx)
	clean := hs.svc.hidden.cleaner(p)
	if plausibleHandle(id) {
		h, err := hs.get(ctx, id)
		if err != nil {
			return handleMetadata{}, err
		}
		now, _ := h.state()
		return h.describe(now, clean), nil
	}
	j, err := hs.svc.engine.JobByID(ctx, callerOf(p), id)
	if err != nil {
		return handleMetadata{}, err
	}
	h := newHandle("", j.Principal, j.SubmittedAt)
	h.job, h.kind = j.ID, string(j.Kind)
	h.observe(j, 0)
	now, _ := h.state()
	return h.describe(now, clean), nil
}

// actCheck verifies the lake. Its work ends with the call.
func (hs *handles) actCheck(_ []byte, stream flight.FlightService_DoActionServer) error {
	ctx := stream.Context()
	if p, _ := auth.FromContext(ctx); !p.Admin {
		return fault.PermissionDenied.Newf("%s is for administrators", checkAction)
	}
	if hs.svc.config.Check == nil {
		return fault.NotYetSupported.Newf("this server offers no check")
	}
	report, err := hs.svc.config.Check(ctx)
	if err != nil {
		return err
	}
	return answer(report, stream)
}
