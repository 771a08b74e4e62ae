package flightsql

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	reflectionpb "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/flightsql/auth"
)

// hollow is a service without a lake: what these tests are about comes before it.
func hollow() *Service {
	s := &Service{log: quietLog(), connections: &connections{ended: func(connection) {}}}
	s.Alloc = memory.DefaultAllocator
	s.handles = &handles{byID: map[string]*handle{}, letting: make(chan struct{}), quieted: make(chan struct{})}
	return s
}

// hooks is a router whose calls do what a test wants.
type hooks struct {
	flight.BaseFlightServer
	info   func(context.Context) error
	action func(flight.FlightService_DoActionServer) error
}

func (h *hooks) GetFlightInfo(ctx context.Context, _ *flight.FlightDescriptor) (*flight.FlightInfo, error) {
	return &flight.FlightInfo{}, h.info(ctx)
}

func (h *hooks) DoAction(_ *flight.Action, stream flight.FlightService_DoActionServer) error {
	return h.action(stream)
}

// served is a server that runs until the test ends.
type served struct {
	*Server
	address string
	end     context.CancelFunc
	done    chan error
}

func serve(t *testing.T, cfg ServerConfig) *served {
	t.Helper()
	return serveOn(t, cfg, "127.0.0.1:0")
}

func serveOn(t *testing.T, cfg ServerConfig, address string) *served {
	t.Helper()
	if cfg.Log == nil {
		cfg.Log = quietLog()
	}
	l, err := Listen(context.Background(), address)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	s := &served{Server: NewServer(hollow(), cfg), address: l.Addr().String(), end: cancel, done: make(chan error, 1)}
	if l.Addr().Network() == "unix" {
		s.address = "unix://" + s.address
	}
	var wg sync.WaitGroup
	wg.Go(func() { s.done <- s.Serve(ctx, l) })
	t.Cleanup(func() {
		cancel()
		s.Stop()
		wg.Wait()
	})
	return s
}

func (s *served) dial(t *testing.T, opts ...grpc.DialOption) *grpc.ClientConn {
	t.Helper()
	if s.cfg.TLS == nil {
		opts = append(opts, grpc.WithTransportCredentials(insecure.NewCredentials()))
	}
	c, err := grpc.NewClient(s.address, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func (s *served) client(t *testing.T) flight.FlightServiceClient {
	return flight.NewFlightServiceClient(s.dial(t))
}

func named(t *testing.T, err error, code *fault.Code) {
	t.Helper()
	s, _ := status.FromError(err)
	if s.Code() != grpcCodes[code.Kind()] || nameOf(s) != code.Name() {
		t.Fatalf("the call ended with %v, want %s", err, code.Name())
	}
}

var anyDescriptor = &flight.FlightDescriptor{Type: flight.DescriptorCMD, Cmd: []byte("x")}

func TestPanicsBecomeErrors(t *testing.T) {
	var log bytes.Buffer
	s := serve(t, ServerConfig{Log: slog.New(slog.NewTextHandler(&log, nil)), Router: &hooks{
		info:   func(context.Context) error { panic("unary") },
		action: func(flight.FlightService_DoActionServer) error { var p *int; *p = 1; return nil },
	}})
	c := s.client(t)
	for range 3 {
		var trailer metadata.MD
		_, err := c.GetFlightInfo(t.Context(), anyDescriptor, grpc.Trailer(&trailer))
		named(t, err, fault.InternalError)
		if got := trailer.Get("vega-error-code"); len(got) != 1 || got[0] != "INTERNAL_ERROR" {
			t.Fatalf("the trailer is %v", trailer)
		}
		if strings.Contains(err.Error(), "unary") {
			t.Fatalf("the client sees the inside: %v", err)
		}
		stream, err := c.DoAction(t.Context(), &flight.Action{Type: flight.CloseSessionActionType})
		if err != nil {
			t.Fatal(err)
		}
		_, err = stream.Recv()
		named(t, err, fault.InternalError)
		if got := stream.Trailer().Get("vega-error-code"); len(got) != 1 {
			t.Fatalf("the trailer is %v", stream.Trailer())
		}
	}
	s.end()
	<-s.done
	if !strings.Contains(log.String(), "unary") || !strings.Contains(log.String(), "server_test.go") {
		t.Fatalf("the log lacks the panic or its stack: %s", log.String())
	}
}

// TestGarbageCannotEndTheProcess sends raw frames to the library's own router.
func TestGarbageCannotEndTheProcess(t *testing.T) {
	s := serve(t, ServerConfig{Router: router{flightsql.NewFlightServer(&flightsql.BaseServer{})}})
	c := s.client(t)
	put := func(frames ...*flight.FlightData) error {
		stream, err := c.DoPut(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range frames {
			if stream.Send(f) != nil {
				break
			}
		}
		_ = stream.CloseSend()
		for {
			if _, err := stream.Recv(); err != nil {
				return err
			}
		}
	}
	named(t, put(), fault.InvalidParameter)
	named(t, put(&flight.FlightData{}), fault.InvalidParameter)
	named(t, put(&flight.FlightData{DataHeader: []byte("x"), DataBody: []byte("y")}), fault.InvalidParameter)
	named(t, put(&flight.FlightData{FlightDescriptor: anyDescriptor}), fault.InvalidParameter)
	ingest, err := proto.Marshal(mustAny(t))
	if err != nil {
		t.Fatal(err)
	}
	var schema bytes.Buffer
	w := ipc.NewWriter(&schema, ipc.WithSchema(numbers))
	_ = w.Close()
	r := rand.New(rand.NewPCG(1, 2))
	noise := func(n int) []byte {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		return b
	}
	mutated := func() []byte {
		b := bytes.Clone(schema.Bytes()[8:])
		for range 1 + r.IntN(4) {
			b[r.IntN(len(b))] = byte(r.Uint32())
		}
		return b
	}
	for i := range 300 {
		head := &flight.FlightData{FlightDescriptor: &flight.FlightDescriptor{Type: flight.DescriptorCMD, Cmd: ingest}}
		if i%3 == 0 {
			head.FlightDescriptor.Cmd = noise(r.IntN(40))
		}
		switch i % 2 {
		case 0:
			head.DataHeader = mutated()
		case 1:
			head.DataHeader = noise(r.IntN(200))
		}
		if err := put(head, &flight.FlightData{DataHeader: mutated(), DataBody: noise(r.IntN(100))}, &flight.FlightData{DataBody: noise(9)}); errors.Is(err, io.EOF) && i%3 == 0 {
			t.Fatalf("noise was accepted")
		}
		get, err := c.DoGet(t.Context(), &flight.Ticket{Ticket: noise(r.IntN(60))})
		if err == nil {
			_, err = get.Recv()
		}
		if code := status.Code(err); code == codes.OK || code == codes.Unavailable {
			t.Fatalf("a noisy ticket gave %v", err)
		}
		if _, err := c.PollFlightInfo(t.Context(), &flight.FlightDescriptor{Type: flight.DescriptorCMD, Cmd: noise(r.IntN(60))}); status.Code(err) == codes.Unavailable {
			t.Fatalf("a noisy descriptor gave %v", err)
		}
		act, err := c.DoAction(t.Context(), &flight.Action{Type: actionTypes[i%len(actionTypes)].Type, Body: noise(r.IntN(60))})
		if err == nil {
			_, err = act.Recv()
		}
		if status.Code(err) == codes.Unavailable {
			t.Fatalf("a noisy action gave %v", err)
		}
	}
	if _, err := healthpb.NewHealthClient(s.dial(t)).Check(t.Context(), &healthpb.HealthCheckRequest{}); err != nil {
		t.Fatal(err)
	}
}

func mustAny(t *testing.T) proto.Message {
	t.Helper()
	a, err := flightsql.CreateStatementQueryTicket([]byte("x"))
	if err != nil {
		t.Fatal(err)
	}
	var m anypb.Any
	if err := proto.Unmarshal(a, &m); err != nil {
		t.Fatal(err)
	}
	m.TypeUrl = "type.googleapis.com/arrow.flight.protocol.sql.CommandStatementIngest"
	m.Value = nil
	return &m
}

func users(t *testing.T) *auth.Users {
	t.Helper()
	hash := func(p string) string {
		h, err := auth.HashPassword(p)
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	path := filepath.Join(t.TempDir(), "users.yaml")
	text := "users:\n  alice: {password: \"" + hash("secret") + "\", admin: true}\n  robot: {api_keys: [{hash: \"" + auth.HashAPIKey("k1") + "\"}]}\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	u, err := auth.OpenUsers(auth.UsersConfig{Path: path, Log: quietLog()})
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func TestCredentialsOverTheWire(t *testing.T) {
	var who auth.Principal
	s := serve(t, ServerConfig{Auth: users(t), Reflection: true, Router: &hooks{info: func(ctx context.Context) error {
		who, _ = auth.FromContext(ctx)
		return nil
	}}})
	conn := s.dial(t)
	c := flight.NewFlightServiceClient(conn)
	call := func(pairs ...string) error {
		who = auth.Principal{}
		_, err := c.GetFlightInfo(metadata.AppendToOutgoingContext(t.Context(), pairs...), anyDescriptor)
		return err
	}
	named(t, call(), fault.Unauthorized)
	named(t, call("authorization", "Bearer x"), fault.Unauthorized)
	named(t, call("x-api-key", "k2"), fault.Unauthorized)
	named(t, call("x-api-key", "k1", "authorization", "Bearer k1"), fault.Unauthorized)
	named(t, call("x-api-key", "k1", "x-api-key", "k2"), fault.Unauthorized)
	if err := call("x-api-key", "k1"); err != nil || who.Name != "robot" {
		t.Fatalf("%v %v", who, err)
	}
	if err := call("authorization", "Bearer k1"); err != nil || who.Name != "robot" {
		t.Fatalf("%v %v", who, err)
	}

	// The handshake gives the token as header and as trailer.
	shake, err := c.Handshake(metadata.AppendToOutgoingContext(t.Context(), "authorization", auth.BasicHeader("alice", "secret")))
	if err != nil {
		t.Fatal(err)
	}
	_ = shake.CloseSend()
	header, err := shake.Header()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := shake.Recv(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	token := header.Get("authorization")
	if len(token) != 1 || !strings.HasPrefix(token[0], "Bearer ") || shake.Trailer().Get("authorization")[0] != token[0] {
		t.Fatalf("header %v, trailer %v", header, shake.Trailer())
	}
	if err := call("authorization", token[0]); err != nil || !who.Admin || who.Name != "alice" {
		t.Fatalf("%v %v", who, err)
	}
	named(t, call("authorization", token[0], "x-api-key", "k1"), fault.Unauthorized)

	// arrow-go's client helper, and basic credentials on an ordinary call.
	fc := flight.NewClientFromConn(conn, nil)
	ctx, err := fc.AuthenticateBasicToken(t.Context(), "alice", "secret")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fc.GetFlightInfo(ctx, anyDescriptor); err != nil || who.Name != "alice" {
		t.Fatalf("%v %v", who, err)
	}
	var got metadata.MD
	if _, err := c.GetFlightInfo(metadata.AppendToOutgoingContext(t.Context(), "authorization", auth.BasicHeader("alice", "secret")), anyDescriptor, grpc.Header(&got)); err != nil || len(got.Get("authorization")) != 1 {
		t.Fatalf("%v %v", got, err)
	}

	// The older handshake has the credentials in its payload, and sends the token as auth-token-bin.
	old, err := c.Handshake(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	payload, _ := proto.Marshal(&flight.BasicAuth{Username: "alice", Password: "secret"})
	if err := old.Send(&flight.HandshakeRequest{Payload: payload}); err != nil {
		t.Fatal(err)
	}
	reply, err := old.Recv()
	if err != nil {
		t.Fatal(err)
	}
	if err := call("auth-token-bin", string(reply.Payload)); err != nil || who.Name != "alice" {
		t.Fatalf("%v %v", who, err)
	}
	for _, pairs := range [][]string{nil, {"authorization", auth.BasicHeader("alice", "wrong")}, {"authorization", "Basic !"}} {
		bad, err := c.Handshake(metadata.AppendToOutgoingContext(t.Context(), pairs...))
		if err != nil {
			t.Fatal(err)
		}
		_ = bad.CloseSend()
		_, err = bad.Recv()
		named(t, err, fault.Unauthorized)
	}

	// Health and reflection ask for nobody.
	if _, err := healthpb.NewHealthClient(conn).Check(t.Context(), &healthpb.HealthCheckRequest{Service: "arrow.flight.protocol.FlightService"}); err != nil {
		t.Fatal(err)
	}
	refl, err := reflectionpb.NewServerReflectionClient(conn).ServerReflectionInfo(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := refl.Send(&reflectionpb.ServerReflectionRequest{MessageRequest: &reflectionpb.ServerReflectionRequest_ListServices{}}); err != nil {
		t.Fatal(err)
	}
	if _, err := refl.Recv(); err != nil {
		t.Fatal(err)
	}
}

func TestHealthMayBeClosed(t *testing.T) {
	s := serve(t, ServerConfig{Auth: users(t), ClosedHealth: true, Router: &hooks{}})
	_, err := healthpb.NewHealthClient(s.dial(t)).Check(t.Context(), &healthpb.HealthCheckRequest{})
	named(t, err, fault.Unauthorized)
}

func TestListeners(t *testing.T) {
	l, err := Listen(context.Background(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Listen(context.Background(), l.Addr().String()); fault.CodeOf(err) != fault.PortTaken {
		t.Fatalf("a taken port: %v", err)
	}
	_ = l.Close()
	wide, err := Listen(context.Background(), "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := NewServer(hollow(), ServerConfig{Log: quietLog(), Router: &hooks{}}).Serve(context.Background(), wide); fault.CodeOf(err) != fault.InsecureListener {
		t.Fatalf("everybody was let in from everywhere: %v", err)
	}
	if _, err := net.Dial("tcp", wide.Addr().String()); err == nil {
		t.Fatal("the refused listener is still open")
	}

	path := filepath.Join(t.TempDir(), "s.sock")
	s := serveOn(t, ServerConfig{Router: &hooks{info: func(context.Context) error { return nil }}}, "unix://"+path)
	if _, err := s.client(t).GetFlightInfo(t.Context(), anyDescriptor); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("the socket's mode is %v: %v", info.Mode(), err)
	}
	if _, err := Listen(context.Background(), "unix://"+path); fault.CodeOf(err) != fault.PortTaken {
		t.Fatalf("a live socket was taken over: %v", err)
	}
	dead := filepath.Join(t.TempDir(), "dead.sock")
	ul, err := net.ListenUnix("unix", &net.UnixAddr{Name: dead, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	ul.SetUnlinkOnClose(false)
	_ = ul.Close()
	again, err := Listen(context.Background(), "unix:"+dead)
	if err != nil {
		t.Fatalf("a dead process's socket stays in the way: %v", err)
	}
	_ = again.Close()
}

func TestTLS(t *testing.T) {
	cert, err := auth.SelfSigned(t.TempDir(), nil, quietLog())
	if err != nil {
		t.Fatal(err)
	}
	s := serve(t, ServerConfig{TLS: cert, Router: &hooks{info: func(context.Context) error { return nil }}})
	creds, err := credentials.NewClientTLSFromFile(cert.Path(), "localhost")
	if err != nil {
		t.Fatal(err)
	}
	c := flight.NewFlightServiceClient(s.dial(t, grpc.WithTransportCredentials(creds)))
	if _, err := c.GetFlightInfo(t.Context(), anyDescriptor); err != nil {
		t.Fatal(err)
	}
	plain, err := grpc.NewClient(s.address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	if _, err := flight.NewFlightServiceClient(plain).GetFlightInfo(t.Context(), anyDescriptor); err == nil {
		t.Fatal("plain text was answered")
	}
}

func TestHeaderListIsBounded(t *testing.T) {
	s := serve(t, ServerConfig{HeaderBytes: 16 << 10, Router: &hooks{info: func(context.Context) error { return nil }}})
	c := s.client(t)
	if _, err := c.GetFlightInfo(metadata.AppendToOutgoingContext(t.Context(), "x", strings.Repeat("x", 64<<10)), anyDescriptor); err == nil {
		t.Fatal("an endless header list was read")
	}
	if _, err := c.GetFlightInfo(t.Context(), anyDescriptor); err != nil {
		t.Fatal(err)
	}
}

func TestCallsPerUser(t *testing.T) {
	entered, leave := make(chan struct{}), make(chan struct{})
	s := serve(t, ServerConfig{CallsPerUser: 2, Router: &hooks{
		info:   func(context.Context) error { entered <- struct{}{}; <-leave; return nil },
		action: func(s flight.FlightService_DoActionServer) error { return s.Send(&flight.Result{}) },
	}})
	c := s.client(t)
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			if _, err := c.GetFlightInfo(t.Context(), anyDescriptor); err != nil {
				t.Error(err)
			}
		})
		<-entered
	}
	_, err := c.GetFlightInfo(t.Context(), anyDescriptor)
	named(t, err, fault.QuotaExceeded)
	cancel, err := c.DoAction(t.Context(), &flight.Action{Type: flight.CancelFlightInfoActionType})
	if err == nil {
		_, err = cancel.Recv()
	}
	if err != nil {
		t.Fatalf("a user at the limit cannot cancel: %v", err)
	}
	close(leave)
	wg.Wait()
}

func TestDrain(t *testing.T) {
	entered, leave := make(chan struct{}), make(chan struct{})
	s := serve(t, ServerConfig{Grace: time.Hour, Router: &hooks{
		info:   func(context.Context) error { entered <- struct{}{}; <-leave; return nil },
		action: func(s flight.FlightService_DoActionServer) error { return s.Send(&flight.Result{}) },
	}})
	conn := s.dial(t)
	c := flight.NewFlightServiceClient(conn)
	watch, err := healthpb.NewHealthClient(conn).Watch(t.Context(), &healthpb.HealthCheckRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if r, err := watch.Recv(); err != nil || r.Status != healthpb.HealthCheckResponse_SERVING {
		t.Fatalf("%v %v", r, err)
	}
	running := make(chan error, 1)
	var wg sync.WaitGroup
	wg.Go(func() {
		_, err := c.GetFlightInfo(t.Context(), anyDescriptor)
		running <- err
	})
	<-entered
	s.end()
	if r, err := watch.Recv(); err != nil || r.Status != healthpb.HealthCheckResponse_NOT_SERVING {
		t.Fatalf("%v %v", r, err)
	}
	// The door closes right after the health service has said so.
	<-s.svc.handles.letting
	_, err = c.GetFlightInfo(t.Context(), anyDescriptor)
	named(t, err, fault.Draining)
	act, err := c.DoAction(t.Context(), &flight.Action{Type: flight.CloseSessionActionType})
	if err == nil {
		_, err = act.Recv()
	}
	if err != nil {
		t.Fatalf("a draining server does not let go: %v", err)
	}
	close(leave)
	if err := <-running; err != nil {
		t.Fatalf("running work was cut off: %v", err)
	}
	wg.Wait()
	// A health watch never ends by itself; a client that holds one must not hold up the end.
	s.Stop()
	if err := <-s.done; err != nil {
		t.Fatal(err)
	}
}

func TestDrainEndsByItself(t *testing.T) {
	s := serve(t, ServerConfig{Grace: time.Hour, Router: &hooks{info: func(context.Context) error { return nil }}})
	if _, err := s.client(t).GetFlightInfo(t.Context(), anyDescriptor); err != nil {
		t.Fatal(err)
	}
	s.end()
	if err := <-s.done; err != nil {
		t.Fatal(err)
	}
}

func TestSecondSignalForces(t *testing.T) {
	entered := make(chan struct{})
	s := serve(t, ServerConfig{Grace: time.Hour, Router: &hooks{
		info: func(ctx context.Context) error { entered <- struct{}{}; <-ctx.Done(); return ctx.Err() },
	}})
	c := s.client(t)
	var wg sync.WaitGroup
	wg.Go(func() {
		if _, err := c.GetFlightInfo(t.Context(), anyDescriptor); err == nil {
			t.Error("the call was not cut off")
		}
	})
	<-entered
	s.end()
	<-s.svc.handles.letting
	s.Stop()
	if err := <-s.done; err != nil {
		t.Fatal(err)
	}
	wg.Wait()
}

func TestListActions(t *testing.T) {
	s := serve(t, ServerConfig{Router: router{flightsql.NewFlightServer(&flightsql.BaseServer{})}})
	c := s.client(t)
	stream, err := c.ListActions(t.Context(), &flight.Empty{})
	if err != nil {
		t.Fatal(err)
	}
	var types []string
	for {
		a, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		types = append(types, a.Type)
	}
	for _, want := range []string{"CancelFlightInfo", "RenewFlightEndpoint", "SetSessionOptions", "GetSessionOptions", "CloseSession",
		"CreatePreparedStatement", "ClosePreparedStatement", "BeginTransaction", "EndTransaction", "CancelQuery", "vega.cancel_job", "vega.job_status"} {
		if !strings.Contains(strings.Join(types, " "), want) {
			t.Errorf("%s is not listed in %v", want, types)
		}
	}
	act, err := c.DoAction(t.Context(), &flight.Action{Type: "vega.surprise"})
	if err == nil {
		_, err = act.Recv()
	}
	named(t, err, fault.InvalidParameter)
}
