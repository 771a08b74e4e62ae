package crash

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vegadb/vega-flight/integration/process"
)

// TestSubscribersMissNothing kills the server while it follows a writer: each subscriber goes on where it was, in the next life, and has
// what the view has.
func TestSubscribersMissNothing(t *testing.T) {
	lake := filepath.Join(t.TempDir(), "lake")
	rnd := rand.New(rand.NewPCG(3, 4))
	rounds := max(kills(t)/3, 2)
	subscribers := []*process.Subscriber{process.NewSubscriber("main.totals"), process.NewSubscriber("main.totals", 0), process.NewSubscriber("main.whole")}
	commits := 0
	for round := range rounds {
		s := process.Start(t, process.Options{Lake: lake})
		c := s.Connect(t)
		if round == 0 {
			c.Must(t, "CREATE TABLE moves (k INTEGER, v BIGINT)")
			c.Must(t, "INSERT INTO moves SELECT i % 10, i FROM range(1000) t(i)")
			c.Must(t, "CREATE STREAMING MATERIALIZED VIEW totals WITH (wait_for_ready = true, checkpoint_interval = '1s') AS SELECT k, count(*) AS n, sum(v)::BIGINT AS s FROM moves GROUP BY k")
			c.Must(t, "CREATE MATERIALIZED VIEW whole WITH (refresh_interval = '0s') AS SELECT k, max(v) AS top FROM moves GROUP BY k")
		}
		commits += followAndKill(t, s, subscribers, rnd)
		if t.Failed() {
			t.Fatalf("life %d of the server", round)
		}
	}
	s := process.Start(t, process.Options{Lake: lake})
	c := s.Connect(t)
	c.Must(t, "INSERT INTO moves VALUES (3, 1000000)")
	c.Must(t, "REFRESH MATERIALIZED VIEW whole WITH (full = true)")
	for _, sub := range subscribers {
		if err := sub.Subscribe(t.Context(), s.Connect(t), "progress = true"); err != nil {
			t.Fatal(err)
		}
		for c.Value(t, fmt.Sprintf("SELECT count(*) FROM (FROM %s EXCEPT ALL FROM %s AT (VERSION => %d))", sub.View, sub.View, max(sub.At, 1))) != "0" || sub.At < 0 {
			if err := sub.Next(); err != nil {
				t.Fatal(err)
			}
		}
		sub.Compare(t, c)
	}
	if out, err := process.Run(t, "check", s.Flight); err != nil {
		t.Errorf("check: %v\n%s", err, out)
	}
	t.Logf("%d kills, %d commits, publications applied: %d, %d, %d", rounds, commits,
		subscribers[0].Publications, subscribers[1].Publications, subscribers[2].Publications)
}

// followAndKill has the subscribers follow a writer, and kills the server at a random moment.
func followAndKill(t *testing.T, s *process.Server, subscribers []*process.Subscriber, rnd *rand.Rand) int {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var wg sync.WaitGroup
	var killed atomic.Bool
	for _, sub := range subscribers {
		c, beside := s.Connect(t), s.Connect(t)
		wg.Go(func() {
			if err := sub.Subscribe(ctx, c); err != nil {
				if !killed.Load() {
					t.Errorf("subscribe to %s as of %d: %v", sub.View, sub.At, err)
				}
				return
			}
			for {
				was := sub.Publications
				if err := sub.Next(); err != nil {
					if !killed.Load() {
						t.Errorf("%s at %d: %v", sub.View, sub.At, err)
					}
					return
				}
				if sub.Publications > was && was%10 == 0 {
					if d, err := sub.Differs(ctx, beside); !killed.Load() && (err != nil || d != "") {
						t.Errorf("%v %s", err, d)
					}
				}
			}
		})
	}
	writer, seed := s.Connect(t), rnd.Uint64()
	commits := 0
	wg.Go(func() {
		r := rand.New(rand.NewPCG(seed, 5))
		for ctx.Err() == nil {
			sql := fmt.Sprintf("INSERT INTO moves SELECT i %% 10, i FROM range(%d, %d) t(i)", commits, commits+1+r.IntN(20))
			switch r.IntN(4) {
			case 0:
				sql = fmt.Sprintf("DELETE FROM moves WHERE k = %d AND v %% 3 = 0", r.IntN(10))
			case 1:
				sql = fmt.Sprintf("UPDATE moves SET k = %d, v = v + 1 WHERE k = %d AND v < 500", r.IntN(10), r.IntN(10))
			}
			if _, err := writer.Query(ctx, sql); err != nil {
				if !killed.Load() {
					t.Errorf("%s: %v", sql, err)
				}
				return
			}
			commits++
		}
	})
	time.Sleep(500*time.Millisecond + time.Duration(rnd.Int64N(int64(2*time.Second)))) // the random moment itself
	killed.Store(true)
	s.Kill()
	cancel()
	wg.Wait()
	return commits
}
