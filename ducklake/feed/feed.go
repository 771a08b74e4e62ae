package feed

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/vegadb/vega-flight/ducklake/duck"
	"github.com/vegadb/vega-flight/ducklake/metadata"
	"github.com/vegadb/vega-flight/fault"
)

// Config is what a Feed works with.
type Config struct {
	Store    metadata.Store
	Lake     string // the name the lake is attached under
	DataPath string // the lake's data folder
	// Connect gives a new connection to the instance that has the lake attached, with the time zone UTC; the feed closes it.
	Connect func(context.Context) (*duck.Conn, error)
	// Pin keeps the lake's files on disk until the function it gives is called; may be nil.
	Pin func() (release func())
}

// Feed reads changes of one lake's tables on a connection of its own. It is for one goroutine at a time, and has one open [Stream] at a
// time: opening another, or planning, while one is open is an error.
type Feed struct {
	Config
	conn  *duck.Conn
	busy  atomic.Bool
	views int // how many temporary views its readers made
}

// keptStatements is how many statements the connection keeps prepared: those about the catalog.
const keptStatements = 64

// New makes a feed.
func New(ctx context.Context, c Config) (*Feed, error) {
	if c.Pin == nil {
		c.Pin = func() func() { return func() {} }
	}
	conn, err := c.Connect(ctx)
	if err != nil {
		return nil, err
	}
	if err := conn.Keep(ctx, keptStatements); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return &Feed{Config: c, conn: conn}, nil
}

// Close ends the feed and what its readers have open.
func (f *Feed) Close() error { return f.conn.Close() }

// take makes the caller the only one.
func (f *Feed) take() error {
	if !f.busy.CompareAndSwap(false, true) {
		return fault.InternalError.Newf("a change feed is read while a stream of it is open")
	}
	return nil
}

func (f *Feed) give() { f.busy.Store(false) }

// view runs fn in a transaction on the catalog.
func (f *Feed) view(ctx context.Context, fn func(metadata.Tx) error) (err error) {
	if err := f.take(); err != nil {
		return err
	}
	defer f.give()
	tx, err := metadata.OpenReading(ctx, f.Store, f.conn)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, tx.Close()) }()
	return fn(tx)
}
