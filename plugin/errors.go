package plugin

import (
	"errors"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/vegadb/vega-flight/fault"
)

const (
	errorDomain  = "vega-flight" // google.rpc.ErrorInfo.domain, as in Flight SQL's answers
	errorHint    = "hint"
	errorMessage = "message" // without name and hint
)

// statusOf is an error as it crosses the control service.
func statusOf(err error) error {
	var f *fault.Error
	if !errors.As(err, &f) {
		f = fault.InternalError.Wrap(err, "unexpected failure")
	}
	code := codes.FailedPrecondition
	switch f.Code.Kind() {
	case fault.Unavailable:
		code = codes.Unavailable
	case fault.Invalid:
		code = codes.InvalidArgument
	case fault.Internal:
		code = codes.Internal
	case fault.Canceled:
		code = codes.Canceled
	case fault.Deadline:
		code = codes.DeadlineExceeded
	default:
	}
	message := f.Message
	if f.Cause != nil {
		message += ": " + f.Cause.Error()
	}
	s, err := status.New(code, f.Error()).WithDetails(&errdetails.ErrorInfo{
		Reason: f.Code.Name(), Domain: errorDomain, Metadata: map[string]string{errorHint: f.Hint, errorMessage: message},
	})
	if err != nil {
		return status.Error(code, f.Error())
	}
	return s.Err()
}

// faultOf is the error behind a status of the control service, with its stable name.
func faultOf(err error) error {
	s, ok := status.FromError(err)
	if !ok {
		return err
	}
	for _, d := range s.Details() {
		info, ok := d.(*errdetails.ErrorInfo)
		if !ok || info.GetDomain() != errorDomain {
			continue
		}
		if code := fault.Lookup(info.GetReason()); code != nil {
			return code.Newf("%s", info.GetMetadata()[errorMessage]).WithHint("%s", info.GetMetadata()[errorHint])
		}
	}
	if s.Code() == codes.Canceled {
		return fault.Cancelled.Wrap(err, "the call to the sidecar")
	}
	return fault.SidecarGone.Wrap(err, "the call to the sidecar").WithHint("a Supervisor starts it again")
}
