package lake

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/vegadb/vega-flight/ducklake"
	"github.com/vegadb/vega-flight/ducklake/maintain"
	"github.com/vegadb/vega-flight/ducklake/metadata"
	"github.com/vegadb/vega-flight/ducklake/publish"
	"github.com/vegadb/vega-flight/ivm/catalog"
	"github.com/vegadb/vega-flight/ivm/refresh"
	"github.com/vegadb/vega-flight/ivm/store"
	"github.com/vegadb/vega-flight/ivm/zset"
)

// Config is what a Sink works with.
type Config struct {
	Lake      *ducklake.Lake
	Store     *store.Store
	Publisher *publish.Publisher
	// Fence is this server's registration now. Nil: there are no registrations.
	Fence func() publish.Fence
	// Live are the servers whose lease holds; nil when there can be no other server.
	Live func(ctx context.Context) (map[string]bool, error)
	// Pins are what this process's maintenance spares. With them, and no other server, a refresh needs no hold in the catalog.
	Pins *maintain.Pins
	// Change is how a view's content changes over (from, to], as stream.Once says it; nil: content is always computed anew.
	Change func(ctx context.Context, v *catalog.View, tables []catalog.Table, from, to, most int64) (_ *zset.Batch, ok bool, err error)
	Log    *slog.Logger
	Faults Faults
}

// Faults are places where tests let the process seem to die. All may be nil.
type Faults struct {
	Pinned   func() error // a snapshot is pinned and held
	Staged   func() error // complete files are staged
	Ended    func() error // the publishing transaction is written and not committed
	Hidden   func() error // a view's table is made and has no name yet
	Dropping func() error // a drop is journaled, nothing is dropped
	Dropped  func() error // tables are dropped, their rows are there

	DroppingTable func() error // a table is found and about to be dropped
	Commenting    func() error // a comment is about to be written

	Joined func() // a publication waits for its commit, perhaps with others
}

func fail(f func() error) error {
	if f == nil {
		return nil
	}
	return f()
}

// Sink implements the engine's ports to one lake. It is safe for concurrent use.
type Sink struct {
	Config
	db metadata.Store

	group group
	drops sync.Mutex // held while a journaled drop is carried out or finished

	mu     sync.Mutex
	hidden map[string]*ducklake.HiddenTable // tables under construction, by job
	swept  bool                             // what this server's last life left is removed
}

var _ refresh.Lake = (*Sink)(nil)

// New makes a Sink.
func New(c Config) *Sink {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Fence == nil {
		c.Fence = func() publish.Fence { return publish.Fence{} }
	}
	return &Sink{Config: c, db: c.Lake.Store(), group: group{commit: c.Publisher.Publish}, hidden: map[string]*ducklake.HiddenTable{}}
}

// Now is the catalog's clock.
func (s *Sink) Now(ctx context.Context) (time.Time, error) { return s.db.Now(ctx) }
