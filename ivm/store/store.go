package store

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/vegadb/vega-flight/ducklake/metadata"
	"github.com/vegadb/vega-flight/ivm/catalog"
)

// Store is the engine's tables in one lake's catalog database. It is safe for concurrent use.
type Store struct {
	db metadata.Store

	// rows is the counter "views" as of this process's last change. With an
	// embedded catalog no other process exists, so it is the truth.
	rows atomic.Int64

	mu     sync.Mutex
	tables cachedTables
}

// cachedTables are the lake's tables at a schema version; most commits leave them as they are.
type cachedTables struct {
	schemaVersion int64
	known         bool
	tables        []catalog.Table
	plain         []catalog.Name
	schemas       []string
}

// Open brings the tables up to date and reads where they stand. The publisher's tables must be there.
func Open(ctx context.Context, db metadata.Store) (*Store, error) {
	if err := Migrate(ctx, db); err != nil {
		return nil, err
	}
	s := &Store{db: db}
	err := db.View(ctx, func(tx metadata.Tx) error {
		n, err := counter(ctx, tx)
		s.rows.Store(n)
		return err
	})
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Views is the port of package catalog.
func (s *Store) Views() *Views { return &Views{s} }

// Jobs is the port of package job.
func (s *Store) Jobs() *Jobs { return &Jobs{s} }

// Schedules is the port of package refresh.
func (s *Store) Schedules() *Schedules { return &Schedules{s} }

func counter(ctx context.Context, tx metadata.Tx) (int64, error) {
	rows, err := tx.Query(ctx, `SELECT value FROM {M}vega_counters WHERE name = 'views'`)
	if err != nil {
		return 0, err
	}
	if len(rows) != 1 {
		return 0, fmt.Errorf("store: vega_counters has %d rows for views", len(rows))
	}
	var r row
	r.take(rows[0])
	return r.int(), r.err
}

// Touch says in tx that what is known of the views from before may not be
// relied on: a row changes, or the content goes back to an older state of its sources.
func (s *Store) Touch(ctx context.Context, tx metadata.Tx) error {
	if _, err := tx.Exec(ctx, `UPDATE {M}vega_counters SET value = value + 1 WHERE name = 'views'`); err != nil {
		return err
	}
	tx.OnCommit(func() { s.rows.Add(1) })
	return nil
}
