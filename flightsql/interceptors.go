package flightsql

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"runtime/debug"
	"slices"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"

	"github.com/vegadb/vega-flight/flightsql/auth"
)

const (
	authorizationHeader = "authorization"
	apiKeyHeader        = "x-api-key"
	legacyTokenHeader   = "auth-token-bin" // what a handshake with a payload is answered by

	handshakeMethod  = "/arrow.flight.protocol.FlightService/Handshake"
	healthService    = "/grpc.health.v1.Health/"
	reflectionPrefix = "/grpc.reflection."
)

// edge is what every call passes, whatever its method: a panic in it becomes
// an error, its caller is found, and its error becomes a status.
type edge struct {
	auth   auth.Authenticator
	errors translator
	public []string // prefixes of methods that need no caller
	log    *slog.Logger
}

// around runs one call.
func (e *edge) around(ctx context.Context, method string, transport grpcTransport, call func(context.Context) error) error {
	caller := ctx
	err := func() (err error) {
		defer func() {
			if p := recover(); p != nil {
				e.log.ErrorContext(ctx, "panic", "method", method, "panic", p, "stack", string(debug.Stack()))
				err = fmt.Errorf("panic: %v", p)
			}
		}()
		if !e.isPublic(method) {
			grant, err := e.auth.Check(ctx, credentialsOf(ctx))
			if err != nil {
				return err
			}
			if grant.Token != "" {
				_ = transport.SetHeader(metadata.Pairs(authorizationHeader, "Bearer "+grant.Token))
			}
			caller = auth.NewContext(ctx, grant.Principal)
		}
		return call(caller)
	}()
	if err == nil {
		return nil
	}
	s := e.errors.status(caller, method, err)
	_ = transport.SetTrailer(metadata.Pairs(errorTrailer, nameOf(s)))
	return s.Err()
}

func (e *edge) isPublic(method string) bool {
	return method == handshakeMethod ||
		slices.ContainsFunc(e.public, func(prefix string) bool { return strings.HasPrefix(method, prefix) })
}

func (e *edge) unary(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (resp any, err error) {
	err = e.around(ctx, info.FullMethod, unaryTransport{ctx}, func(ctx context.Context) (err error) {
		resp, err = handler(ctx, req)
		return err
	})
	if err != nil {
		return nil, err
	}
	return resp, nil
}

func (e *edge) stream(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	return e.around(ss.Context(), info.FullMethod, streamTransport{ss}, func(ctx context.Context) error {
		return handler(srv, &streamOf{ss, ctx})
	})
}

// streamOf is a stream whose context knows the caller.
type streamOf struct {
	grpc.ServerStream
	ctx context.Context
}

// Context is the stream's, with the caller.
func (s *streamOf) Context() context.Context { return s.ctx }

// grpcTransport sets headers and trailers of either sort of call.
type grpcTransport interface {
	SetHeader(metadata.MD) error
	SetTrailer(metadata.MD) error
}

type unaryTransport struct{ ctx context.Context }

func (t unaryTransport) SetHeader(md metadata.MD) error  { return grpc.SetHeader(t.ctx, md) }
func (t unaryTransport) SetTrailer(md metadata.MD) error { return grpc.SetTrailer(t.ctx, md) }

type streamTransport struct{ grpc.ServerStream }

func (t streamTransport) SetTrailer(md metadata.MD) error {
	t.ServerStream.SetTrailer(md)
	return nil
}

// credentialsOf reads the headers of a call. Two different values of one header count as a wrong one.
func credentialsOf(ctx context.Context) auth.Credentials {
	md, _ := metadata.FromIncomingContext(ctx)
	one := func(key string) string {
		values := slices.Compact(slices.Clone(md.Get(key)))
		if len(values) > 1 {
			return "several " + key + " headers"
		}
		if len(values) == 0 {
			return ""
		}
		return values[0]
	}
	c := auth.Credentials{Authorization: one(authorizationHeader), APIKey: one(apiKeyHeader), Remote: remoteHost(ctx)}
	if legacy := one(legacyTokenHeader); legacy != "" && c.Authorization == "" {
		c.Authorization = "Bearer " + legacy
	}
	return c
}

func remoteHost(ctx context.Context) string {
	p, ok := peer.FromContext(ctx)
	if !ok || p.Addr == nil {
		return ""
	}
	host, _, err := net.SplitHostPort(p.Addr.String())
	if err != nil {
		return p.Addr.Network()
	}
	return host
}
