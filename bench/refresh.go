package main

import (
	"context"
	"errors"
	"fmt"
)

const viewQuery = "SELECT id, name, amount, ref, amount * 2 AS twice FROM source WHERE ref %% %d <> 0"

// refresh rebuilds a view of about ten million rows; the other side is CREATE TABLE AS of the same query into its lake.
func refresh(ctx context.Context, s *sides) ([]result, error) {
	n := s.scale(10_000_000)
	if err := s.both(ctx, fmt.Sprintf("CREATE TABLE source AS SELECT i AS id, 'name ' || (i %% 100000) AS name, (i %% 1000)::DECIMAL(18,2) AS amount, (i * 7919) %% 1000003 AS ref FROM range(%d) t(i)", n)); err != nil {
		return nil, err
	}
	query := fmt.Sprintf(viewQuery, 1_000_000_007)
	if err := s.serve(ctx, "CREATE MATERIALIZED VIEW rebuilt AS "+query+" WITH NO DATA"); err != nil {
		return nil, err
	}
	c, err := s.plain(ctx)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	rebuild := func() error { return s.serve(ctx, "REFRESH MATERIALIZED VIEW rebuilt WITH (full = true)") }
	ctas := func() error {
		_, err := c.Exec(ctx, "CREATE TABLE copied AS "+query)
		_, dropErr := c.Exec(ctx, "DROP TABLE copied")
		return errors.Join(err, dropErr)
	}
	ours, theirs, err := inTurn(5, rebuild, ctas)
	if err != nil {
		return nil, err
	}
	o, t := median(ours), median(theirs)
	return []result{{Name: "refresh/rebuild", What: fmt.Sprintf("view of %d rows: REFRESH | CREATE TABLE AS into the lake", n), Ours: o, Theirs: t, Unit: "ms", Figure: o / t, Bar: "<= 1.15 x", Meets: o/t <= 1.15}}, nil
}
