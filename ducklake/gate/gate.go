package gate

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/vegadb/vega-flight/ducklake/duck"
	"github.com/vegadb/vega-flight/fault"
)

// Config says what the gate guards.
type Config struct {
	Lake string // the lake's catalog name; default "lake"
	// Vega is DDL for the server's own tables, run once in the shadow's catalog "vega" (unqualified names).
	Vega []string
}

// Gate is the shadow of one lake. It is safe for concurrent use.
type Gate struct {
	config    Config
	patience  time.Duration
	functions map[string]stability // every function of the build, lower case

	syncing sync.Mutex // one Sync at a time

	mu      sync.Mutex
	current *instance
	retired int // instances that are still used and are not the current one
}

// stability is DuckDB's word for how often a function's value may change.
type stability string

const (
	stable      stability = "CONSISTENT"
	withinQuery stability = "CONSISTENT_WITHIN_QUERY"
	volatileFn  stability = "VOLATILE"
)

// New opens the shadow, empty until the first Sync.
func New(ctx context.Context, c Config) (*Gate, error) {
	if c.Lake == "" {
		c.Lake = "lake"
	}
	in, err := openInstance(ctx, c)
	if err != nil {
		return nil, err
	}
	g := &Gate{config: c, patience: patience, current: in}
	if g.functions, err = readFunctions(ctx, in.admin); err != nil {
		return nil, errors.Join(err, g.Close())
	}
	in.mirror = newMirror(c.Lake, g.functions)
	return g, nil
}

// readFunctions lists the build's functions. Of overloads the least stable counts.
func readFunctions(ctx context.Context, conn *duck.Conn) (map[string]stability, error) {
	rows, err := conn.Rows(ctx, `SELECT lower(function_name), coalesce(max(CASE stability WHEN 'VOLATILE' THEN 3
		WHEN 'CONSISTENT_WITHIN_QUERY' THEN 2 END), 1)::INTEGER FROM duckdb_functions() WHERE database_name = 'system' GROUP BY ALL`)
	if err != nil {
		return nil, fault.InternalError.Wrap(err, "listing the functions")
	}
	m := map[string]stability{}
	for _, r := range rows {
		m[r[0].(string)] = []stability{stable, withinQuery, volatileFn}[r[1].(int64)-1]
	}
	return m, nil
}

// NewSession makes a shadow session: a connection of its own, so that temporary objects are mirrored.
func (g *Gate) NewSession() (*Session, error) {
	in := g.join()
	conn, err := in.db.Connect()
	if err != nil {
		return nil, errors.Join(fault.InternalError.Wrap(err, "opening a shadow session"), g.part(in))
	}
	return &Session{gate: g, inst: in, conn: conn}, nil
}

// Poisoned gives the error after which the shadow's DuckDB refuses all further work, or nil.
func (g *Gate) Poisoned() error { return g.now().db.Poisoned() }

// Close ends the shadow. Sessions must be closed before.
func (g *Gate) Close() error {
	return g.now().close()
}
