package changelog

import (
	"context"
	"time"

	"github.com/vegadb/vega-flight/ivm/catalog"
	"github.com/vegadb/vega-flight/ivm/stream"
	"github.com/vegadb/vega-flight/ivm/zset"
)

// Source is the history of the lake's tables.
type Source interface {
	// Head is the newest lake snapshot.
	Head(ctx context.Context) (int64, error)
	// Watch gives the newest snapshot, now and whenever it grows, until ctx ends; then the channel is closed.
	Watch(ctx context.Context) <-chan int64
	// Commits tells what the snapshots in (from, to] did to tables, oldest first; fault.HistoryExpired when some are gone.
	Commits(ctx context.Context, from, to int64) ([]stream.Commit, error)
	// Tables are the tables of these uuids as they are at a snapshot (0: the newest); those that are not there are left out.
	Tables(ctx context.Context, uuids []string, at int64) (map[string]catalog.Table, error)
	// Changes gives the net change of a table over (from, to], in batches that may be reused when take returns.
	Changes(ctx context.Context, r stream.Reading, from, to int64, take func(*zset.Batch) error) error
	// Content gives a table's rows at a snapshot, in batches that may be reused when take returns.
	Content(ctx context.Context, r stream.Reading, at int64, take func(*zset.Batch) error) error
}

// Holds keep the lake's history for subscribers of this server.
type Holds interface {
	// Hold keeps what is needed to follow a table from a snapshot on, in place of what was held under the name before;
	// fault.HistoryExpired when that is gone.
	Hold(ctx context.Context, name string, tableID, snapshot int64) error
	// Release lets go of what is held under the name.
	Release(ctx context.Context, name string) error
}

// Clock gives time to wait for. Now only orders.
type Clock interface {
	Now() time.Time
	// After gives a channel that is ready after d, and what stops it.
	After(d time.Duration) (<-chan time.Time, func() bool)
}

// wall is the process's clock.
type wall struct{}

func (wall) Now() time.Time { return time.Now() }

func (wall) After(d time.Duration) (<-chan time.Time, func() bool) {
	t := time.NewTimer(d)
	return t.C, t.Stop
}
