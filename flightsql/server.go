package flightsql

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	pb "github.com/apache/arrow-go/v18/arrow/flight/gen/flight"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/reflection"

	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/flightsql/auth"
)

// ServerConfig is how a Service is served. Zero fields mean the defaults.
type ServerConfig struct {
	Auth     auth.Authenticator // default: auth.NoAuth
	TLS      *auth.Certificate  // nil: plain text
	Insecure bool               // serve without authentication where other machines can connect

	ClosedHealth bool // health checks need a caller too
	Reflection   bool // answer reflection, to anybody

	ReceiveBytes int           // largest message from a client; default 64 MiB
	SendBytes    int           // largest message to a client, which is one row at most; default 256 MiB
	HeaderBytes  uint32        // largest header list; default 64 KiB
	Streams      uint32        // calls at once on a connection; default 256
	CallsPerUser int           // calls at work of one user; default 128
	Grace        time.Duration // how long running work may go on after the end is asked for; default 30 s

	Log *slog.Logger

	// Router answers what the server does not answer itself; default: the Flight SQL library over the Service.
	Router flight.FlightServer
}

// Server serves a Service over gRPC.
type Server struct {
	cfg    ServerConfig
	svc    *Service
	edge   *edge
	front  *front
	gate   *admission
	health *health.Server
	grpc   *grpc.Server
	forced context.Context // done when running work is to be cut off
	force  context.CancelFunc
	cut    atomic.Bool
	log    *slog.Logger
}

func (cfg ServerConfig) withDefaults() ServerConfig {
	if cfg.Auth == nil {
		cfg.Auth = auth.NoAuth{}
	}
	if cfg.Log == nil {
		cfg.Log = slog.Default()
	}
	number(&cfg.ReceiveBytes, 64<<20)
	number(&cfg.SendBytes, 256<<20)
	if cfg.HeaderBytes == 0 {
		cfg.HeaderBytes = 64 << 10
	}
	if cfg.Streams == 0 {
		cfg.Streams = 256
	}
	number(&cfg.CallsPerUser, 128)
	number(&cfg.Grace, 30*time.Second)
	return cfg
}

// NewServer makes the server of a Service; Serve runs it.
func NewServer(svc *Service, cfg ServerConfig) *Server {
	cfg = cfg.withDefaults()
	if cfg.Router == nil {
		cfg.Router = router{flightsql.NewFlightServerWithAllocator(svc, svc.Alloc)}
	}
	s := &Server{cfg: cfg, svc: svc, gate: newAdmission(cfg.CallsPerUser), health: health.NewServer(), log: cfg.Log}
	s.forced, s.force = context.WithCancel(context.Background())
	s.edge = &edge{auth: cfg.Auth, errors: translator{log: cfg.Log, hidden: svc.hidden}, log: cfg.Log}
	if !cfg.ClosedHealth {
		s.edge.public = append(s.edge.public, healthService)
	}
	s.edge.public = append(s.edge.public, reflectionPrefix)
	s.front = &front{FlightServer: cfg.Router, auth: cfg.Auth, handles: svc.handles, gate: s.gate, log: cfg.Log}
	opts := s.Options()
	if cfg.TLS != nil {
		opts = append(opts, grpc.Creds(credentials.NewTLS(cfg.TLS.Config())))
	}
	s.grpc = grpc.NewServer(opts...)
	s.Register(s.grpc)
	healthpb.RegisterHealthServer(s.grpc, s.health)
	if cfg.Reflection {
		reflection.Register(s.grpc)
	}
	return s
}

// Options are what any gRPC server that serves the Service must be made with.
func (s *Server) Options() []grpc.ServerOption {
	return append(s.cfg.transport(),
		grpc.ChainUnaryInterceptor(s.edge.unary),
		grpc.ChainStreamInterceptor(s.edge.stream),
		grpc.StatsHandler(s.svc.ConnectionStats()),
	)
}

// Transport is how messages travel, for a gRPC server that is made before its Service: sizes, keepalive and time limits by default.
func Transport() []grpc.ServerOption { return ServerConfig{}.withDefaults().transport() }

func (cfg ServerConfig) transport() []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 10 * time.Second, PermitWithoutStream: true}),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: time.Minute, Timeout: 20 * time.Second}),
		grpc.MaxRecvMsgSize(cfg.ReceiveBytes),
		grpc.MaxSendMsgSize(cfg.SendBytes),
		grpc.MaxHeaderListSize(cfg.HeaderBytes),
		grpc.MaxConcurrentStreams(cfg.Streams),
		grpc.ConnectionTimeout(20 * time.Second),
		grpc.WriteBufferSize(256 << 10),
	}
}

// Flight is the Flight service itself, for calls that have passed Unary or Stream.
func (s *Server) Flight() pb.FlightServiceServer { return s.front }

// Register adds the Flight service to a gRPC server made with Options.
func (s *Server) Register(r grpc.ServiceRegistrar) {
	r.RegisterService(&pb.FlightService_ServiceDesc, s.front)
}

// Listen opens a listener for "host:port" or "unix:///path".
func Listen(ctx context.Context, address string) (net.Listener, error) {
	network, where := "tcp", address
	if path, ok := cutUnix(address); ok {
		network, where = "unix", path
		if err := removeDeadSocket(ctx, path); err != nil {
			return nil, err
		}
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, network, where)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fault.PortTaken.Newf("%s is in use by another process", address).WithHint("stop it, or listen on another address (port 0 picks a free one)")
	}
	if err != nil {
		return nil, fault.ConfigInvalid.Wrap(err, "cannot listen on %s", address)
	}
	if network == "unix" {
		// Whoever can connect is served: the process's user alone. Until here the umask has decided, which lets nobody else write.
		if err := os.Chmod(where, 0o600); err != nil {
			return nil, errors.Join(fault.ConfigInvalid.Wrap(err, "the socket cannot be made private"), l.Close())
		}
	}
	return l, nil
}

// Serve answers on the listeners until ctx ends, then drains. It returns nil
// after a drain, forced or not, and an error when serving was not possible.
// The listeners are closed in either case.
func (s *Server) Serve(ctx context.Context, listeners ...net.Listener) error {
	for _, l := range listeners {
		if err := auth.CheckListener(s.cfg.Auth, l.Addr(), s.cfg.Insecure); err != nil {
			closeAll(listeners)
			return err
		}
		if !s.cfg.Auth.Open() && s.cfg.TLS == nil && auth.CheckListener(auth.NoAuth{}, l.Addr(), false) != nil {
			s.log.Warn("passwords and tokens cross the network in plain text", "address", l.Addr().String())
		}
	}
	background, stop := context.WithCancel(context.WithoutCancel(ctx))
	var group sync.WaitGroup
	defer group.Wait()
	defer stop()
	group.Go(func() { s.keepFresh(background, s.cfg.Auth.Run) })
	if s.cfg.TLS != nil {
		group.Go(func() { s.keepFresh(background, s.cfg.TLS.Run) })
	}
	failed := make(chan error, len(listeners))
	for _, l := range listeners {
		group.Go(func() { failed <- s.listen(l) })
	}
	for _, name := range []string{"", pb.FlightService_ServiceDesc.ServiceName} {
		s.health.SetServingStatus(name, healthpb.HealthCheckResponse_SERVING)
	}
	select {
	case <-ctx.Done():
		s.drain()
		return nil
	case <-s.forced.Done():
		s.grpc.Stop()
		return nil
	case err := <-failed:
		s.grpc.Stop()
		return err
	}
}

func (s *Server) listen(l net.Listener) error {
	if err := s.grpc.Serve(l); err != nil && !errors.Is(err, grpc.ErrServerStopped) {
		return fmt.Errorf("serve %s: %w", l.Addr(), err)
	}
	return nil
}

// keepFresh runs a reloader. Without it the server still serves what it has.
func (s *Server) keepFresh(ctx context.Context, run func(context.Context) error) {
	if err := run(ctx); err != nil {
		s.log.Error("files are not reloaded any more", "err", err)
	}
}

// Health is the server's health service, for a gRPC server that has none.
func (s *Server) Health() *health.Server { return s.health }

func closeAll(ls []net.Listener) {
	for _, l := range ls {
		_ = l.Close()
	}
}
