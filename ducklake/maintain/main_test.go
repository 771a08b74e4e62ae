package maintain_test

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/vegadb/vega-flight/ducklake"
	"github.com/vegadb/vega-flight/ducklake/duck"
	"github.com/vegadb/vega-flight/ducklake/laketest"
	"github.com/vegadb/vega-flight/ducklake/maintain"
	"github.com/vegadb/vega-flight/ducklake/metadata"
	"github.com/vegadb/vega-flight/ducklake/publish"
)

func TestMain(m *testing.M) { os.Exit(laketest.Main(m)) }

var ctx = context.Background()

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// world is a lake with its publisher and a maintainer for which everything is old at once.
type world struct {
	t       testing.TB
	lake    *ducklake.Lake
	store   metadata.Store
	p       *publish.Publisher
	servers *maintain.Servers
	pins    *maintain.Pins
	owner   publish.Fence
	m       *maintain.Maintainer
	commits int
}

func newWorld(t testing.TB, kind laketest.Kind, change ...func(*maintain.Config)) *world {
	t.Helper()
	w := &world{t: t, lake: laketest.New(t, kind), pins: maintain.NewPins()}
	w.store = w.lake.Store()
	var err error
	w.p, err = w.lake.NewPublisher(ctx)
	must(t, err)
	w.servers = &maintain.Servers{Store: w.store}
	w.owner, err = w.servers.Register(ctx, "me", "here")
	must(t, err)
	c := maintain.Config{Store: w.store, Lock: w.lake.CommitLock(), Lake: w.lake.Name(), Publisher: w.p, Servers: w.servers, Owner: w.owner, Pins: w.pins,
		Acquire:              w.acquire,
		PublicationRetention: 1, CleanupDelay: 1, OrphanAge: 1, FlushRows: 50, MergeFiles: 3}
	for _, f := range change {
		f(&c)
	}
	w.m = maintain.New(c)
	return w
}

func (w *world) acquire(ctx context.Context) (*duck.Conn, func(), error) {
	return w.lake.Acquire(ctx, ducklake.ConnSettings{})
}

func (w *world) exec(sql string, args ...any) {
	w.t.Helper()
	c, release, err := w.acquire(ctx)
	must(w.t, err)
	defer release()
	if _, err := c.Exec(ctx, sql, args...); err != nil {
		w.t.Fatalf("%s: %v", sql, err)
	}
}

func (w *world) rows(sql string, args ...any) [][]any {
	w.t.Helper()
	c, release, err := w.acquire(ctx)
	must(w.t, err)
	defer release()
	rows, err := c.Rows(ctx, sql, args...)
	if err != nil {
		w.t.Fatalf("%s: %v", sql, err)
	}
	return rows
}

func (w *world) number(sql string, args ...any) int64 {
	w.t.Helper()
	return w.rows(sql, args...)[0][0].(int64)
}

// catalog is a single integer of a query on the catalog database.
func (w *world) catalog(sql string, args ...any) int64 {
	w.t.Helper()
	var n int64
	must(w.t, w.store.View(ctx, func(tx metadata.Tx) error {
		rows, err := tx.Query(ctx, sql, args...)
		if err == nil {
			n, _ = rows[0][0].(int64)
		}
		return err
	}))
	return n
}

func (w *world) update(f func(metadata.Tx) error) error { return w.store.Update(ctx, f) }

func (w *world) table(name string) metadata.TableInfo {
	w.t.Helper()
	must(w.t, w.lake.DDL(ctx, "CREATE TABLE lake.main."+name+"(k BIGINT)"))
	var table metadata.TableInfo
	must(w.t, w.store.View(ctx, func(tx metadata.Tx) error {
		t, _, err := metadata.TableByName(ctx, tx, "main", name, 0)
		table = t
		return err
	}))
	must(w.t, w.p.Prepare(ctx, table))
	return table
}

func (w *world) stage(table metadata.TableInfo, rows int, owner publish.Fence) *publish.Staged {
	w.t.Helper()
	c, release, err := w.acquire(ctx)
	must(w.t, err)
	defer release()
	s, err := w.p.Stage(ctx, c, publish.StageSpec{Table: table, Query: fmt.Sprintf("FROM range(%d)", rows), JobID: "job", Owner: owner}, nil)
	must(w.t, err)
	return s
}

// publish publishes the next state of a table and gives its snapshot.
func (w *world) publish(table metadata.TableInfo, epoch int64, pub publish.Publication) int64 {
	w.t.Helper()
	w.commits++
	pub.CommitID, pub.Table, pub.Swap = fmt.Sprint("c", w.commits), table, publish.Swap{UUID: table.UUID, Epoch: epoch}
	r, err := w.p.Publish(ctx, pub)
	must(w.t, err)
	must(w.t, r[0].Err)
	return r[0].Snapshot
}

func (w *world) replace(table metadata.TableInfo, epoch int64, rows int) int64 {
	w.t.Helper()
	return w.publish(table, epoch, publish.Publication{Replace: w.stage(table, rows, w.owner), Owner: w.owner})
}

func (w *world) run() maintain.Report {
	w.t.Helper()
	r, err := w.m.RunOnce(ctx)
	must(w.t, err)
	return r
}

// snapshots are the ids that are left.
func (w *world) snapshots() map[int64]bool {
	w.t.Helper()
	out := map[int64]bool{}
	must(w.t, w.store.View(ctx, func(tx metadata.Tx) error {
		rows, err := tx.Query(ctx, `SELECT snapshot_id FROM {M}ducklake_snapshot`)
		for _, r := range rows {
			out[r[0].(int64)] = true
		}
		return err
	}))
	return out
}
