package maintain

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/vegadb/vega-flight/ducklake/duck"
	"github.com/vegadb/vega-flight/ducklake/metadata"
	"github.com/vegadb/vega-flight/ducklake/publish"
)

// Config is what a Maintainer works with and when it does what.
type Config struct {
	Store     metadata.Store
	Lock      *metadata.CommitLock
	Lake      string // the name the lake is attached under
	Publisher *publish.Publisher
	Servers   *Servers
	Owner     publish.Fence // this server; its own remains are never cleared away here
	Pins      *Pins
	Acquire   func(context.Context) (conn *duck.Conn, release func(), err error)
	// TakenOver is told of each server whose work is this one's now, up to and including the epoch, after it was fenced and
	// before what it staged is removed. An error leaves the server's registration, and it is told again.
	TakenOver func(ctx context.Context, dead publish.Fence) error
	// Unread is the snapshot after which users' snapshots still tell somebody how far behind he is; 0 for nobody. May be nil.
	Unread func(ctx context.Context, tx metadata.Tx) (int64, error)
	// Flushable says that a user's table may be flushed now: files keep its values, and nobody is writing it. Nil for none of them.
	Flushable func(metadata.TableInfo) bool
	// Strays removes data files that were begun before a time and that the catalog does not know, and says how many. Nil where they are
	// removed in other ways.
	Strays func(ctx context.Context, before time.Time) (int64, error)
	Log    *slog.Logger

	Every                time.Duration // between two runs; 0 is 10 s
	FlushRows            int64         // pending inlined rows and deletes of a table that make a flush; 0 is 10,000
	MergeFiles           int64         // small files of a table that make a merge; 0 is 32
	PublicationRetention time.Duration // snapshots that hold only our publications are kept so long; 0 is 1 h
	UserRetention        time.Duration // users' snapshots; 0 is for ever
	CleanupDelay         time.Duration // retired files stay on disk so long at least; 0 is 10 min
	OrphanAge            time.Duration // staged files of dead servers stay so long at least; 0 is 1 min
	StrayAge             time.Duration // data files that the catalog does not know stay so long at least; 0 is 24 h
	StrayEvery           time.Duration // between two times of looking for them; 0 is 1 h
}

func (c *Config) withDefaults() {
	set := func(d *time.Duration, to time.Duration) {
		if *d == 0 {
			*d = to
		}
	}
	set(&c.Every, 10*time.Second)
	set(&c.PublicationRetention, time.Hour)
	set(&c.CleanupDelay, 10*time.Minute)
	set(&c.OrphanAge, time.Minute)
	set(&c.StrayAge, 24*time.Hour)
	set(&c.StrayEvery, time.Hour)
	if c.FlushRows == 0 {
		c.FlushRows = 10_000
	}
	if c.MergeFiles == 0 {
		c.MergeFiles = 32
	}
	if c.Pins == nil {
		c.Pins = NewPins()
	}
	if c.Log == nil {
		c.Log = slog.Default()
	}
}

// Maintainer does a lake's maintenance from one server. Several servers may maintain one lake.
type Maintainer struct {
	Config
	log    *slog.Logger
	looked time.Time // for stray files
}

// Report is what one run did.
type Report struct {
	TakenOver []string // server ids
	Flushed   []int64  // table ids
	Merged    []int64
	Expired   []int64 // snapshot ids
	Purged    int64   // inlined rows and deletes that no snapshot shows any more
	Removed   int64   // files
}

// New makes a maintainer.
func New(c Config) *Maintainer {
	c.withDefaults()
	return &Maintainer{Config: c, log: c.Log.With("component", "maintain")}
}

// Run does what is due, again and again, until ctx ends.
func (m *Maintainer) Run(ctx context.Context) {
	tick := time.NewTicker(m.Every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			report, err := m.RunOnce(ctx)
			if err != nil && ctx.Err() == nil {
				m.log.Warn("maintenance", "error", err)
			}
			if report.did() {
				m.log.Info("maintenance", "taken_over", report.TakenOver, "flushed", report.Flushed, "merged", report.Merged,
					"expired", len(report.Expired), "purged", report.Purged, "removed", report.Removed)
			}
		}
	}
}

func (r Report) did() bool {
	return len(r.TakenOver)+len(r.Flushed)+len(r.Merged)+len(r.Expired) > 0 || r.Purged+r.Removed > 0
}

// RunOnce does what is due now. A step that fails does not keep the others from running.
func (m *Maintainer) RunOnce(ctx context.Context) (Report, error) {
	var r Report
	var errs []error
	for _, step := range []func(context.Context, *Report) error{m.takeOver, m.deadHolds, m.expire, m.move, m.flushUsers, m.strays, m.cleanup} {
		if err := ctx.Err(); err != nil {
			return r, err
		}
		errs = append(errs, step(ctx, &r))
	}
	return r, errors.Join(errs...)
}

// takeOver fences servers that are gone and clears away what they staged.
func (m *Maintainer) takeOver(ctx context.Context, r *Report) error {
	servers, err := m.Servers.List(ctx)
	if err != nil {
		return err
	}
	now, err := m.Store.Now(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for _, s := range servers {
		if !s.Expired || s.ID == m.Owner.ServerID {
			continue
		}
		won, err := m.Servers.TakeOver(ctx, s)
		if err != nil || !won {
			errs = append(errs, err)
			continue
		}
		r.TakenOver = append(r.TakenOver, s.ID)
		dead := publish.Fence{ServerID: s.ID, Epoch: s.Epoch}
		if m.TakenOver != nil {
			err = m.TakenOver(ctx, dead)
		}
		if err == nil {
			err = m.Publisher.DiscardOwner(ctx, dead)
		}
		if err == nil {
			err = m.Servers.forget(ctx, s.ID, s.Epoch+1)
		}
		errs = append(errs, err)
	}
	// Folders whose owner is not registered any more: it left, or was forgotten after a crash of whoever took over.
	errs = append(errs, m.orphans(ctx, now))
	return errors.Join(errs...)
}

// orphans discards staged files of owners that cannot come back.
func (m *Maintainer) orphans(ctx context.Context, now time.Time) error {
	var owners []publish.Fence
	err := m.Store.View(ctx, func(tx metadata.Tx) error {
		owners = nil
		// A registration with a higher epoch is a later incarnation of the same server: the older one is fenced.
		rows, err := tx.Query(ctx, `SELECT f.server_id, max(f.server_epoch) FROM {M}vega_staged f
			WHERE f.server_id <> '' AND f.created_at < $1
				AND NOT EXISTS (SELECT 1 FROM {M}vega_servers s WHERE s.id = f.server_id AND s.epoch <= f.server_epoch)
			GROUP BY f.server_id`, now.Add(-m.OrphanAge))
		for _, r := range rows {
			var o publish.Fence
			o.ServerID, _ = r[0].(string)
			o.Epoch, _ = r[1].(int64)
			owners = append(owners, o)
		}
		return err
	})
	errs := []error{err}
	for _, o := range owners {
		errs = append(errs, m.Publisher.DiscardOwner(ctx, o))
	}
	return errors.Join(errs...)
}
