package flightsql

import (
	"context"
	"maps"
	"net/http"
	"slices"

	"github.com/apache/arrow-go/v18/arrow/flight"
	pb "github.com/apache/arrow-go/v18/arrow/flight/gen/flight"

	"github.com/vegadb/vega-flight/fault"
)

// SetSessionOptions sets what it can; each option that it cannot is named with
// the reason's class in the answer.
func (s *Service) SetSessionOptions(ctx context.Context, req *flight.SetSessionOptionsRequest) (*flight.SetSessionOptionsResult, error) {
	sess, err := s.session(ctx)
	if err != nil {
		return nil, err
	}
	defer sess.done()
	errs := map[string]*flight.SetSessionOptionsResultError{}
	options := req.GetSessionOptions()
	for _, name := range slices.Sorted(maps.Keys(options)) { // "catalog" before "schema"
		if err := sess.set(ctx, name, optionValue(options[name])); err != nil {
			s.log.Debug("session option refused", "session", sess.label(), "option", name, "error", err)
			errs[name] = &flight.SetSessionOptionsResultError{Value: optionError(err)}
		}
	}
	return &flight.SetSessionOptionsResult{Errors: errs}, nil
}

// optionError is the protocol's class of a refusal.
func optionError(err error) pb.SetSessionOptionsResult_ErrorValue {
	switch fault.CodeOf(err) {
	case fault.UnknownOption, fault.ReservedName:
		return flight.SetSessionOptionsResultErrorInvalidName
	case fault.InvalidOption, fault.ObjectNotFound, fault.InvalidParameter:
		return flight.SetSessionOptionsResultErrorInvalidValue
	}
	return flight.SetSessionOptionsResultErrorError
}

// optionValue is an option's value as Go knows it; nil resets the option.
func optionValue(v *flight.SessionOptionValue) any {
	switch v := v.GetOptionValue().(type) {
	case *pb.SessionOptionValue_StringValue:
		return v.StringValue
	case *pb.SessionOptionValue_BoolValue:
		return v.BoolValue
	case *pb.SessionOptionValue_Int64Value:
		return v.Int64Value
	case *pb.SessionOptionValue_DoubleValue:
		return v.DoubleValue
	case *pb.SessionOptionValue_StringListValue_:
		return v.StringListValue.GetValues()
	}
	return nil
}

// GetSessionOptions gives all options of the session.
func (s *Service) GetSessionOptions(ctx context.Context, _ *flight.GetSessionOptionsRequest) (*flight.GetSessionOptionsResult, error) {
	sess, err := s.session(ctx)
	if err != nil {
		return nil, err
	}
	defer sess.done()
	values, err := flight.NewSessionOptionValues(sess.lake.Options())
	if err != nil {
		return nil, err
	}
	return &flight.GetSessionOptionsResult{SessionOptions: values}, nil
}

// CloseSession ends the session: its work is stopped, its transaction rolled
// back, its temporary objects dropped. Closing what is not there is no error.
func (s *Service) CloseSession(ctx context.Context, _ *flight.CloseSessionRequest) (*flight.CloseSessionResult, error) {
	closed := &flight.CloseSessionResult{Status: flight.CloseSessionResultClosed}
	if sessionCookie(ctx) != "" {
		setCookie(ctx, &http.Cookie{Name: cookieName, MaxAge: -1})
	}
	sess := s.existing(ctx)
	if sess == nil {
		return closed, nil
	}
	s.end(sess)
	sess.done()
	select {
	case <-sess.gone:
	case <-ctx.Done():
		closed.Status = flight.CloseSessionResultClosing
	}
	return closed, nil
}
