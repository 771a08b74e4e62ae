package changelog_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/vegadb/vega-flight/ducklake"
	"github.com/vegadb/vega-flight/ducklake/laketest"
	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/ivm/changelog"
)

// expire removes snapshots as maintenance would.
func (w *world) expire(snapshots ...int64) {
	w.t.Helper()
	conn, release, err := w.lake.Acquire(ctx, ducklake.ConnSettings{})
	w.must(err)
	defer release()
	for _, s := range snapshots {
		if _, err := conn.Rows(ctx, fmt.Sprintf("SELECT snapshot_id FROM ducklake_expire_snapshots('lake', versions => [%d])", s)); err != nil {
			w.t.Fatal(err)
		}
	}
}

func TestHoldFollowsTheSlowestSubscriber(t *testing.T) {
	laketest.Each(t, func(t *testing.T, kind laketest.Kind) {
		w := newWorld(t, kind)
		w.exec("CREATE TABLE v (i INTEGER)", "INSERT INTO v VALUES (1)")
		v := w.view("v")
		start := w.head()
		fast, slow := w.follow(v, retract), w.follow(v, retract)
		held := func(want int64) {
			t.Helper()
			if have := w.holds(); !slices.Equal(have, []int64{want}) {
				t.Fatalf("held are %v, want %d", have, want)
			}
		}
		held(start)
		slow.until(start)
		w.exec("INSERT INTO v VALUES (2)")
		second := w.head()
		fast.until(second)
		w.clock.add(10 * time.Second)
		w.exec("INSERT INTO v VALUES (3)")
		fast.until(w.head())
		held(start)
		slow.until(w.head())
		third := w.head()
		// A subscription tells what it has when it asks for more.
		asking := func(c *copied) {
			w.exec("INSERT INTO v VALUES (4)")
			c.until(w.head())
		}
		asking(slow)
		w.clock.add(10 * time.Second)
		asking(fast)
		asking(slow)
		w.clock.add(10 * time.Second)
		asking(fast)
		if have := w.holds(); len(have) != 1 || have[0] < third {
			t.Errorf("all are past %d, and held are %v", third, have)
		}
		fast.sub.Close()
		if len(w.holds()) != 1 {
			t.Error("the hold went with the first of two")
		}
		slow.sub.Close()
		if have := w.holds(); len(have) != 0 {
			t.Errorf("held are %v when nobody subscribes", have)
		}
	})
}

func TestTooOldPositionsAreRefused(t *testing.T) {
	laketest.Each(t, func(t *testing.T, kind laketest.Kind) {
		w := newWorld(t, kind)
		before := w.head()
		w.exec("CREATE TABLE v (i INTEGER)", "INSERT INTO v VALUES (1)")
		old := w.head()
		w.exec("INSERT INTO v VALUES (2)", "INSERT INTO v VALUES (3)", "INSERT INTO v VALUES (4)")
		v := w.view("v")
		refused := func(at int64) {
			t.Helper()
			s, err := w.request(v, changelog.Options{AsOf: at, UpTo: changelog.None})
			if err == nil {
				for err == nil {
					_, err = s.Next(ctx)
				}
				s.Close()
			}
			if fault.CodeOf(err) != fault.ResumeExpired {
				t.Errorf("as_of = %d: %v", at, err)
			}
		}
		refused(0)
		refused(before)
		w.expire(old)
		refused(old)
		// The snapshot itself is there, one after it is not.
		w.expire(old + 2)
		refused(old + 1)

		// A traditional view needs its newest content only.
		traditional := v
		traditional.Streaming = false
		last := w.follow(traditional, changelog.Options{AsOf: old + 1, UpTo: w.head()})
		last.rows = w.content(v, old+1)
		last.rest()
		if last.at != w.head() || last.compared != 2 {
			t.Errorf("a traditional view's subscriber is at %d and compared %d times", last.at, last.compared)
		}
		_, err := w.request(v, changelog.Options{AsOf: w.head() + 1, UpTo: changelog.None})
		if fault.CodeOf(err) != fault.InvalidOption {
			t.Errorf("in the future: %v", err)
		}
	})
}
