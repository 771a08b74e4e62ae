package plugin

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"

	pb "github.com/apache/arrow-go/v18/arrow/flight/gen/flight"
	"google.golang.org/grpc"
	"google.golang.org/grpc/stats"

	"github.com/vegadb/vega-flight/fault"
)

// late is Flight SQL whose edge comes when the lake is open, on a gRPC server that is there before.
type late struct{ edge atomic.Pointer[Edge] }

var flightMethods = "/" + pb.FlightService_ServiceDesc.ServiceName + "/"

func (l *late) current() (*Edge, error) {
	if e := l.edge.Load(); e != nil {
		return e, nil
	}
	return nil, statusOf(fault.NotConfigured.Newf("the sidecar has no lake yet").WithHint("the host calls Configure first"))
}

func (l *late) unary(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	if !strings.HasPrefix(info.FullMethod, flightMethods) {
		return handler(ctx, req)
	}
	e, err := l.current()
	if err != nil {
		return nil, err
	}
	return e.Unary(ctx, req, info, handler)
}

func (l *late) stream(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	if !strings.HasPrefix(info.FullMethod, flightMethods) {
		return handler(srv, ss)
	}
	e, err := l.current()
	if err != nil {
		return err
	}
	return e.Stream(srv, ss, info, handler)
}

// register adds the Flight service; each call goes to the edge that there is by then.
func (l *late) register(to grpc.ServiceRegistrar) {
	desc := pb.FlightService_ServiceDesc
	desc.HandlerType = (*any)(nil)
	desc.Methods = append([]grpc.MethodDesc(nil), desc.Methods...)
	for i, m := range desc.Methods {
		desc.Methods[i].Handler = func(_ any, ctx context.Context, decode func(any) error, intercept grpc.UnaryServerInterceptor) (any, error) {
			e, err := l.current()
			if err != nil {
				return nil, err
			}
			return m.Handler(e.Flight, ctx, decode, intercept)
		}
	}
	desc.Streams = append([]grpc.StreamDesc(nil), desc.Streams...)
	for i, s := range desc.Streams {
		desc.Streams[i].Handler = func(_ any, stream grpc.ServerStream) error {
			e, err := l.current()
			if err != nil {
				return err
			}
			return s.Handler(e.Flight, stream)
		}
	}
	to.RegisterService(&desc, l)
}

// connections tells the edge of connections, also of those that are older than it is.
type connections struct{ late *late }

// connection is one of them, with what the edge made of its context.
type connection struct {
	mu     sync.Mutex
	info   *stats.ConnTagInfo
	tagged context.Context // nil before the edge has seen it
}

type connectionKey struct{}

// TagConn remembers a connection.
func (c connections) TagConn(ctx context.Context, info *stats.ConnTagInfo) context.Context {
	return context.WithValue(ctx, connectionKey{}, &connection{info: info})
}

// TagRPC gives a call its connection as the edge knows it.
func (c connections) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context {
	conn, ok := ctx.Value(connectionKey{}).(*connection)
	e := c.late.edge.Load()
	if !ok || e == nil {
		return ctx
	}
	conn.mu.Lock()
	defer conn.mu.Unlock()
	if conn.tagged == nil {
		conn.tagged = e.Connections.TagConn(context.WithoutCancel(ctx), conn.info)
	}
	return both{ctx, conn.tagged}
}

// HandleConn tells the edge of the end of a connection that it knows.
func (c connections) HandleConn(ctx context.Context, event stats.ConnStats) {
	conn, ok := ctx.Value(connectionKey{}).(*connection)
	e := c.late.edge.Load()
	if !ok || e == nil {
		return
	}
	conn.mu.Lock()
	defer conn.mu.Unlock()
	if conn.tagged != nil {
		e.Connections.HandleConn(conn.tagged, event)
	}
}

// HandleRPC counts nothing.
func (connections) HandleRPC(context.Context, stats.RPCStats) {}

// both is a call's context with the values of its connection's.
type both struct {
	context.Context
	conn context.Context
}

// Value is the call's own, or the connection's.
func (b both) Value(key any) any {
	if v := b.Context.Value(key); v != nil {
		return v
	}
	return b.conn.Value(key)
}
