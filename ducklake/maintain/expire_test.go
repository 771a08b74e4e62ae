package maintain_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/vegadb/vega-flight/ducklake/laketest"
	"github.com/vegadb/vega-flight/ducklake/maintain"
	"github.com/vegadb/vega-flight/ducklake/metadata"
	"github.com/vegadb/vega-flight/ducklake/publish"
	"github.com/vegadb/vega-flight/fault"
)

// Constant publishing does not grow the catalog: only what somebody needs stays, and users' snapshots always.
func TestExpiryKeepsWhatIsNeeded(t *testing.T) {
	laketest.Each(t, func(t *testing.T, kind laketest.Kind) {
		w := newWorld(t, kind)
		v, u := w.table("v"), w.table("u")
		w.exec("CREATE TABLE lake.main.users(i BIGINT)")
		var ids []int64
		for i := range int64(6) {
			ids = append(ids, w.replace(v, i, 10+int(i)))
		}
		w.exec("INSERT INTO lake.main.users VALUES (1)")
		foreign := w.catalog(`SELECT max(snapshot_id) FROM {M}ducklake_snapshot`)
		for i := range int64(3) {
			ids = append(ids, w.replace(u, i, 5))
		}
		ids = append(ids, w.replace(v, 6, 99))
		users := w.snapshots()
		for _, id := range ids {
			delete(users, id)
		}

		release := w.pins.Pin(ids[3])
		must(t, w.update(func(tx metadata.Tx) error {
			return maintain.SetHold(ctx, tx, maintain.Hold{Holder: "exact", Snapshot: ids[1], Exact: true})
		}))
		expired := w.run().Expired
		if !slices.Equal(expired, []int64{ids[0], ids[2]}) {
			t.Errorf("expired %v of %v with 3 pinned and 1 held", expired, ids)
		}
		if n := w.number(fmt.Sprintf("SELECT count(*) FROM lake.main.v AT (VERSION => %d)", ids[1])); n != 11 {
			t.Errorf("the held snapshot has %d rows", n)
		}
		release()
		// A consumer of changes needs its snapshot and all that follow.
		must(t, w.update(func(tx metadata.Tx) error {
			return maintain.SetHold(ctx, tx, maintain.Hold{Holder: "feed", TableID: v.ID, Snapshot: ids[5]})
		}))
		if expired = w.run().Expired; !slices.Equal(expired, []int64{ids[3], ids[4]}) {
			t.Errorf("expired %v with a feed from %d", expired, ids[5])
		}
		must(t, w.update(func(tx metadata.Tx) error {
			if err := maintain.SetHold(ctx, tx, maintain.Hold{Holder: "feed", TableID: v.ID, Snapshot: ids[7]}); err != nil {
				return err
			}
			return maintain.ReleaseHolds(ctx, tx, "exact")
		}))
		if expired = w.run().Expired; !slices.Equal(expired, []int64{ids[1], ids[5], ids[6]}) {
			t.Errorf("expired %v with a feed from %d", expired, ids[7])
		}
		must(t, w.update(func(tx metadata.Tx) error { return maintain.ReleaseHolds(ctx, tx, "feed") }))
		w.run()
		// The newest publication of each table is what it is served from.
		left := w.snapshots()
		for _, id := range ids {
			if left[id] != (id == ids[8] || id == ids[9]) {
				t.Errorf("publication %d is there: %v", id, left[id])
			}
		}
		for id := range users {
			if !left[id] {
				t.Errorf("the users' snapshot %d is gone", id)
			}
		}
		if !left[foreign] {
			t.Error("a user's insert is gone")
		}
		if n := w.number("SELECT count(*) FROM lake.main.v"); n != 99 {
			t.Errorf("%d rows", n)
		}
		err := w.update(func(tx metadata.Tx) error {
			return maintain.SetHold(ctx, tx, maintain.Hold{Holder: "late", Snapshot: ids[0]})
		})
		if fault.CodeOf(err) != fault.HistoryExpired {
			t.Errorf("holding what is gone gave %v", err)
		}
		if n := w.catalog(`SELECT count(*) FROM {M}vega_holds`); n != 0 {
			t.Errorf("%d holds are left", n)
		}
	})
}

// Retired files stay while a reader may need them, then go; live files stay for ever.
func TestCleanupWaitsForReaders(t *testing.T) {
	laketest.Each(t, func(t *testing.T, kind laketest.Kind) {
		w := newWorld(t, kind)
		v := w.table("v")
		first := w.stage(v, 10, w.owner)
		w.publish(v, 0, publish.Publication{Replace: first, Owner: w.owner})
		second := w.stage(v, 20, w.owner)
		w.publish(v, 1, publish.Publication{Replace: second, Owner: w.owner})
		exists := func(s *publish.Staged) bool {
			_, err := os.Stat(s.Paths(w.lake.DataPath())[0])
			return err == nil
		}
		release := w.pins.Pin(0)
		if r := w.run(); r.Removed != 0 || !exists(first) {
			t.Errorf("%+v, the file is there: %v", r, exists(first))
		}
		release()
		// The reader is gone: the snapshot expires, which retires the file, and it is removed.
		r := w.run()
		for range 3 {
			if !exists(first) {
				break
			}
			more := w.run()
			r.Removed += more.Removed
		}
		if r.Removed != 1 || exists(first) || !exists(second) {
			t.Errorf("%+v, the files are there: %v, %v", r, exists(first), exists(second))
		}
		if n := w.number("SELECT count(*) FROM lake.main.v"); n != 20 {
			t.Errorf("%d rows", n)
		}
	})
}

// Pending rows are flushed, small files merged, and what no snapshot shows is not made a file at all.
func TestFlushMergePurge(t *testing.T) {
	laketest.Each(t, func(t *testing.T, kind laketest.Kind) {
		w := newWorld(t, kind)
		w.exec("CALL lake.set_option('data_inlining_row_limit', 1000)")
		v := w.table("v")
		epoch := int64(0)
		insert := func(n int) {
			c, release, err := w.acquire(ctx)
			must(t, err)
			defer release()
			reader, err := c.Query(ctx, fmt.Sprintf("FROM range(%d) t(k)", n))
			must(t, err)
			reader.Next()
			batch := reader.RecordBatch()
			batch.Retain()
			defer batch.Release()
			must(t, reader.Close())
			w.publish(v, epoch, publish.Publication{Delta: &publish.Delta{Insert: []arrow.RecordBatch{batch}}, Owner: w.owner})
			epoch++
		}
		insert(40)
		if r := w.run(); len(r.Flushed) != 0 {
			t.Errorf("40 rows were flushed: %+v", r)
		}
		rows := int64(40)
		for range 3 {
			insert(60)
			rows += 60
			if r := w.run(); !slices.Equal(r.Flushed, []int64{v.ID}) && !slices.Equal(r.Merged, []int64{v.ID}) {
				t.Errorf("60 more rows: %+v", r)
			}
		}
		w.run()
		if n := w.catalog(`SELECT count(*) FROM {M}ducklake_data_file WHERE table_id = $1 AND end_snapshot IS NULL`, v.ID); n >= 3 {
			t.Errorf("%d files are left after the merge", n)
		}
		if n := w.number("SELECT count(*) FROM lake.main.v"); n != rows {
			t.Errorf("%d rows, not %d", n, rows)
		}
		if w.catalog(`SELECT count(*) FROM {M}ducklake_metadata WHERE key = 'auto_compact' AND scope = 'table' AND scope_id = $1 AND value = 'false'`, v.ID) != 1 {
			t.Error("auto_compact is not off any more")
		}
		// Rows that were inlined and replaced: once their snapshots are gone they are just removed.
		insert(70)
		w.replace(v, epoch, 5)
		files := w.catalog(`SELECT count(*) FROM {M}ducklake_data_file WHERE table_id = $1 AND end_snapshot IS NULL`, v.ID)
		r := w.run()
		r2 := w.run()
		if len(r2.Flushed) != 0 || r.Purged+r2.Purged == 0 {
			t.Errorf("dead rows: %+v, then %+v", r, r2)
		}
		if n := w.catalog(`SELECT count(*) FROM {M}ducklake_data_file WHERE table_id = $1 AND end_snapshot IS NULL`, v.ID); len(r.Flushed) == 0 && n != files {
			t.Errorf("%d files, there were %d", n, files)
		}
		if n := w.number("SELECT count(*) FROM lake.main.v"); n != 5 {
			t.Errorf("%d rows", n)
		}
	})
}

// What a dead server has staged is removed after it is fenced; a live one's is not touched, nor is anybody's young.
func TestTakeOver(t *testing.T) {
	laketest.Each(t, func(t *testing.T, kind laketest.Kind) {
		var told []publish.Fence
		w := newWorld(t, kind, func(c *maintain.Config) {
			c.TakenOver = func(_ context.Context, dead publish.Fence) error { told = append(told, dead); return nil }
		})
		v := w.table("v")
		short := &maintain.Servers{Store: w.store, Lease: time.Millisecond}
		dead, err := short.Register(ctx, "dead", "")
		must(t, err)
		alive, err := w.servers.Register(ctx, "alive", "")
		must(t, err)
		left, err := w.servers.Register(ctx, "left", "")
		must(t, err)
		theirs, others, gone, mine := w.stage(v, 1, dead), w.stage(v, 2, alive), w.stage(v, 3, left), w.stage(v, 4, w.owner)
		must(t, w.servers.Leave(ctx, left))
		for { // the lease runs out by the catalog's clock
			all, err := w.servers.List(ctx)
			must(t, err)
			if i := slices.IndexFunc(all, func(s maintain.Server) bool { return s.ID == "dead" }); all[i].Expired {
				break
			}
		}
		r := w.run()
		if !slices.Equal(r.TakenOver, []string{"dead"}) || len(told) != 1 || told[0] != dead {
			t.Errorf("%+v, told %v", r, told)
		}
		for _, c := range []struct {
			s    *publish.Staged
			left bool
		}{{theirs, false}, {others, true}, {gone, false}, {mine, true}} {
			if _, err := os.Stat(c.s.Paths(w.lake.DataPath())[0]); (err == nil) != c.left {
				t.Errorf("the %d staged rows: %v", c.s.Rows, err)
			}
		}
		if fault.CodeOf(short.Renew(ctx, dead, nil)) != fault.Fenced {
			t.Error("the dead server may go on")
		}
		if again := w.run(); len(again.TakenOver) != 0 {
			t.Errorf("again: %+v", again)
		}
		w.publish(v, 0, publish.Publication{Replace: others, Owner: alive})
	})
}

// What the readers of another server need is known from its lease.
func TestPinsOfOtherServers(t *testing.T) {
	laketest.Each(t, func(t *testing.T, kind laketest.Kind) {
		w := newWorld(t, kind)
		v := w.table("v")
		var ids []int64
		for i := range int64(3) {
			ids = append(ids, w.replace(v, i, 1))
		}
		other, err := w.servers.Register(ctx, "other", "")
		must(t, err)
		pins := maintain.NewPins()
		release := pins.Pin(ids[0])
		must(t, w.servers.Renew(ctx, other, pins))
		if r := w.run(); len(r.Expired) != 0 {
			t.Errorf("%+v while another server reads", r)
		}
		release()
		must(t, w.servers.Renew(ctx, other, pins))
		if r := w.run(); !slices.Equal(r.Expired, ids[:2]) {
			t.Errorf("%+v of %v", r, ids)
		}
	})
}

func TestJournal(t *testing.T) {
	laketest.Each(t, func(t *testing.T, kind laketest.Kind) {
		w := newWorld(t, kind)
		must(t, w.update(func(tx metadata.Tx) error {
			for _, e := range []maintain.Entry{{ID: "a", Kind: "k", Payload: "1", Owner: w.owner}, {ID: "b", Kind: "k", Payload: "2"}, {ID: "a", Kind: "k", Payload: "3", Owner: w.owner}} {
				if err := maintain.WriteEntry(ctx, tx, e); err != nil {
					return err
				}
			}
			return nil
		}))
		must(t, w.update(func(tx metadata.Tx) error {
			all, err := maintain.Entries(ctx, tx, "")
			if err != nil || len(all) != 2 {
				t.Errorf("%v, %v", all, err)
			}
			mine, err := maintain.Entries(ctx, tx, w.owner.ServerID)
			if err != nil || len(mine) != 1 || mine[0].Payload != "3" || mine[0].Owner != w.owner || mine[0].At.IsZero() {
				t.Errorf("%v, %v", mine, err)
			}
			return maintain.RemoveEntry(ctx, tx, "a")
		}))
		if n := w.catalog(`SELECT count(*) FROM {M}vega_journal`); n != 1 {
			t.Errorf("%d entries", n)
		}
	})
}
