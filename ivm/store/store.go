package store

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/vegadb/vega-flight/ducklake/metadata"
	"github.com/vegadb/vega-flight/fault"
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
	r, err := s.one(ctx, counterSQL)
	if err != nil {
		return nil, err
	}
	s.rows.Store(r.Int())
	return s, r.Err()
}

// Views is the port of package catalog.
func (s *Store) Views() *Views { return &Views{s} }

// Jobs is the port of package job.
func (s *Store) Jobs() *Jobs { return &Jobs{s} }

// Schedules is the port of package refresh.
func (s *Store) Schedules() *Schedules { return &Schedules{s} }

// reader is a catalog that answers one query in one round trip.
type reader interface {
	Read(ctx context.Context, sql string, args ...any) ([][]any, error)
}

// one runs a query that gives one row, by itself.
func (s *Store) one(ctx context.Context, sql string) (r metadata.Row, err error) {
	var rows [][]any
	if quick, ok := s.db.(reader); ok {
		rows, err = quick.Read(ctx, sql)
	} else {
		err = s.db.View(ctx, func(tx metadata.Tx) (err error) {
			rows, err = tx.Query(ctx, sql)
			return err
		})
	}
	if err != nil {
		return r, err
	}
	return single(rows)
}

// single is the only row of a result.
func single(rows [][]any) (r metadata.Row, err error) {
	if len(rows) != 1 {
		return r, fault.LakeUnreadable.Newf("the catalog gives %d rows where one is expected", len(rows))
	}
	r.Take(rows[0])
	return r, nil
}

const counterSQL = `SELECT value FROM {M}vega_counters WHERE name = 'views'`

// Touch says in tx that what is known of the views from before may not be
// relied on: a row changes, or the content goes back to an older state of its sources.
func (s *Store) Touch(ctx context.Context, tx metadata.Tx) error {
	if _, err := tx.Exec(ctx, `UPDATE {M}vega_counters SET value = value + 1 WHERE name = 'views'`); err != nil {
		return err
	}
	tx.OnCommit(func() { s.rows.Add(1) })
	return nil
}
