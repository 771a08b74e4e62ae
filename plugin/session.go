package plugin

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"google.golang.org/grpc"
)

// session is a connection that many share, with the cookies of one of them.
type session struct {
	conn    *grpc.ClientConn
	cookies flight.ClientMiddleware
}

func newSession(conn *grpc.ClientConn) *flightsql.Client {
	s := &session{conn: conn, cookies: flight.NewClientCookieMiddleware()}
	return &flightsql.Client{Client: flight.NewClientFromConn(s, nil), Alloc: memory.DefaultAllocator}
}

// Invoke makes a call of one answer.
func (s *session) Invoke(ctx context.Context, method string, request, reply any, opts ...grpc.CallOption) error {
	return s.cookies.Unary(ctx, method, request, reply, s.conn, invoke, opts...)
}

func invoke(ctx context.Context, method string, request, reply any, conn *grpc.ClientConn, opts ...grpc.CallOption) error {
	return conn.Invoke(ctx, method, request, reply, opts...)
}

// NewStream makes a call of many answers.
func (s *session) NewStream(ctx context.Context, desc *grpc.StreamDesc, method string, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	return s.cookies.Stream(ctx, desc, s.conn, method, stream, opts...)
}

func stream(ctx context.Context, desc *grpc.StreamDesc, conn *grpc.ClientConn, method string, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	return conn.NewStream(ctx, desc, method, opts...)
}
