package flightsql

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"log/slog"
	"strconv"
	"strings"
	"syscall"
	"unicode/utf8"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/flightsql/auth"
)

const (
	errorDomain  = "vega-flight"     // google.rpc.ErrorInfo.domain
	errorTrailer = "vega-error-code" // the trailer that repeats the stable name
)

// grpcCodes maps what sort of thing went wrong to the status a client sees.
var grpcCodes = map[fault.Kind]codes.Code{
	fault.Internal:        codes.Internal,
	fault.Invalid:         codes.InvalidArgument,
	fault.NotFound:        codes.NotFound,
	fault.Exists:          codes.AlreadyExists,
	fault.Denied:          codes.PermissionDenied,
	fault.Unauthenticated: codes.Unauthenticated,
	fault.Precondition:    codes.FailedPrecondition,
	fault.Conflict:        codes.Aborted,
	fault.Canceled:        codes.Canceled,
	fault.Deadline:        codes.DeadlineExceeded,
	fault.Exhausted:       codes.ResourceExhausted,
	fault.Unavailable:     codes.Unavailable,
	fault.Unimplemented:   codes.Unimplemented,
}

// foreignNames gives a name to statuses that came without one: those of the Flight SQL library.
var foreignNames = map[codes.Code]*fault.Code{
	codes.InvalidArgument:    fault.InvalidParameter,
	codes.OutOfRange:         fault.InvalidParameter,
	codes.NotFound:           fault.ObjectNotFound,
	codes.AlreadyExists:      fault.ObjectExists,
	codes.PermissionDenied:   fault.PermissionDenied,
	codes.Unauthenticated:    fault.Unauthorized,
	codes.FailedPrecondition: fault.InvalidParameter,
	codes.Canceled:           fault.Cancelled,
	codes.DeadlineExceeded:   fault.TimedOut,
	codes.ResourceExhausted:  fault.QuotaExceeded,
	codes.Unimplemented:      fault.NotYetSupported,
}

// translator turns errors of the program into the statuses that leave it.
type translator struct {
	log    *slog.Logger
	hidden redactor
}

// classify finds the fault that err stands for. What nobody named is our own bug.
func classify(err error) *fault.Error {
	var f *fault.Error
	if errors.As(err, &f) {
		if named := *f; f.Code == fault.SQLError || f.Code == fault.InternalError {
			if better := classifyCause(f.Cause); better != nil && better.Code != fault.SQLError {
				named.Code = better.Code
			}
			return &named
		}
		return f
	}
	if f := classifyCause(err); f != nil {
		return f
	}
	if s, ok := status.FromError(err); ok && s.Code() != codes.Unknown {
		if code := foreignNames[s.Code()]; code != nil {
			return code.Newf("%s", s.Message())
		}
	}
	return fault.InternalError.Newf("%s", err)
}

// classifyCause recognises the errors of DuckDB, the operating system and contexts; nil for any other.
func classifyCause(err error) *fault.Error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, context.DeadlineExceeded):
		return fault.TimedOut.Newf("the time limit ran out")
	case errors.Is(err, context.Canceled):
		return fault.Cancelled.Newf("the statement was cancelled")
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT), errors.Is(err, syscall.EFBIG):
		return fault.DiskFull.Newf("%s", err)
	}
	return classifyDuckDB(err)
}

// errLogged marks an internal error whose details the log has already.
var errLogged = errors.New("logged")

// settle gives an error the form in which it may be kept and shown: it is
// named, and an internal one is in the log and says only under which id.
func (t *translator) settle(ctx context.Context, doing string, err error) *fault.Error {
	f := classify(err)
	if f.Code != fault.InternalError {
		return f
	}
	if errors.Is(f, errLogged) {
		return f
	}
	id := incident()
	t.log.ErrorContext(ctx, "internal error", "id", id, "doing", doing, "err", err)
	return fault.InternalError.Wrap(errLogged, "a fault of the server, logged as %s", id).WithHint("report it with this id")
}

// status is what a client sees of err. The caller in ctx decides how much of the host it may read in it.
func (t *translator) status(ctx context.Context, doing string, err error) *status.Status {
	if err == nil {
		return nil
	}
	f := t.settle(ctx, doing, err)
	message, hint := f.Message, f.Hint
	if f.Cause != nil && !errors.Is(f.Cause, errLogged) {
		message += ": " + f.Cause.Error()
	}
	caller, _ := auth.FromContext(ctx)
	message, hint = t.hidden.clean(message, caller.Admin), t.hidden.clean(hint, caller.Admin)
	text := f.Code.Name() + ": " + message
	if hint != "" {
		text += "; " + hint
	}
	info := &errdetails.ErrorInfo{Reason: f.Code.Name(), Domain: errorDomain, Metadata: map[string]string{}}
	if f.Position != fault.NoPosition {
		info.Metadata["position"] = strconv.Itoa(f.Position)
	}
	if hint != "" {
		info.Metadata["hint"] = fit(hint, maxMessageText/4)
	}
	s := status.New(grpcCodes[f.Code.Kind()], fit(text, maxMessageText))
	if detailed, err := s.WithDetails(info); err == nil {
		return detailed
	}
	return s
}

// incident is a name under which the log has what the client may not see.
func incident() string {
	var b [6]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

// maxMessageText keeps a status, which has the text twice, below the 8 KiB of
// headers that C++ clients accept.
const maxMessageText = 2 << 10

// fit shortens text so that its encoded form stays within limit bytes.
func fit(text string, limit int) string {
	size := 0
	for i, r := range text {
		switch {
		case r == utf8.RuneError, r < ' ', r > '~':
			size += 3 * utf8.RuneLen(r)
		default:
			size++
		}
		if size > limit {
			return strings.ToValidUTF8(text[:i], "") + " …"
		}
	}
	return strings.ToValidUTF8(text, "�")
}

// nameOf is the stable name in a status made by translator.status.
func nameOf(s *status.Status) string {
	for _, d := range s.Details() {
		if info, ok := d.(*errdetails.ErrorInfo); ok && info.Domain == errorDomain {
			return info.Reason
		}
	}
	name, _, _ := strings.Cut(s.Message(), ":")
	return name
}
