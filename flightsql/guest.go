package flightsql

import (
	"context"

	"google.golang.org/grpc"

	"github.com/vegadb/vega-flight/fault"
)

// Calls that come over a gRPC server of somebody else pass Unary and Stream. That server goes on when this one ends, so what runs is cut off here.

// Unary passes a call of one answer through what every call passes.
func (s *Server) Unary(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	defer context.AfterFunc(s.forced, stop)()
	return s.edge.unary(ctx, req, info, handler)
}

// Stream passes a call of many answers through what every call passes.
func (s *Server) Stream(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	ctx, stop := context.WithCancel(ss.Context())
	defer stop()
	ended := make(chan error, 1)
	go s.passStream(srv, &streamOf{ss, ctx}, info, handler, ended)
	select {
	case err := <-ended:
		return err
	case <-s.forced.Done():
		// It may wait for a client that reads nothing. Once this has returned, gRPC ends the stream, and with it that wait.
		cut := fault.Draining.Newf("the server is shutting down and could not wait any longer")
		return s.edge.errors.status(ctx, info.FullMethod, cut).Err()
	}
}

func (s *Server) passStream(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler, ended chan<- error) {
	ended <- s.edge.stream(srv, ss, info, handler)
}
