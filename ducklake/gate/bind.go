package gate

import (
	"context"

	"github.com/vegadb/vega-flight/fault"
)

// Bind makes a view's query independent of its session.
func (s *Session) Bind(ctx context.Context, query string, env Env) (*Bound, error) {
	return nil, fault.NotYetSupported.Newf("bind")
}

// Template cuts a bound query's text where the versions of its lake tables go.
func (g *Gate) Template(ctx context.Context, sql string) (Template, error) {
	return Template{}, fault.NotYetSupported.Newf("template")
}
