package drain

import (
	"context"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/vegadb/vega-flight/integration/process"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// endless is a query that nothing but its cancellation ends within a test's life.
const endless = "SELECT count(*) AS n FROM range(300000) a(i), range(300000) b(j) WHERE (i * j) % 7 = 9"

// while is a query of some seconds: it runs for longer than this test may be held up while it looks, and it ends.
const while = "SELECT count(*) AS n FROM range(30000) a(i), range(30000) b(j) WHERE (i * j) % 7 = 1"

type lake string

func newLake(t *testing.T) lake { return lake(filepath.Join(t.TempDir(), "lake")) }

func (l lake) start(t *testing.T, grace string) *process.Server {
	t.Helper()
	return process.Start(t, process.Options{Lake: string(l), Args: []string{"--shutdown-grace", grace, "--temp-dir", string(l) + ".tmp"}})
}

// terminate sends SIGTERM and returns when health says NOT_SERVING.
func terminate(t *testing.T, s *process.Server) {
	t.Helper()
	conn, err := grpc.NewClient(strings.TrimPrefix(s.Flight, "grpc://"), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	watch, err := healthpb.NewHealthClient(conn).Watch(ctx, &healthpb.HealthCheckRequest{})
	if err != nil {
		t.Fatal(err)
	}
	await := func(want healthpb.HealthCheckResponse_ServingStatus) {
		t.Helper()
		for {
			r, err := watch.Recv()
			if err != nil {
				t.Fatalf("watching for %v: %v", want, err)
			}
			if r.GetStatus() == want {
				return
			}
		}
	}
	await(healthpb.HealthCheckResponse_SERVING)
	s.Signal(syscall.SIGTERM)
	await(healthpb.HealthCheckResponse_NOT_SERVING)
}

// submit starts a statement and waits until it runs.
func submit(t *testing.T, c *process.Client, sql string) *process.Handle {
	t.Helper()
	h, err := c.Submit(t.Context(), sql)
	if err != nil {
		t.Fatal(err)
	}
	return h.Running(t)
}

// result is how a call in the background ended.
type result struct {
	rows [][]string
	err  error
}

// background runs a statement as one call.
func background(t *testing.T, c *process.Client, sql string) <-chan result {
	end := make(chan result, 1)
	go call(t.Context(), c, sql, end)
	return end
}

func call(ctx context.Context, c *process.Client, sql string, end chan<- result) {
	rows, err := c.Query(ctx, sql)
	end <- result{rows, err}
}
