package crash

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vegadb/vega-flight/integration/process"
)

func kills(t *testing.T) int {
	if s := os.Getenv("VEGA_KILLS"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	return 30
}

func TestEveryLifeAfterAKillIsWhole(t *testing.T) {
	lake := filepath.Join(t.TempDir(), "lake")
	l := &ledger{acked: map[int64]bool{}}
	rnd := rand.New(rand.NewPCG(1, 2))
	rounds := kills(t)
	for round := range rounds {
		s := process.Start(t, process.Options{Lake: lake})
		c := s.Connect(t)
		if round == 0 {
			c.Must(t, "CREATE TABLE events (batch BIGINT, i BIGINT)")
			c.Must(t, "CREATE MATERIALIZED VIEW per_batch AS "+perBatch)
		} else {
			verify(t, s, c, l)
		}
		if t.Failed() {
			t.Fatalf("life %d of the server is broken", round)
		}
		runAndKill(t, s, l, rnd)
	}
	s := process.Start(t, process.Options{Lake: lake})
	verify(t, s, s.Connect(t), l)
	t.Logf("%d kills, %d operations, %d batches acknowledged", rounds, l.ops, len(l.acked))
}

// runAndKill works on the server with several clients and kills it at a random moment.
func runAndKill(t *testing.T, s *process.Server, l *ledger, rnd *rand.Rand) {
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	var killed atomic.Bool
	work := func(next func() operation) {
		c := s.Connect(t)
		wg.Go(func() {
			for ctx.Err() == nil {
				op := next()
				if err := op.run(ctx, c); !allowed(err, op.may...) && !(killed.Load() && severed(err)) {
					t.Errorf("%s: %v", op.name, err)
				}
				l.done()
			}
		})
	}
	load := operation{"ingest", func(ctx context.Context, c *process.Client) error { return ingest(ctx, c, l) }, nil}
	work(func() operation { return load })
	for range 2 {
		r := rand.New(rand.NewPCG(rnd.Uint64(), rnd.Uint64()))
		work(func() operation { return viewOperation(l, r) })
	}
	time.Sleep(time.Duration(rnd.Int64N(int64(900 * time.Millisecond)))) // the random moment itself
	killed.Store(true)
	s.Kill()
	cancel()
	wg.Wait()
}

// verify asks a restarted server for everything that must hold.
func verify(t *testing.T, s *process.Server, c *process.Client, l *ledger) {
	t.Helper()
	seen := map[int64]bool{}
	for _, row := range c.Must(t, perBatch) {
		b, err := strconv.ParseInt(row[0], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		if row[1] != strconv.Itoa(batchRows) {
			t.Errorf("batch %d has %s rows of %d", b, row[1], batchRows)
		}
		seen[b] = true
	}
	for b := range l.acked {
		if !seen[b] {
			t.Errorf("batch %d was acknowledged and is gone", b)
		}
	}
	for view, may := range map[string][]string{
		"per_batch": nil,
		// Nobody has made it yet, or the job that gives it its first content goes on just now.
		"replaced": {"OBJECT_NOT_FOUND", "MATERIALIZED_VIEW_NOT_POPULATED"},
	} {
		rows, err := c.Query(t.Context(), "SELECT count(*) FROM "+view+" WHERE n <> 100 OR s <> 4950")
		switch {
		case !allowed(err, may...):
			t.Errorf("%s: %v", view, err)
		case err == nil && rows[0][0] != "0":
			t.Errorf("%s holds %s rows of no whole generation", view, rows[0][0])
		}
	}
	for _, d := range l.takeHandles() {
		for d != nil {
			info, err := c.Client.Client.PollFlightInfo(t.Context(), d)
			if err != nil {
				if !allowed(err, "JOB_INTERRUPTED") { // after too many lives that ended in it
					t.Errorf("an old handle: %v", err)
				}
				break
			}
			d = info.GetFlightDescriptor()
		}
	}
	if out, err := process.Run(t, "check", s.Flight); err != nil {
		t.Errorf("check: %v\n%s", err, out)
	}
}
