package publish

import (
	"context"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/vegadb/vega-flight/ducklake/duck"
	"github.com/vegadb/vega-flight/ducklake/metadata"
	"github.com/vegadb/vega-flight/fault"
)

// Config is what a Publisher works with.
type Config struct {
	Store    metadata.Store
	Lock     *metadata.CommitLock
	Lake     string // the name the lake is attached under
	DataPath string // the lake's data folder
	// Acquire gives a connection to the instance that has the lake attached, with the time zone UTC, until release is
	// called. It is used to encode deltas, to flush and to merge; no state is left on it.
	Acquire  func(context.Context) (conn *duck.Conn, release func(), err error)
	ServerID string               // written into commits
	Notify   func(snapshot int64) // called after each commit, with 0 when its id is not known; may be nil
	// Committed is told how long each commit waited for the commit lock and how long it held it; may be nil.
	Committed func(waited, held time.Duration)
	Log       *slog.Logger

	InlineRows      int   // a delta with more new rows becomes a file; 0 is 5,000
	TargetFileBytes int64 // staged files are split at about this size; 0 is the lake's target_file_size
	Faults          Faults
}

// Faults are places where tests let things go wrong. All may be nil.
type Faults struct {
	Staged       func()       // files are staged and synced, nothing is committed
	BeforeCommit func() error // all rows of the commit are written, COMMIT is not sent
	AfterCommit  func() error // COMMIT succeeded; an error takes the place of its answer
	Flush        func() error // a table is about to be flushed; an error takes the place of that
	Moved        func()       // rows of a table are moved, COMMIT is not sent
	Break        Rule         // rules that are broken on purpose
}

// Rule names a rule of native commits, so that tests can show that they notice when it is broken.
type Rule int

// The rules that can be broken.
const (
	_                  Rule = iota
	RuleFileID              // next_file_id grows with every commit
	RuleRecordCount         // record_count is cumulative
	RuleWiden               // statistics only widen
	RuleGuard               // the changes of others are looked at
	RuleFlush               // inlined deletes are flushed before a replacement
	RuleInlinedDeletes      // the table for inlined deletes exists before the first reader
)

// DefaultInlineRows is how many new rows of a delta are inlined at most.
const DefaultInlineRows = 5000

// Publisher makes native commits into one lake. It is safe for concurrent use.
type Publisher struct {
	Config
	log *slog.Logger

	mu       sync.Mutex
	prepared map[int64]bool   // tables whose inlined delete table exists
	targets  map[int64]target // by table id
	known    map[int64]*remembered
}

// New makes a publisher and brings its tables in the catalog up to date.
func New(ctx context.Context, c Config) (*Publisher, error) {
	if strings.Contains(c.DataPath, "://") {
		return nil, fault.NotYetSupported.Newf("publishing into the remote data path %s", c.DataPath)
	}
	path, err := filepath.Abs(c.DataPath)
	if err != nil {
		return nil, fault.LakeUnreadable.Wrap(err, "the data path %s", c.DataPath)
	}
	c.DataPath = path
	if c.InlineRows == 0 {
		c.InlineRows = DefaultInlineRows
	}
	log := c.Log
	if log == nil {
		log = slog.Default()
	}
	p := &Publisher{Config: c, log: log.With("component", "publish"), prepared: map[int64]bool{}, targets: map[int64]target{}, known: map[int64]*remembered{}}
	if err := metadata.Migrate(ctx, c.Store, Component, Migrations()); err != nil {
		return nil, err
	}
	return p, nil
}

// own runs f with a connection of the instance's.
func (p *Publisher) own(ctx context.Context, f func(*duck.Conn) error) error {
	c, release, err := p.Acquire(ctx)
	if err != nil {
		return err
	}
	defer release()
	return f(c)
}

func (p *Publisher) broken(r Rule) bool { return p.Faults.Break == r }
