package ducklake

import (
	"context"
	"time"

	"github.com/vegadb/vega-flight/ducklake/duck"
	"github.com/vegadb/vega-flight/ducklake/gate"
	"github.com/vegadb/vega-flight/ducklake/metadata"
	"github.com/vegadb/vega-flight/fault"
)

// LoseAnswer makes the next COMMIT of a user's transaction seem to fail, before or after it has happened.
func (l *Lake) LoseAnswer(before, after error) {
	real := l.commit
	l.commit = func(ctx context.Context, c *duck.Conn) error {
		l.commit = real
		if before != nil {
			return before
		}
		if err := real(ctx, c); err != nil {
			return err
		}
		return after
	}
}

// LoseEnds makes the next n ROLLBACKs fail before they begin, as without memory.
func (l *Lake) LoseEnds(n int, err error) {
	l.pool.settle = func(ctx context.Context, c *duck.Conn) error {
		if n > 0 && c.InTransaction() {
			n--
			return err
		}
		return settleOn(ctx, c)
	}
}

// IdleTransactions is how many pooled connections wait for their next statement with a transaction on them.
func (l *Lake) IdleTransactions() (n int) {
	l.pool.mu.Lock()
	defer l.pool.mu.Unlock()
	for _, c := range l.pool.idle {
		if c.InTransaction() {
			n++
		}
	}
	return n
}

// OnCommit runs f before each COMMIT of a user's transaction, with the commit lock held.
func (l *Lake) OnCommit(f func()) {
	real := l.commit
	l.commit = func(ctx context.Context, c *duck.Conn) error {
		f()
		return real(ctx, c)
	}
}

// SpooledBytes is the disk that open results take.
func (l *Lake) SpooledBytes() int64 {
	l.spool.mu.Lock()
	defer l.spool.mu.Unlock()
	return l.spool.used
}

// HalfBuild leaves a hidden table with rows and its journal entry, as a crash does.
func (l *Lake) HalfBuild(ctx context.Context, schema string) error {
	columns := []gate.Column{{Name: "i", Type: "BIGINT", LakeType: "BIGINT"}}
	b, err := l.startBuild(ctx, schema, columns)
	if err != nil {
		return err
	}
	_, err = b.fill(ctx, l.complete(ConnSettings{}), 1, func(c *duck.Conn) (int64, error) {
		return c.Exec(ctx, `INSERT INTO `+b.name()+` SELECT range FROM range(5000)`)
	})
	return err
}

// BusyConnections is how many pooled connections are in use.
func (l *Lake) BusyConnections() int {
	l.pool.mu.Lock()
	defer l.pool.mu.Unlock()
	return l.pool.out
}

// Builds is how many tables the journal has as being built.
func (l *Lake) Builds(ctx context.Context) (n int, err error) {
	err = l.store.View(ctx, func(tx metadata.Tx) error {
		rows, err := tx.Query(ctx, `SELECT id FROM {M}vega_builds`)
		n = len(rows)
		return err
	})
	return n, err
}

// OnceBeforePublish runs f when the next built table is complete and about to get its name.
func (l *Lake) OnceBeforePublish(f func()) {
	l.beforePublish = func() {
		l.beforePublish = func() {}
		f()
	}
}

// LoseCatalog makes the catalog database unreachable until the returned function is called. The lake's own loops, which use it at any moment,
// end first, and for good.
func (l *Lake) LoseCatalog() (back func()) {
	l.stop()
	l.work.Wait()
	real := l.store
	l.store = goneStore{real}
	return func() { l.store = real }
}

type goneStore struct{ metadata.Store }

func (goneStore) Update(context.Context, func(metadata.Tx) error) error {
	return fault.CatalogGone.Newf("it is not there")
}

// Relieve does what the memory watch does when the process has a ceiling.
func (l *Lake) Relieve(ceiling uint64) bool {
	return l.relieve(context.Background(), ceiling, time.Now())
}

// Weigh gives the memory watch a round's reading of what the process has, DuckDB's buffers have and Go has.
func (l *Lake) Weigh(resident, buffers, own, ceiling uint64, busy bool) {
	l.weigh(reading{resident, buffers, own}, ceiling, busy)
}

// The rounds after which memory is short, and lost.
const (
	ShortRounds = shortRounds
	LostRounds  = lostRounds
)

// Table is a table as the catalog has it.
func (l *Lake) Table(ctx context.Context, schema, name string) (t metadata.TableInfo, err error) {
	err = l.store.View(ctx, func(tx metadata.Tx) (err error) {
		t, _, err = metadata.TableByName(ctx, tx, schema, name, 0)
		return err
	})
	return t, err
}
