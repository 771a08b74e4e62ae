package ducklake

import (
	"context"
	"time"

	"github.com/vegadb/vega-flight/ducklake/duck"
	"github.com/vegadb/vega-flight/ducklake/metadata"
	"github.com/vegadb/vega-flight/ducklake/publish"
)

// NewPublisher makes the lake's native publisher. One is enough for a lake.
func (l *Lake) NewPublisher(ctx context.Context) (*publish.Publisher, error) {
	return publish.New(ctx, publish.Config{
		Store: l.store, Lock: l.lock, Lake: l.config.Name, DataPath: l.data, ServerID: l.config.ServerID, Log: l.log,
		Acquire: l.acquireAside,
		Notify:  func(int64) { l.Notify() },
		Committed: func(waited, held time.Duration) {
			l.config.Committed(metadata.CommitPublish, waited, held)
		},
	})
}

func (l *Lake) acquireAside(ctx context.Context) (*duck.Conn, func(), error) {
	return l.Acquire(ctx, Aside(""))
}
