package main

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// backfill makes streaming views over a large table until they can be read; the other side is CREATE TABLE AS of the same query into its lake.
func backfill(ctx context.Context, s *sides) ([]result, error) {
	n := s.scale(10_000_000)
	for _, sql := range []string{
		fmt.Sprintf("CREATE TABLE history AS SELECT i AS k, (i * 7919) %% 1000 AS g, (i * 31) %% 12 AS month, (i * 1000003) %% 100000 AS v FROM range(%d) t(i)", n),
		"CREATE TABLE labels AS SELECT i AS g, 'group ' || i AS label FROM range(1000) t(i)",
	} {
		if err := s.both(ctx, sql); err != nil {
			return nil, err
		}
	}
	if err := s.both(ctx, "CREATE TABLE little AS SELECT i AS k, i % 10 AS g FROM range(1000) t(i)"); err != nil {
		return nil, err
	}
	small, err := s.backfill(ctx, "backfill/small", "GROUP BY over 1000 rows", "SELECT g, count(*) AS n FROM little GROUP BY g", 11, true)
	if err != nil {
		return nil, err
	}
	small.Figure, small.Bar, small.Meets = small.Ours, "<= 100 ms", small.Ours <= 100
	out := []result{small}
	for _, q := range []struct{ name, what, sql string }{
		{"filter", "filter and project", "SELECT k, v * 2 AS twice FROM history WHERE v < 10000"},
		{"group", "GROUP BY, 12 k groups", "SELECT g, month, count(*) AS n, sum(v) AS s, min(v) AS low FROM history GROUP BY g, month"},
		{"join", "join, GROUP BY", "SELECT label, count(*) AS n, sum(v) AS s FROM history JOIN labels USING (g) GROUP BY label"},
	} {
		r, err := s.backfill(ctx, "backfill/"+q.name, fmt.Sprintf("%s over %d rows", q.what, n), q.sql, 3, true)
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, nil
}

// backfill times one view, rounds times; the last one stays unless it is to be dropped.
func (s *sides) backfill(ctx context.Context, name, what, query string, rounds int, drop bool) (result, error) {
	c, err := s.plain(ctx)
	if err != nil {
		return result{}, err
	}
	defer c.Close()
	var ours, theirs, follows []time.Duration
	for i := range rounds {
		began := time.Now()
		d, err := timed(func() error {
			return s.serve(ctx, "CREATE STREAMING MATERIALIZED VIEW filled WITH (wait_for_ready = true, memory_budget = '8 GiB') AS "+query)
		})
		if err != nil {
			return result{}, err
		}
		ours = append(ours, d)
		if err := s.followed(ctx); err != nil { // or the other side would be measured beside it
			return result{}, err
		}
		follows = append(follows, time.Since(began))
		if drop || i < rounds-1 {
			if err := s.serve(ctx, "DROP STREAMING MATERIALIZED VIEW filled"); err != nil {
				return result{}, err
			}
		}
		if d, err = timed(func() error { _, err := c.Exec(ctx, "CREATE TABLE copied AS "+query); return err }); err != nil {
			return result{}, err
		}
		theirs = append(theirs, d)
		if _, err = c.Exec(ctx, "DROP TABLE copied"); err != nil {
			return result{}, errors.Join(err)
		}
	}
	alone, err := timed(func() error {
		_, err := c.Exec(ctx, "CREATE TEMP TABLE alone AS "+query+"; DROP TABLE alone")
		return err
	})
	if err != nil {
		return result{}, err
	}
	o, t := median(ours), median(theirs)
	return result{Note: fmt.Sprintf("until its state is made and durable: %.0f ms; the query into a table in memory: %.0f ms", median(follows), alone.Seconds()*1000),
		Name: name, What: what + ": CREATE STREAMING until it can be read | CREATE TABLE AS", Ours: o, Theirs: t, Unit: "ms", Figure: o / t, Bar: "<= 2 x", Meets: o/t <= 2}, nil
}

// followed waits until the view has a durable state.
func (s *sides) followed(ctx context.Context) error {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		ready, err := s.serveRows(ctx, "SELECT 1 FROM vega.streaming_views WHERE view_name = 'filled' AND state = 'RUNNING' AND checkpointed_at IS NOT NULL")
		if ready > 0 || err != nil {
			return err
		}
		<-tick.C
	}
}
