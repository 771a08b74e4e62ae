package ducklake

import (
	"context"

	"github.com/vegadb/vega-flight/ducklake/duck"
	"github.com/vegadb/vega-flight/ducklake/feed"
)

// NewFeed makes a reader of the changes of the lake's tables, which has a connection of its own. Close it before the lake.
func (l *Lake) NewFeed(ctx context.Context) (*feed.Feed, error) {
	return feed.New(ctx, feed.Config{
		Store: l.store, Lake: l.config.Name, DataPath: l.data,
		Connect: func(context.Context) (*duck.Conn, error) { return l.db.Connect() },
		Pin:     l.pin,
	})
}
