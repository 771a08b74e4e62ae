package plugin

import (
	"context"

	pb "github.com/apache/arrow-go/v18/arrow/flight/gen/flight"
	"google.golang.org/grpc"
	"google.golang.org/grpc/stats"
)

// Open opens a lake with the options that the host passed, which have the names of `vega-flight serve`, and begins to serve it.
// Its errors are fault errors; after one, nothing is left open.
type Open func(ctx context.Context, options map[string]string) (Service, error)

// Service is an open lake behind Flight SQL.
type Service interface {
	Edge() Edge
	About() About
	// Ended is closed when it serves no more, whoever ended it.
	Ended() <-chan struct{}
	// Close refuses new work, waits for what runs until ctx ends, or without a deadline as long as its options say, cuts off the rest, and
	// closes the lake. cut says that something was cut off.
	// It may be called again, and then tells the same; the error is also why the service ended by itself.
	Close(ctx context.Context) (cut bool, err error)
}

// Edge is what the calls of Flight SQL pass.
type Edge struct {
	Unary       grpc.UnaryServerInterceptor
	Stream      grpc.StreamServerInterceptor
	Connections stats.Handler // is told of connections only
	Flight      pb.FlightServiceServer
}

// About is what an open lake says of itself.
type About struct {
	Options  map[string]string // in force, without passwords
	ServerID string
	Address  string // where other clients are served; empty: nowhere
}
