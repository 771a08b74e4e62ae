package main

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"time"
)

const (
	bigTable  = "CREATE TABLE big AS SELECT i AS id, 'name ' || (i %% 100000) AS name, (i %% 1000)::DECIMAL(18,2) AS amount, (i * 7919) %% 1000003 AS ref FROM range(%d) t(i)"
	bigSelect = "SELECT * FROM big"
)

// stream reads one large table to the end: over Flight SQL, and from DuckDB's own streaming Arrow export.
func stream(ctx context.Context, s *sides) ([]result, error) {
	n := s.scale(20_000_000)
	create := fmt.Sprintf(bigTable, n)
	if err := s.serve(ctx, create); err != nil {
		return nil, err
	}
	duckDB, err := openExport(s.extension, filepath.Join(s.dir, "exported"))
	if err != nil {
		return nil, err
	}
	defer duckDB.close()
	if err := duckDB.exec(create); err != nil {
		return nil, err
	}
	count := func(got int64, err error) error {
		if err == nil && got != int64(n) {
			return fmt.Errorf("read %d rows of %d", got, n)
		}
		return err
	}
	export := func() error { return count(duckDB.read(bigSelect)) }
	if err := count(s.serveRows(ctx, bigSelect)); err != nil { // the server's own caches are warm before its memory is watched
		return nil, err
	}
	before, err := s.serverMemory()
	if err != nil {
		return nil, err
	}
	watch := s.watchMemory(ctx)
	ours, theirs, err := inTurn(5, func() error { return count(s.serveRows(ctx, bigSelect)) }, export)
	peak := watch()
	if err != nil {
		return nil, err
	}
	rate := func(ms float64) float64 { return float64(n) / ms / 1000 }
	o, t := rate(median(ours)), rate(median(theirs))
	grown := peak - before
	return []result{
		{Name: "stream/rate", What: fmt.Sprintf("SELECT of %d rows x 4 columns: Flight SQL | DuckDB's Arrow export", n), Ours: o, Theirs: t, Unit: "M rows/s", Figure: o / t, Bar: ">= 0.5 x", Meets: o/t >= 0.5},
		{Name: "stream/memory", What: "growth of the server's resident memory meanwhile", Ours: grown, Unit: "MiB", Figure: grown, Bar: "< 100 MiB", Meets: grown < 100},
	}, nil
}

// watchMemory samples the server's memory until the returned function is called, which gives the peak in MiB.
func (s *sides) watchMemory(ctx context.Context) func() float64 {
	ctx, stop := context.WithCancel(ctx)
	var peak float64
	var wg sync.WaitGroup
	wg.Go(func() {
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for {
			if m, err := s.serverMemory(); err == nil {
				peak = max(peak, m)
			}
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
	})
	return func() float64 {
		stop()
		wg.Wait()
		return peak
	}
}
