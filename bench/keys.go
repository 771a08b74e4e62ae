package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"syscall"
	"time"
)

const keysQuery = "SELECT id, count(*) AS n, sum(v) AS s FROM %s GROUP BY id"

// keys is a view with millions of keys, which are as many rows of its result: how long the first content takes, changes of 100 keys, and a
// restart of the server.
func keys(ctx context.Context, s *sides) ([]result, error) {
	n, few := s.scale(10_000_000), 10_000
	for name, rows := range map[string]int{"many": n, "few": few} {
		if err := s.both(ctx, fmt.Sprintf("CREATE TABLE %s AS SELECT i AS id, i %% 1000 AS v FROM range(%d) t(i)", name, rows)); err != nil {
			return nil, err
		}
	}
	filled, err := s.backfill(ctx, "keys/backfill", fmt.Sprintf("%d keys", n), fmt.Sprintf(keysQuery, "many"), "INSERT INTO many VALUES (-1, 1)", 1, false)
	if err != nil {
		return nil, err
	}
	if err := s.serve(ctx, "CREATE STREAMING MATERIALIZED VIEW small WITH (wait_for_ready = true) AS "+fmt.Sprintf(keysQuery, "few")); err != nil {
		return nil, err
	}
	theirs, err := s.query(ctx, "SELECT count(*) FROM ("+fmt.Sprintf(keysQuery, "many")+")")
	if err != nil {
		return nil, err
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	changed := func(table string, of int) func(int) string {
		return func(int) string {
			var rows []string
			for _, id := range rnd.Perm(of / 100)[:100] {
				rows = append(rows, fmt.Sprintf("(%d, 1)", id*100+rnd.IntN(100)))
			}
			return "INSERT INTO " + table + " VALUES " + strings.Join(rows, ",")
		}
	}
	rounds := max(s.scale(100), 20)
	little, err := s.publications(ctx, rounds, changed("few", few))
	if err != nil {
		return nil, err
	}
	much, err := s.publications(ctx, rounds, changed("many", n))
	if err != nil {
		return nil, err
	}
	sent, err := s.arrivals(ctx, "filled", rounds, changed("many", n))
	if err != nil {
		return nil, err
	}
	l, m := median(little), median(much)
	again, err := s.restart(ctx, "filled")
	if err != nil {
		return nil, err
	}
	seconds := again.Seconds()
	return append(filled,
		soon("keys/change", fmt.Sprintf("commit that changes 100 of %d rows of a result, until that is published (p50) | DuckDB runs the query", n), much, theirs),
		soon("keys/subscriber", "the same, until the subscriber has it (p50) | DuckDB runs the query", sent, theirs),
		result{Name: "keys/state", What: fmt.Sprintf("100 changes with %d keys of state | with %d keys", n, few), Ours: m, Theirs: l, Unit: "ms", Figure: m / l, Bar: "<= 2 x", Meets: m/l <= 2},
		result{Name: "keys/restart", What: fmt.Sprintf("start of the server until a view of %d keys is RUNNING | DuckDB runs the query", n), Ours: seconds, Theirs: theirs / 1000,
			Unit: "s", Figure: seconds, Bar: "<= 10 s", Meets: seconds <= 10},
	), nil
}

// restart ends the server as a power cut would and starts it again, until the view runs.
func (s *sides) restart(ctx context.Context, view string) (time.Duration, error) {
	if err := s.serve(ctx, "SELECT count(*) FROM "+view); err != nil {
		return 0, err
	}
	for ready := int64(0); ready == 0; { // its newest state is durable
		var err error
		if ready, err = s.serveRows(ctx, "SELECT 1 FROM vega.streaming_views WHERE view_name = '"+view+"' AND checkpointed_at > published_at"); err != nil {
			return 0, err
		}
	}
	if err := s.client.Close(); err != nil {
		return 0, err
	}
	if err := s.cmd.Process.Signal(syscall.SIGKILL); err != nil {
		return 0, err
	}
	<-s.ended
	return timed(func() error {
		if err := s.startServer(ctx, s.binary, s.extensions); err != nil {
			return err
		}
		for {
			rows, err := s.serveRows(ctx, "SELECT 1 FROM vega.streaming_views WHERE view_name = '"+view+"' AND state = 'RUNNING'")
			if rows > 0 || err != nil {
				return err
			}
			if failed, err := s.serveRows(ctx, "SELECT 1 FROM vega.streaming_views WHERE view_name = '"+view+"' AND state = 'FAILED'"); failed > 0 || err != nil {
				return errors.Join(errors.New("the view has failed"), err)
			}
		}
	})
}
