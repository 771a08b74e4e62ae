package gate

import (
	"context"

	"github.com/vegadb/vega-flight/fault"
)

// Config says what the gate guards.
type Config struct {
	Lake string // the lake's catalog name; default "lake"
	// Vega is DDL for the server's own tables, run once in the shadow's catalog "vega" (unqualified names).
	Vega []string
}

// Gate is the shadow of one lake.
type Gate struct {
	config Config
}

// New opens the shadow, empty until the first Sync.
func New(ctx context.Context, c Config) (*Gate, error) {
	if c.Lake == "" {
		c.Lake = "lake"
	}
	return &Gate{config: c}, nil
}

// Sync brings the shadow to the lake's newest schema version. It is cheap when nothing moved.
func (g *Gate) Sync(ctx context.Context, lake Lake) error {
	return fault.NotYetSupported.Newf("sync")
}

// NewSession makes a shadow session: a connection of its own, so that temporary objects are mirrored.
func (g *Gate) NewSession() (*Session, error) {
	return nil, fault.NotYetSupported.Newf("session")
}

// Template cuts a bound query's text where the versions of its lake tables go.
func (g *Gate) Template(ctx context.Context, sql string) (Template, error) {
	return Template{}, fault.NotYetSupported.Newf("template")
}

// Close ends the shadow.
func (g *Gate) Close() error { return nil }
