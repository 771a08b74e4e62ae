package flightsql

import (
	"context"
	"sync/atomic"

	"google.golang.org/grpc/stats"
)

// connection is one gRPC connection. A client that keeps no cookies has its
// session for as long as its connection lives.
type connection struct{ id uint64 }

type connectionKey struct{}

func connectionOf(ctx context.Context) (connection, bool) {
	c, ok := ctx.Value(connectionKey{}).(connection)
	return c, ok
}

// connections is the gRPC stats handler that tells connections apart and tells
// the sessions when one of them ends. Calls inherit their connection's context.
type connections struct {
	last  atomic.Uint64
	ended func(connection)
}

// ConnectionStats is to be given to every gRPC server that serves the Service.
func (s *Service) ConnectionStats() stats.Handler { return s.connections }

// TagConn numbers a new connection.
func (c *connections) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context {
	return context.WithValue(ctx, connectionKey{}, connection{id: c.last.Add(1)})
}

// HandleConn ends the sessions of a connection with it.
func (c *connections) HandleConn(ctx context.Context, event stats.ConnStats) {
	if _, end := event.(*stats.ConnEnd); !end {
		return
	}
	if conn, ok := connectionOf(ctx); ok {
		c.ended(conn)
	}
}

// TagRPC leaves calls as they are.
func (c *connections) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context { return ctx }

// HandleRPC counts nothing; calls are observed where they are understood.
func (c *connections) HandleRPC(context.Context, stats.RPCStats) {}
