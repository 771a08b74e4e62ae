package ducklake

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"

	"github.com/vegadb/vega-flight/ducklake/duck"
	"github.com/vegadb/vega-flight/ducklake/gate"
	"github.com/vegadb/vega-flight/ducklake/metadata"
)

// Lake is an open lake: one DuckDB instance that has it attached. It is safe for concurrent use.
type Lake struct {
	config     Config
	place      place
	file       os.FileInfo // the catalog file that is open; nil for another catalog
	log        *slog.Logger
	db         *duck.DB
	keep       *duck.Conn // keeps the in-memory instance's databases attached, and runs nothing but options
	store      metadata.Store
	lock       *metadata.CommitLock
	ddl        chan struct{} // one DDL statement at a time
	pool       *pool
	gate       *gate.Gate
	temp       *tempDir
	spool      *quota
	notice     *notice
	registered registered
	writers    writers
	memory     memory
	data       string // the data path, with a slash at its end

	boundsSeen   atomic.Int64 // the files below this id have no bounds that make readers skip them wrongly
	inliningSeen atomic.Int64 // the schema version that settleInlining has seen

	fatalOnce sync.Once
	fatal     chan struct{}
	failure   error // before fatal is closed

	stop context.CancelFunc
	work sync.WaitGroup

	// What tests replace: COMMIT on a connection, and a step before a built table gets its name.
	commit        func(ctx context.Context, c *duck.Conn) error
	beforePublish func()
}

// Name is the lake's catalog name in SQL.
func (l *Lake) Name() string { return l.config.Name }

// ServerID names this server among those that open the lake.
func (l *Lake) ServerID() string { return l.config.ServerID }

// DataPath is the absolute folder of the data files, with a slash at its end.
func (l *Lake) DataPath() string { return l.data }

// CatalogFile is the file of an embedded catalog, "" for another one.
func (l *Lake) CatalogFile() string { return l.place.file }

// Removed says that an embedded catalog's file has been removed or replaced while the lake is open. DuckDB keeps its log beside it by name,
// and would end that of whoever is there now.
func (l *Lake) Removed() bool {
	if l.file == nil {
		return false
	}
	now, err := os.Stat(l.place.file)
	return errors.Is(err, fs.ErrNotExist) || err == nil && !os.SameFile(l.file, now)
}

// TempDir is a folder of this process for files that need not outlive it.
func (l *Lake) TempDir() string { return l.temp.path }

// Store is the catalog database.
func (l *Lake) Store() metadata.Store { return l.store }

// CommitLock is held around everything that makes a snapshot of this lake.
func (l *Lake) CommitLock() *metadata.CommitLock { return l.lock }

// Gate is the shadow that admits users' statements.
func (l *Lake) Gate() *gate.Gate { return l.gate }

// Shared says whether other servers may have the lake open too.
func (l *Lake) Shared() bool { return l.store.Dialect() == metadata.PostgreSQL }

// Snapshot is the newest snapshot.
func (l *Lake) Snapshot(ctx context.Context) (metadata.Snapshot, error) {
	var s metadata.Snapshot
	err := l.store.View(ctx, func(tx metadata.Tx) (err error) {
		s, err = metadata.Latest(ctx, tx)
		return err
	})
	return s, err
}

// Acquire gives a pooled connection with the settings, for one reader at a time. What is run on it must be the
// server's own SQL and leave no state behind: no temporary object, no transaction, no SET. release gives it back;
// it closes an open result first.
func (l *Lake) Acquire(ctx context.Context, s ConnSettings) (conn *duck.Conn, release func(), err error) {
	c, err := l.pool.take(ctx, l.complete(s))
	if err != nil {
		return nil, nil, l.check(err)
	}
	unpin := l.pin()
	return c.Conn, sync.OnceFunc(func() {
		unpin()
		l.pool.give(c)
	}), nil
}

// pin says that a reader or transaction begins; the returned function, that it has ended.
func (l *Lake) pin() (release func()) {
	if l.config.Pin == nil {
		return func() {}
	}
	return l.config.Pin()
}

// DDL runs one statement of trusted text that changes the lake's schema, by itself.
func (l *Lake) DDL(ctx context.Context, sql string) error {
	_, err := l.runDDL(ctx, l.complete(ConnSettings{}), sql, nil)
	return err
}

// runDDL runs a DDL statement under the DDL mutex and the commit lock: its commit is part of the statement.
func (l *Lake) runDDL(ctx context.Context, s ConnSettings, sql string, args []any) (int64, error) {
	select {
	case l.ddl <- struct{}{}:
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	defer func() { <-l.ddl }()
	c, err := l.pool.take(ctx, s)
	if err != nil {
		return 0, l.check(err)
	}
	unlock, err := l.lock.Lock(ctx)
	if err != nil {
		l.pool.give(c)
		return 0, err
	}
	n, err := c.Exec(ctx, sql, args...)
	unlock()
	// DDL is what could leave something on a connection, so nobody gets this one again.
	l.pool.spoil(c)
	if err != nil {
		return 0, l.check(err)
	}
	if err := l.settleInlining(context.WithoutCancel(ctx)); err != nil {
		l.log.Error("the catalog may change inlined rows of new tables", "error", l.check(err))
	}
	l.Notify()
	return n, nil
}

// Fatal is closed when the DuckDB instance refuses all further work, or has lost the memory for it. The process has to
// end then; a supervisor starts it again.
func (l *Lake) Fatal() <-chan struct{} { return l.fatal }

// check looks for the end of the instance in an error on its way up, and makes conflicts and time limits faults.
func (l *Lake) check(err error) error {
	if err == nil {
		return nil
	}
	bad := l.db.Poisoned()
	if bad == nil && l.gate != nil {
		bad = l.gate.Poisoned() // without it no statement is admitted
	}
	if bad != nil {
		l.end(bad, "DuckDB's instance is unusable and must be started anew")
	}
	return translate(err)
}

// Close ends the lake. Sessions must be closed before. The catalog is checkpointed into its file.
func (l *Lake) Close() error {
	l.stop()
	l.work.Wait()
	if l.memory.ceiling > 0 {
		duck.SetCeiling(0)
	}
	l.notice.close()
	var errs []error
	if l.gate != nil {
		errs = append(errs, l.gate.Close())
	}
	if l.store != nil {
		errs = append(errs, l.store.Close())
	}
	errs = append(errs, l.pool.close())
	if l.keep != nil {
		errs = append(errs, l.detach(), l.keep.Close())
	}
	errs = append(errs, l.db.Close(), l.temp.remove())
	l.release()
	return errors.Join(errs...)
}

// detach takes the lake out of the instance. DuckLake keeps every transaction whose COMMIT failed, with a connection
// that keeps the instance: without this, closing it would end neither its threads nor its hold on the catalog file.
func (l *Lake) detach() error {
	if l.db.Poisoned() != nil {
		return nil //nolint:nilerr // nothing can be run any more, and the process ends
	}
	_, err := l.keep.Exec(context.Background(), `USE memory.main; DETACH DATABASE IF EXISTS `+metadata.QuoteIdent(l.config.Name))
	return err
}
