package lake

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/vegadb/vega-flight/ducklake/duck"
	"github.com/vegadb/vega-flight/ducklake/laketest"
	"github.com/vegadb/vega-flight/ducklake/maintain"
	"github.com/vegadb/vega-flight/ducklake/metadata"
	"github.com/vegadb/vega-flight/ducklake/publish"
	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/ivm/catalog"
	"github.com/vegadb/vega-flight/ivm/stream"
	"github.com/vegadb/vega-flight/ivm/zset"
)

// Holds are moved, added and let go together, and keep what follows them.
func TestHold(t *testing.T) {
	laketest.Each(t, func(t *testing.T, kind laketest.Kind) {
		w := newWorld(t, kind)
		at := w.head()
		for _, tables := range []map[int64]int64{{1: at, 2: at}, {2: at, 3: at}, {}, {7: at}} {
			must(t, w.results.Hold(w.ctx, "view.1", tables))
			must(t, w.results.Hold(w.ctx, "other", map[int64]int64{1: at}))
			got := map[int64]int64{}
			for _, h := range w.holds() {
				if h.Holder == "view.1" && !h.Exact {
					got[h.TableID] = h.Snapshot
				}
			}
			if len(got) != len(tables) {
				t.Errorf("%v are held, not %v", got, tables)
			}
			for id, s := range tables {
				if got[id] != s {
					t.Errorf("%v are held, not %v", got, tables)
				}
			}
		}
		if err := w.results.Hold(w.ctx, "view.1", map[int64]int64{7: at, 8: at + 1000}); fault.CodeOf(err) != fault.HistoryExpired {
			t.Errorf("a snapshot that is not there was held: %v", err)
		}
		if n := len(w.holds()); n != 2 {
			t.Errorf("%d holds after one that failed", n)
		}
		must(t, w.results.Release(w.ctx, "view.1"))
		if h := w.holds(); len(h) != 1 || h[0].Holder != "other" {
			t.Errorf("%v are left", h)
		}
	})
}

func (w *world) holds() (out []maintain.Hold) {
	w.t.Helper()
	must(w.t, w.lake.Store().View(w.ctx, func(tx metadata.Tx) (err error) {
		out, err = maintain.Holds(w.ctx, tx)
		return err
	}))
	return out
}

// A frontier that moves without a change makes no snapshot, is seen by who knew the views before, and does not go over a newer publication.
func TestReflect(t *testing.T) {
	laketest.Each(t, func(t *testing.T, kind laketest.Kind) {
		w := newWorld(t, kind)
		a, b := w.newView("a", simple, false), w.newView("b", simple, false)
		must(t, w.publish([]*view{a, b}, w.universe(a, 5), zset.New(b.layout)))
		head := w.head()
		revision, err := w.sink.Store.Views().Revision(w.ctx)
		must(t, err)
		old := b.change(nil)
		must(t, w.publish([]*view{b}, w.universe(b, 5)))
		gone := old
		gone.UUID = "of a view that was dropped"
		moved := []stream.Change{a.change(nil), gone, old}
		for i := range moved {
			moved[i].Frontier = catalog.Frontier{SourceVersion: 77}
		}
		if err := w.results.Reflect(w.ctx, moved); fault.CodeOf(err) != fault.RefreshConflict {
			t.Errorf("a frontier over a newer publication: %v", err)
		}
		must(t, w.results.Reflect(w.ctx, moved[:2]))
		if now := w.head(); now != head+1 {
			t.Errorf("snapshot %d became %d", head, now)
		}
		if now, err := w.sink.Store.Views().Revision(w.ctx); err != nil || now.Rows == revision.Rows {
			t.Errorf("nobody is told: %v, %v", now, err)
		}
		for v, want := range map[*view]int64{a: 77, b: 0} {
			p, err := w.sink.current(w.ctx, v.table.UUID)
			must(t, err)
			f, err := catalog.DecodeFrontier(p.Frontier)
			if err != nil || f.SourceVersion != want {
				t.Errorf("view %s is at %d, not %d: %v", v.table.Name, f.SourceVersion, want, err)
			}
		}
	})
}

// The server's maintenance flushes and merges results like any published table, between any two changes.
func TestMaintenance(t *testing.T) {
	laketest.Each(t, func(t *testing.T, kind laketest.Kind) {
		rnd := rand.New(rand.NewPCG(1, 9))
		w := newWorld(t, kind, inlining(60))
		v, still, grows := w.newView("v", simple, true), w.newView("still", simple, false), w.newView("grows", simple, false)
		servers := &maintain.Servers{Store: w.lake.Store()}
		owner, err := servers.Register(w.ctx, "me", "")
		must(t, err)
		m := maintain.New(maintain.Config{Store: w.lake.Store(), Lock: w.lake.CommitLock(), Lake: w.lake.Name(), Publisher: w.sink.Publisher,
			Servers: servers, Owner: owner, Acquire: w.acquire, FlushRows: 40, MergeFiles: 3, PublicationRetention: 1, CleanupDelay: 1})
		universe := w.universe(v, 60)
		still.publish(w.universe(still, 30))
		var mark stream.Mark
		var flushed, merged, expired int
		for step := range 25 {
			must(t, w.publish([]*view{v, grows}, v.draw(rnd, universe, 15, 12), grows.draw(rnd, universe, 15, 0)))
			v.check()
			grows.check()
			if step%8 == 0 {
				mark = v.checkpoint()
			}
			r, err := m.RunOnce(w.ctx)
			must(t, err)
			flushed, merged, expired = flushed+len(r.Flushed), merged+len(r.Merged), expired+len(r.Expired)
			if step%8 == 5 {
				v.restart(mark)
				// Snapshots since the mark are gone: who cannot know says so, and the difference is what heals it.
				if err := w.publish([]*view{v}, zset.New(v.layout)); err != nil {
					t.Fatal(err)
				}
				diff, err := v.res.Difference(w.ctx, v.want.Clone())
				must(t, err)
				if diff.Len() != 0 {
					t.Fatalf("the table has other rows than it should:\n%s", diff.Print())
				}
			}
		}
		gone := v.want.Clone()
		gone.Negate()
		must(t, w.publish([]*view{v}, gone))
		v.flush() // every row of every file is in a delete file now
		head := w.head()
		v.publish(v.draw(rnd, universe, 10, 0))
		_, err = m.RunOnce(w.ctx)
		must(t, err)
		v.publish(v.draw(rnd, universe, 10, 10))
		must(t, w.lake.Store().View(w.ctx, func(tx metadata.Tx) error {
			n, err := publish.Dead(w.ctx, tx, v.table.ID)
			if n != 0 {
				t.Errorf("%d files without a row are left", n)
			}
			return err
		}))
		w.conn(func(c *duck.Conn) {
			rows, err := c.Rows(w.ctx, fmt.Sprintf("SELECT count(*) FROM lake.main.v AT (VERSION => %d)", head))
			if err == nil && rows[0][0] != int64(0) { // it may be expired
				t.Errorf("%v rows were there before", rows[0][0])
			}
		})
		if flushed == 0 || merged == 0 || expired == 0 {
			t.Errorf("%d flushes, %d merges, %d snapshots expired", flushed, merged, expired)
		}
		// One that was idle all the time goes on as well, though what happened meanwhile is expired.
		still.publish(still.draw(rnd, w.universe(still, 20), 10, 10))
	})
}

// Bundles that are ready at the same time share a snapshot; one that loses does not keep the others from it.
func TestBundlesShareACommit(t *testing.T) {
	laketest.Each(t, func(t *testing.T, kind laketest.Kind) {
		rnd := rand.New(rand.NewPCG(1, 10))
		w := newWorld(t, kind)
		var views []*view
		for _, name := range []string{"a", "b", "c", "d", "first"} {
			views = append(views, w.newView(name, simple, false))
		}
		universe := w.universe(views[0], 30)
		must(t, w.publish(views, slices.Repeat([]*zset.Batch{universe}, len(views))...))

		joined := make(chan struct{}, 8)
		led, held, commit := make(chan struct{}), make(chan struct{}), w.sink.group.commit
		calls := 0 // one commit at a time
		w.sink.group.commit = func(ctx context.Context, pubs ...publish.Publication) ([]publish.Result, error) {
			if calls++; calls == 1 {
				close(led)
				<-held
			}
			return commit(ctx, pubs...)
		}
		w.sink.Faults.Joined = func() { joined <- struct{}{} }
		outcome := make([]error, 3)
		ended := make(chan struct{}, 3)
		snapshots := make([]int64, 3)
		run := func(i int, vs ...*view) {
			c := stream.Commitment{ID: "bundle " + vs[0].table.Name}
			for _, v := range vs {
				c.Members = append(c.Members, v.change(v.draw(rnd, universe, 5, 5)))
			}
			go func() {
				var done []stream.Published
				done, outcome[i] = w.results.Publish(w.ctx, c)
				if outcome[i] == nil {
					snapshots[i] = done[0].Snapshot
				}
				ended <- struct{}{}
			}()
			<-joined
		}
		views[3].epoch += 5 // loses
		run(0, views[4])
		<-led // who comes now is not of that commit
		run(1, views[0], views[1])
		run(2, views[2], views[3])
		close(held)
		for range 3 {
			<-ended
		}
		if outcome[0] != nil || outcome[1] != nil || fault.CodeOf(outcome[2]) != fault.RefreshConflict {
			t.Errorf("%v", outcome)
		}
		if calls != 2 || snapshots[1] != snapshots[0]+1 {
			t.Errorf("%d commits, snapshots %v", calls, snapshots)
		}
	})
}
