package flightsql

import (
	"context"
	"errors"
	"net"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/vegadb/vega-flight/fault"
)

// drain ends the server in order: it says so (health, new work refused), lets
// pollers go, waits for running work as long as the grace or until Stop, and
// closes. Durable jobs are their engine's to put down.
func (s *Server) drain() {
	if s.cfg.Grace == Unlimited {
		s.log.Info("draining")
	} else {
		s.log.Info("draining", "grace", s.cfg.Grace)
	}
	s.health.Shutdown()
	idle := s.gate.drain()
	s.svc.handles.letGo()
	grace := time.NewTimer(s.cfg.Grace)
	defer grace.Stop()
	if s.awaitIdle(idle, grace.C) {
		// Nothing is at work; what is left are answers on their way out, and
		// watchers of health and reflection, who never leave by themselves.
		last := time.NewTimer(lastAnswers)
		defer last.Stop()
		stopped := make(chan struct{})
		go s.stopGracefully(stopped)
		select {
		case <-stopped:
			s.log.Info("drained")
			return
		case <-last.C:
			s.log.Info("drained; idle calls are cut off")
		case <-s.forced.Done():
		}
	} else {
		s.cut.Store(true)
		s.force()
		s.log.Warn("running work is cut off")
	}
	s.grpc.Stop()
}

// Unlimited is the grace of a server whose owner waits, and calls Stop when it has waited long enough.
const Unlimited time.Duration = 1<<63 - 1

// lastAnswers is how long answers may be on their way after all work has ended.
const lastAnswers = 3 * time.Second

// awaitIdle waits for running calls and polled statements, false when there is no more time.
func (s *Server) awaitIdle(idle <-chan struct{}, grace <-chan time.Time) bool {
	for _, quiet := range []<-chan struct{}{idle, s.svc.handles.quiet()} {
		select {
		case <-quiet:
		case <-grace:
			return false
		case <-s.forced.Done():
			return false
		}
	}
	return true
}

func (s *Server) stopGracefully(stopped chan<- struct{}) {
	s.grpc.GracefulStop()
	close(stopped)
}

// CutOff says that running work was cut off at the end.
func (s *Server) CutOff() bool { return s.cut.Load() }

// Stop ends the server at once, also while it drains.
func (s *Server) Stop() { s.force() }

// cutUnix takes the path out of unix:///path or unix:path.
func cutUnix(address string) (string, bool) {
	rest, ok := strings.CutPrefix(address, "unix:")
	return strings.TrimPrefix(rest, "//"), ok
}

// removeDeadSocket makes room for a socket whose process is gone; one that somebody answers stays.
func removeDeadSocket(ctx context.Context, path string) error {
	if info, err := os.Lstat(path); err == nil && info.Mode()&os.ModeSocket == 0 || errors.Is(err, os.ErrNotExist) {
		return nil // listening says what else is wrong
	}
	dialer := net.Dialer{Timeout: time.Second}
	c, err := dialer.DialContext(ctx, "unix", path)
	if err == nil {
		_ = c.Close()
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		return fault.PortTaken.Newf("%s is in use by another process", path)
	}
	return os.Remove(path)
}
