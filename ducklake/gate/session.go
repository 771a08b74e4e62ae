package gate

import (
	"context"

	"github.com/vegadb/vega-flight/fault"
)

// Env is the part of a session's settings that decides what a text means.
type Env struct {
	Catalog, Schema string
	TimeZone        string
	Admin           bool
}

// Session analyses the statements of one SQL session. It may be used from several goroutines; they take turns.
type Session struct{}

type tempChange struct{}

// Analyze admits a text of exactly one statement or says why not.
func (s *Session) Analyze(ctx context.Context, sql string, env Env) (*Analysis, error) {
	return nil, fault.NotYetSupported.Newf("analyze")
}

// Applied tells that a's temporary DDL succeeded, so that the shadow follows.
func (s *Session) Applied(ctx context.Context, a *Analysis) error { return nil }

// Bind makes a view's query independent of its session.
func (s *Session) Bind(ctx context.Context, query string, env Env) (*Bound, error) {
	return nil, fault.NotYetSupported.Newf("bind")
}

// Close ends the session's shadow connection.
func (s *Session) Close() error { return nil }
