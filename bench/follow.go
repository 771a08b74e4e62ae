package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

const (
	groupsQuery = "SELECT g, count(*) AS n, sum(v) AS s FROM %s GROUP BY g"
	soonBar     = "<= 25 ms p50, 100 p99"
)

// visible commits single rows under a streaming view, and waits for each: with SELECTs until one has it, and with a subscription. The clock
// begins when the commit is acknowledged. The other side is what it takes DuckDB to run the query.
func visible(ctx context.Context, s *sides) ([]result, error) {
	n := s.scale(1_000_000)
	if err := s.both(ctx, fmt.Sprintf("CREATE TABLE facts AS SELECT (i * 7919) %% 1000 AS g, i AS v FROM range(%d) t(i)", n)); err != nil {
		return nil, err
	}
	if err := s.serve(ctx, "CREATE STREAMING MATERIALIZED VIEW followed WITH (wait_for_ready = true) AS "+fmt.Sprintf(groupsQuery, "facts")); err != nil {
		return nil, err
	}
	theirs, err := s.query(ctx, fmt.Sprintf(groupsQuery, "facts"))
	if err != nil {
		return nil, err
	}
	var selects []time.Duration
	for i := range s.scale(300) + 5 {
		value := fmt.Sprintf("SELECT 1 FROM followed WHERE g = %d AND s >= 1000000000000000", 1000+i)
		if err := s.serve(ctx, fmt.Sprintf("INSERT INTO facts VALUES (%d, 1000000000000000)", 1000+i)); err != nil {
			return nil, err
		}
		acknowledged := time.Now()
		for rows := int64(0); rows == 0; {
			if rows, err = s.serveRows(ctx, value); err != nil {
				return nil, err
			}
		}
		if i >= 5 {
			selects = append(selects, time.Since(acknowledged))
		}
	}
	arrivals, err := s.arrivals(ctx, "followed", s.scale(300), func(i int) string { return fmt.Sprintf("INSERT INTO facts VALUES (%d, %d)", i%1000, i) })
	if err != nil {
		return nil, err
	}
	return []result{
		soon("visible/select", "1-row commit to the first SELECT that has it (p50) | DuckDB runs the query", selects, theirs),
		soon("visible/subscriber", "1-row commit to the subscriber (p50) | DuckDB runs the query", arrivals, theirs),
	}, nil
}

// soon is the result of many waits.
func soon(name, what string, waits []time.Duration, theirs float64) result {
	p50, p99 := median(waits), quantile(waits, 0.99)
	return result{Name: name, What: what, Ours: p50, Theirs: theirs, Unit: "ms", Figure: p50, Bar: soonBar, Meets: p50 <= 25 && p99 <= 100,
		Note: fmt.Sprintf("p99 %.1f ms, of %d", p99, len(waits))}
}

// quantile of durations, in milliseconds.
func quantile(ds []time.Duration, q float64) float64 {
	s := slices.Clone(ds)
	slices.Sort(s)
	return float64(s[int(q*float64(len(s)-1))]) / float64(time.Millisecond)
}

// query is how long plain DuckDB runs a query, in milliseconds.
func (s *sides) query(ctx context.Context, sql string) (float64, error) {
	c, err := s.plain(ctx)
	if err != nil {
		return 0, err
	}
	defer c.Close()
	var all []time.Duration
	for i := range 6 {
		d, err := timed(func() error { _, err := c.Rows(ctx, sql); return err })
		if err != nil {
			return 0, err
		}
		if i > 0 {
			all = append(all, d)
		}
	}
	return median(all), nil
}

// arrivals commits again and again under a view, and says how long after each acknowledgment its subscriber had all of the change.
func (s *sides) arrivals(ctx context.Context, view string, rounds int, commit func(i int) string) ([]time.Duration, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	client, err := flightsql.NewClient(strings.TrimPrefix(s.flight, "grpc://"), nil, nil, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, err
	}
	defer client.Close()
	info, err := client.Execute(ctx, "SUBSCRIBE TO "+view+" WITH (snapshot = false)")
	if err != nil {
		return nil, err
	}
	r, err := client.DoGet(ctx, info.GetEndpoint()[0].GetTicket())
	if err != nil {
		return nil, err
	}
	defer r.Release()
	came, failed := make(chan time.Time, 1), make(chan error, 1)
	go listen(ctx, r, came, failed)
	var all []time.Duration
	for i := range rounds + 5 {
		if err := s.serve(ctx, commit(i)); err != nil {
			return nil, err
		}
		acknowledged := time.Now()
		select {
		case at := <-came:
			if i >= 5 {
				all = append(all, max(at.Sub(acknowledged), 0)) // it may be there before the writer is answered
			}
		case err := <-failed:
			return nil, err
		}
	}
	return all, nil
}

// publications commits again and again under the only view that follows, and says how long after each acknowledgment the view's own commit
// was there for all to see: what somebody reads from then on has the change.
func (s *sides) publications(ctx context.Context, rounds int, commit func(i int) string) ([]time.Duration, error) {
	var all []time.Duration
	for i := range rounds + 5 {
		at, err := s.snapshot(ctx)
		if err != nil {
			return nil, err
		}
		if err := s.serve(ctx, commit(i)); err != nil {
			return nil, err
		}
		acknowledged := time.Now()
		for now := at; now < at+2; { // the writer's, and the view's
			if now, err = s.snapshot(ctx); err != nil {
				return nil, err
			}
		}
		if i >= 5 {
			all = append(all, time.Since(acknowledged))
		}
	}
	return all, nil
}

// snapshot is the newest one of the served lake.
func (s *sides) snapshot(ctx context.Context) (id int64, err error) {
	info, err := s.client.Execute(ctx, "SELECT id FROM lake.current_snapshot()")
	if err != nil {
		return 0, err
	}
	r, err := s.client.DoGet(ctx, info.GetEndpoint()[0].GetTicket())
	if err != nil {
		return 0, err
	}
	defer r.Release()
	for r.Next() {
		if id, err = strconv.ParseInt(r.RecordBatch().Column(0).ValueStr(0), 10, 64); err != nil {
			return 0, err
		}
	}
	return id, r.Err()
}

// listen tells when publications are complete.
func listen(ctx context.Context, r *flight.Reader, came chan<- time.Time, failed chan<- error) {
	for r.Next() {
		var note struct{ Last bool }
		if err := json.Unmarshal(r.LatestAppMetadata(), &note); err != nil {
			failed <- err
			return
		}
		if note.Last {
			select {
			case came <- time.Now():
			case <-ctx.Done():
				return
			}
		}
	}
	failed <- errors.Join(io.ErrUnexpectedEOF, r.Err())
}
