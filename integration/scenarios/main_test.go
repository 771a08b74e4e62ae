package scenarios

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/flight"
	"go.uber.org/goleak"

	"github.com/vegadb/vega-flight/ducklake/laketest"
	vega "github.com/vegadb/vega-flight/flightsql"
	"github.com/vegadb/vega-flight/flightsql/auth"
	"github.com/vegadb/vega-flight/integration/process"
	"github.com/vegadb/vega-flight/ivm/enginetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// clientBinary is arrow-go's scenario client, built once.
func clientBinary(t *testing.T) string {
	t.Helper()
	root, err := process.Root()
	if err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(root, ".build", "bin")
	path := filepath.Join(bin, "arrow-flight-integration-client")
	if _, err := os.Stat(path); err == nil {
		return path
	}
	cmd := exec.CommandContext(t.Context(), "go", "install",
		"github.com/apache/arrow-go/v18/arrow/internal/flight_integration/cmd/arrow-flight-integration-client@v18.8.0")
	cmd.Env = append(os.Environ(), "GOBIN="+bin, "GOFLAGS=")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build the scenario client: %v\n%s", err, out)
	}
	return path
}

// start serves a real lake behind the scenario's router.
func start(t *testing.T, who auth.Authenticator, route func(*vega.Service) flight.FlightServer) (address string) {
	t.Helper()
	ctx := context.Background()
	quiet := slog.New(slog.DiscardHandler)
	l := enginetest.Lake(t, laketest.DuckDB)
	svc, err := vega.New(ctx, vega.Config{Lake: l, Engine: enginetest.Engine(t, l), Log: quiet, SpoolDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	listener, err := vega.Listen(ctx, "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := vega.NewServer(svc, vega.ServerConfig{Auth: who, Log: quiet, Router: route(svc), Grace: 10 * time.Second})
	serving, stop := context.WithCancel(ctx)
	var group sync.WaitGroup
	group.Go(func() {
		if err := server.Serve(serving, listener); err != nil {
			t.Errorf("serving: %v", err)
		}
	})
	t.Cleanup(func() {
		stop()
		server.Stop()
		group.Wait()
		if err := svc.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	return listener.Addr().String()
}

// play runs the scenario's client.
func play(t *testing.T, address, scenario string) {
	t.Helper()
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), clientBinary(t), "-host", host, "-port", port, "-scenario", scenario)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
}
